//! Instances whose interface is gone.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use super::netlink::Netlink;
use super::pins::Folder;
use super::{LinkError, State, place_of};

/// Removes the pins of instances whose interface or network namespace was deleted. Their qdiscs are
/// gone, so nothing else keeps their programs loaded.
pub(super) fn remove(folder: &Folder, netlink: &Netlink, own_net: u32) -> Result<(), LinkError> {
    let mut alive = None;
    for kind in folder.kinds()? {
        let pins = folder.pins(&kind);
        let in_use = State::read(&pins)?.is_some_and(|state| state.attached);
        let Some((net, index)) = place_of(&kind).filter(|_| !in_use) else { continue };
        let gone = if net == own_net {
            netlink.name(index).is_err()
        } else {
            !alive.get_or_insert_with(namespaces).contains(&net)
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
