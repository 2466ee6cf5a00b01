//! Features of the interfaces of a test network.

use laxity_userlink::device::Device;
use laxity_userlink::offload;

use super::{LINK, Network, enter};

/// Features that are on, of both interfaces.
pub fn features(network: &Network) -> Vec<(String, bool)> {
    let name = network.name(LINK).to_owned();
    let look = move || {
        enter(&name);
        let of = |device| offload::state(&Device::find(device).expect("it is there"));
        ["in", "out"].into_iter().flat_map(|d| of(d).expect("features")).collect()
    };
    std::thread::spawn(look).join().expect("it looks")
}
