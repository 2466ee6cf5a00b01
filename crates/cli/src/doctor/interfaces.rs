//! The interfaces of a machine, and what matters to a link on them.

use laxity_userlink::{device::Device, offload};
use serde::Serialize;

use super::machine::Machine;

/// The longest MTU of XDP sockets: a page less headroom and headers.
const XDP_MTU: u64 = 3818;

/// One interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// Name.
    pub name: String,
    /// Operational state (`up`, `down`, `unknown`).
    pub state: String,
    /// Speed that it reports, Mbit/s.
    pub speed_mbit_s: Option<u64>,
    /// MTU, bytes.
    pub mtu: u64,
    /// Queues by which it receives.
    pub receive_queues: usize,
    /// Whether `link bridge --io auto` takes XDP sockets on it: one queue and an MTU that they carry.
    pub xdp: bool,
    /// Offloads that join received packets or hide their tags, and are on; a link in user space switches them off
    /// while it runs. Empty where the interface has none or does not say.
    pub offloads: Vec<String>,
}

/// The names of offloads that are on, by interface.
pub type Offloads = fn(&str) -> Vec<String>;

/// As the kernel of this machine says.
pub fn offloads_of_kernel(name: &str) -> Vec<String> {
    let state = Device::find(name).and_then(|device| offload::state(&device));
    let on = state.unwrap_or_default().into_iter().filter(|(_, on)| *on);
    on.map(|(name, _)| name).collect()
}

/// All interfaces but loopback.
pub fn interfaces(machine: &Machine, offloads: Offloads) -> Vec<Interface> {
    let names = machine.names("/sys/class/net").into_iter().filter(|name| name != "lo");
    let interface = |name: String| {
        let of = |file: &str| machine.text(&format!("/sys/class/net/{name}/{file}"));
        // A file of `bonding_masters` is no interface.
        let mtu = of("mtu").parse().ok()?;
        let queues = machine.names(&format!("/sys/class/net/{name}/queues"));
        let receive_queues = queues.iter().filter(|queue| queue.starts_with("rx-")).count();
        Some(Interface {
            state: of("operstate"),
            // -1 where it is down.
            speed_mbit_s: of("speed").parse().ok(),
            mtu,
            receive_queues,
            xdp: receive_queues == 1 && mtu <= XDP_MTU,
            offloads: offloads(&name),
            name,
        })
    };
    names.filter_map(interface).collect()
}
