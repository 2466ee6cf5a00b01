//! Instances whose interface is gone.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use super::{LinkError, Place, State, ingress, place_of};

/// Removes the pins of instances whose interface or network namespace was deleted. Their qdiscs are
/// gone, so nothing else keeps their programs loaded.
pub(super) fn remove(place: &mut Place) -> Result<(), LinkError> {
    let alive = OnceCell::new();
    let is_alive = |net: u32| alive.get_or_init(namespaces).contains(&net);
    ingress::remove_stale(place, is_alive)?;
    for kind in place.folder.kinds()? {
        let pins = place.folder.pins(&kind);
        let in_use = State::read(&pins)?.is_some_and(|state| state.attached);
        let Some((net, index)) = place_of(&kind).filter(|_| !in_use) else { continue };
        let gone = match net == place.net {
            true => place.netlink.name(index).is_err(),
            false => !is_alive(net),
        };
        if gone {
            pins.remove()?;
        }
    }
    Ok(())
}

/// The network namespaces that have a process or a name.
fn namespaces() -> BTreeSet<u32> {
    let within = |folder: &str, inside: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|e| e.path().join(inside)).collect::<Vec<PathBuf>>()
    };
    let of_processes = within("/proc", "ns/net");
    let named = ["/run/netns", "/proc/1/root/run/netns"].map(|folder| within(folder, ""));
    let paths = of_processes.into_iter().chain(named.into_iter().flatten());
    paths.filter_map(|path| Some(fs::metadata(path).ok()?.ino() as u32)).collect()
}
