//! Management of the qdisc on an interface: set up, query, change, remove.
//!
//! One copy of the programs is loaded for each interface and registered as a qdisc of its own
//! name. What keeps it alive and tells about it is pinned in a folder of the BPF file system that
//! only its owner can enter; the qdisc itself lives as long as the interface has it. The process that
//! brought it up may end, or be killed: all that later commands need is in that folder.

mod change;
mod error;
mod ingress;
mod interfaces;
mod joining;
mod lifecycle;
mod load;
mod netlink;
mod pins;
mod record;
mod stale;

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use laxity_scenario::link::model::Scenario;

pub use change::{Change, RateRequest, set, set_rate};
pub use error::LinkError;
pub use lifecycle::{down, up};
pub use load::{Programs, profile, verify};
pub use netlink::Queue;

use crate::counts::Counts;
use crate::layout::link::{lx_counts, lx_link_state, lx_stalls};
use crate::plan::Plan;
use error::kernel;
use load::CHANGES;
use netlink::{Netlink, u32_at};
use pins::{Folder, Pins};
use record::Record;

/// Major number of the qdisc's handle, as `tc` shows it: `1ac5:`.
const HANDLE: u32 = 0x1ac5_0000;

/// Of the names of qdiscs.
const KIND_PREFIX: &str = "laxity";

/// A plan to run on an interface.
#[derive(Clone, Copy, Debug)]
pub struct LinkRequest<'a> {
    /// The scenario's plan under a policy.
    pub plan: &'a Plan,
    /// That policy.
    pub policy: &'a str,
    /// The scenario.
    pub scenario: &'a Scenario,
}

/// The links to set up on an interface.
#[derive(Clone, Copy, Debug)]
pub struct Links<'a> {
    /// Of what it sends.
    pub egress: Option<LinkRequest<'a>>,
    /// Of what comes in.
    pub ingress: Option<LinkRequest<'a>>,
}

/// Status of a link that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The interface whose ingress direction this is; `None` for a link of what an interface sends.
    pub ingress_of: Option<String>,
    /// The policy it runs.
    pub policy: String,
    /// The file of the scenario in force.
    pub scenario: String,
    /// Rate of the link in bit/s, which differs from the scenario's after [`set_rate`].
    pub rate: u64,
    /// Real-time flows without a reservation, by their places in the scenario.
    pub shed: Vec<usize>,
    /// Real-time packets late because the rate fell after they were accepted, since the link came up;
    /// no deadline misses.
    pub late_rate_change: u64,
    /// Whether the interface still has the qdisc, and of an ingress direction the filter that redirects:
    /// false after somebody else removed it.
    pub attached: bool,
    /// Number of scenario changes.
    pub changes: u32,
    /// Whether a scenario change takes effect with the next packet.
    pub pending: bool,
    /// The root qdisc that was replaced.
    pub replaced: Option<String>,
    /// Since this scenario took over, by flow, real-time flows first.
    pub counts: Vec<Counts>,
    /// Under scenarios before, all flows together.
    pub earlier: Counts,
    /// Time lost since the link came up.
    pub stalls: Stalls,
    /// Queued packets now, while attached.
    pub queue: Queue,
}

/// `struct lx_stalls`: time in which packets waited and the link sent nothing, beyond the credit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Number of stalls.
    pub count: u64,
    /// Total duration in ns.
    pub total: u64,
    /// Longest stall in ns.
    pub longest: u64,
}

impl Stalls {
    /// All zero where the programs do not count them.
    fn read(pins: &Pins) -> Result<Stalls, LinkError> {
        let bytes = pins.read("stalls", 0)?.unwrap_or_default();
        Ok(Stalls {
            count: lx_stalls::COUNT.u64(&bytes),
            total: lx_stalls::TOTAL.u64(&bytes),
            longest: lx_stalls::LONGEST.u64(&bytes),
        })
    }
}

/// An interface, in the network namespace of the calling thread.
struct Place {
    netlink: Netlink,
    folder: Folder,
    device: String,
    index: u32,
    net: u32,
}

impl Place {
    fn new(device: &str) -> Result<Place, LinkError> {
        let netlink = Netlink::open().map_err(kernel("open a socket to ask about interfaces"))?;
        let no_device = |_| LinkError::NoDevice { device: device.into() };
        let index = netlink.index(device).map_err(no_device)?;
        Ok(Place { netlink, folder: Folder::find()?, device: device.into(), index, net: net()? })
    }

    /// No interface of this thread's namespace: for what concerns all.
    fn without_device() -> Result<Place, LinkError> {
        let netlink = Netlink::open().map_err(kernel("open a socket to ask about interfaces"))?;
        Ok(Place { netlink, folder: Folder::find()?, device: String::new(), index: 0, net: net()? })
    }

    /// Another interface of the same namespace.
    fn beside(&self, device: &str, index: u32) -> Result<Place, LinkError> {
        let netlink = Netlink::open().map_err(kernel("open a socket to ask about interfaces"))?;
        Ok(Place {
            netlink,
            folder: self.folder.clone(),
            device: device.into(),
            index,
            net: self.net,
        })
    }

    fn kind(&self) -> String {
        kind(self.net, self.index)
    }

    fn pins(&self) -> Pins {
        self.folder.pins(&self.kind())
    }

    fn root(&mut self) -> Result<Option<netlink::Root>, LinkError> {
        self.netlink.root(self.index).map_err(kernel("list qdiscs"))
    }

    fn attached(&mut self) -> Result<bool, LinkError> {
        let kind = self.kind();
        Ok(self.root()?.is_some_and(|root| root.found.kind == kind))
    }

    fn is_down(&self) -> LinkError {
        LinkError::Down { device: self.device.clone() }
    }
}

/// The number of this thread's network namespace.
fn net() -> Result<u32, LinkError> {
    let path = "/proc/thread-self/ns/net";
    let found = fs::metadata(path).map_err(|error| LinkError::Io { path: path.into(), error })?;
    Ok(found.ino() as u32)
}

/// The name of a qdisc is unique over the machine; the kernel allows 15 characters. Numbers of
/// namespaces begin a little below 0xf0000000. Pins may not have dots.
fn kind(net: u32, index: u32) -> String {
    format!("{KIND_PREFIX}{:x}_{index:x}", net.wrapping_sub(0xefff_fff0))
}

/// The namespace and the interface of a kind.
fn place_of(kind: &str) -> Option<(u32, u32)> {
    let (net, index) = kind.strip_prefix(KIND_PREFIX)?.split_once('_')?;
    let number = |text| u32::from_str_radix(text, 16).ok();
    Some((number(net)?.wrapping_add(0xefff_fff0), number(index)?))
}

/// `.data.state`.
struct State {
    attached: bool,
    applied: u32,
    late_rate_change: u64,
}

impl State {
    fn read(pins: &Pins) -> Result<Option<State>, LinkError> {
        let Some(bytes) = pins.read("state", 0)? else { return Ok(None) };
        Ok(Some(State {
            attached: lx_link_state::ATTACHED.u32(&bytes) != 0,
            applied: lx_link_state::APPLIED.u32(&bytes),
            late_rate_change: lx_link_state::LATE_RATE_CHANGE.u64(&bytes),
        }))
    }
}

/// Number of the plan requested last.
fn wanted(pins: &Pins) -> Result<u32, LinkError> {
    let bytes = pins.read("wanted", 0)?.unwrap_or_default();
    Ok(u32_at(&bytes, 0))
}

/// The record of the plan in force.
fn record(pins: &Pins) -> Result<Option<Record>, LinkError> {
    let Some(state) = State::read(pins)? else { return Ok(None) };
    let text = pins.read("about", state.applied % CHANGES)?;
    Ok(text.as_deref().and_then(Record::read))
}

/// Status and counters of a link.
///
/// # Errors
/// When the interface has none, or it cannot be read.
pub fn status(device: &str) -> Result<Status, LinkError> {
    let mut place = Place::new(device)?;
    let pins = place.pins();
    let state = State::read(&pins)?.ok_or_else(|| place.is_down())?;
    let record = record(&pins)?.ok_or_else(|| place.is_down())?;
    let bytes = pins.read("counts", 0)?.ok_or_else(|| place.is_down())?;
    let earlier = pins.read("earlier", 0)?.ok_or_else(|| place.is_down())?;
    let mut attached = place.attached()?;
    let ingress_of = ingress::served(&mut place)?;
    if let Some(index) = ingress_of {
        attached &= ingress::redirects(&mut place.netlink, index)?;
    }
    let queue = place.root()?.filter(|_| attached).map(|root| root.queue);
    let wanted = wanted(&pins)?;
    // A requested rate is followed before its plan takes over.
    let requested = pins.read("about", wanted % CHANGES)?.as_deref().and_then(Record::read);
    let newest = requested.filter(|r| r.scenario == record.scenario).unwrap_or(record.clone());
    Ok(Status {
        ingress_of: ingress_of.and_then(|index| place.netlink.name(index).ok()),
        policy: record.policy,
        scenario: record.scenario,
        rate: newest.rate,
        shed: (0..64).filter(|flow| newest.shed >> flow & 1 > 0).collect(),
        late_rate_change: state.late_rate_change,
        attached,
        changes: state.applied,
        pending: wanted != state.applied,
        replaced: record.replaced.map(|found| found.kind),
        counts: bytes.chunks_exact(lx_counts::SIZEOF).filter_map(Counts::read).collect(),
        earlier: Counts::read(&earlier).unwrap_or_default(),
        stalls: Stalls::read(&pins)?,
        queue: queue.unwrap_or_default(),
    })
}

/// The interfaces of this network namespace that have a link.
///
/// # Errors
/// When the links cannot be listed.
pub fn devices() -> Result<Vec<String>, LinkError> {
    let (folder, own_net) = (Folder::find()?, net()?);
    let netlink = Netlink::open().map_err(kernel("open a socket to ask about interfaces"))?;
    let places = folder.kinds()?;
    let own = places.iter().filter_map(|kind| place_of(kind)).filter(|(net, _)| *net == own_net);
    let mut devices: Vec<String> = own.filter_map(|(_, i)| netlink.name(i).ok()).collect();
    devices.sort();
    Ok(devices)
}

/// The interface whose link is that of the ingress direction of `device`.
///
/// # Errors
/// When that direction has no link.
pub fn ingress_device(device: &str) -> Result<String, LinkError> {
    let mut place = Place::new(device)?;
    let none = || LinkError::NoIngressLink { device: device.into() };
    Ok(ingress::ifb(&mut place)?.ok_or_else(none)?.device)
}

/// The interfaces with the links of an interface: itself, and that of its ingress direction.
///
/// # Errors
/// When it has none.
pub fn devices_of(device: &str) -> Result<Vec<String>, LinkError> {
    let mut place = Place::new(device)?;
    let ingress = ingress::ifb(&mut place)?;
    let own = place.pins().exist()?.then(|| device.to_owned());
    let devices: Vec<String> = own.into_iter().chain(ingress.map(|ifb| ifb.device)).collect();
    if devices.is_empty() { Err(place.is_down()) } else { Ok(devices) }
}
