//! The ingress direction of an interface: all that comes in is redirected to an ifb device, whose egress
//! has a link of its own, and from there continues as if it had just come in.
//!
//! The record of what changes on the interface is pinned before the first change and unpinned after the
//! last is undone. The ifb device is recognised by its address, so it is found under any name and without
//! a record.

use std::collections::BTreeSet;
use std::io;

use super::error::kernel;
use super::interfaces::Interface;
use super::joining::Features;
use super::netlink::Netlink;
use super::{KIND_PREFIX, LinkError, LinkRequest, Place, kind, lifecycle, place_of};

/// First bytes of the addresses of our ifb devices, locally administered; the index of the interface
/// follows.
const ADDRESS_PREFIX: [u8; 2] = [0x02, 0x1a];
/// Prefix of their names.
const NAME_PREFIX: &str = "ifb-";
/// Prefix of the names of records.
const RECORD_PREFIX: &str = "ingress";
/// `IFNAMSIZ` of Linux without the final zero.
const LONGEST_NAME: usize = 15;

/// What the ingress direction has changed on an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct IngressRecord {
    /// Whether `clsact` was added.
    pub(super) clsact: bool,
    /// Features that were switched off, by interface.
    pub(super) features: Vec<(u32, Vec<String>)>,
}

impl IngressRecord {
    fn to_text(&self) -> String {
        let mut text = String::from(if self.clsact { "added" } else { "found" });
        for (index, features) in &self.features {
            text += &format!(" {index}:{}", features.join(","));
        }
        text
    }

    fn read(bytes: &[u8]) -> Option<IngressRecord> {
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        let text = std::str::from_utf8(&bytes[..end]).ok()?;
        let mut fields = text.split(' ');
        let clsact = match fields.next()? {
            "added" => true,
            "found" => false,
            _ => return None,
        };
        let features = fields.map(|field| {
            let (index, features) = field.split_once(':')?;
            Some((index.parse().ok()?, features.split(',').map(str::to_owned).collect()))
        });
        Some(IngressRecord { clsact, features: features.collect::<Option<_>>()? })
    }
}

/// The name of the ifb device of an interface: after its name, or its index if that is too long.
fn ifb_name(device: &str, index: u32) -> String {
    let name = format!("{NAME_PREFIX}{device}");
    if name.len() <= LONGEST_NAME { name } else { format!("{NAME_PREFIX}{index}") }
}

fn address(index: u32) -> [u8; 6] {
    let [a, b, c, d] = index.to_be_bytes();
    let [p, q] = ADDRESS_PREFIX;
    [p, q, a, b, c, d]
}

/// The index of the interface whose ingress direction this one serves, if it is one of our ifb devices.
fn served_by(interface: &Interface) -> Option<u32> {
    let index = interface.address.strip_prefix(&ADDRESS_PREFIX)?;
    let index = u32::from_be_bytes(index.try_into().ok()?);
    (interface.kind == "ifb").then_some(index)
}

fn interfaces(place: &mut Place) -> Result<Vec<Interface>, LinkError> {
    place.netlink.interfaces().map_err(kernel("list interfaces"))
}

/// The ifb device of an interface.
pub(super) fn ifb(place: &mut Place) -> Result<Option<Place>, LinkError> {
    let own = place.index;
    let found = interfaces(place)?.into_iter().find(|i| served_by(i) == Some(own));
    found.map(|ifb| place.beside(&ifb.name, ifb.index)).transpose()
}

/// The index of the interface whose ingress direction this one serves.
pub(super) fn served(place: &mut Place) -> Result<Option<u32>, LinkError> {
    let own = place.index;
    let found = interfaces(place)?.into_iter().find(|i| i.index == own);
    Ok(found.as_ref().and_then(served_by))
}

/// Whether what comes in by an interface is redirected.
pub(super) fn redirects(netlink: &mut Netlink, index: u32) -> Result<bool, LinkError> {
    Ok(netlink.ingress_filters(index).map_err(kernel("list filters"))?.1)
}

/// Whether packets that come in are scheduled.
pub(super) fn attached(place: &mut Place) -> Result<bool, LinkError> {
    let Some(mut ifb) = ifb(place)? else { return Ok(false) };
    Ok(ifb.attached()? && redirects(&mut place.netlink, place.index)?)
}

/// Whether anything of the ingress direction is there.
pub(super) fn exists(place: &mut Place) -> Result<bool, LinkError> {
    Ok(record(place)?.is_some()
        || ifb(place)?.is_some()
        || redirects(&mut place.netlink, place.index)?)
}

fn record(place: &Place) -> Result<Option<IngressRecord>, LinkError> {
    let text = place.folder.text(&name_of_record(place.net, place.index))?;
    Ok(text.as_deref().and_then(IngressRecord::read))
}

fn name_of_record(net: u32, index: u32) -> String {
    kind(net, index).replacen(KIND_PREFIX, RECORD_PREFIX, 1)
}

/// An interface whose ingress direction can be set up.
pub(super) struct Ready {
    name: String,
    below: BTreeSet<u32>,
}

/// Checks what can be checked before anything is changed.
pub(super) fn check(place: &mut Place) -> Result<Ready, LinkError> {
    let all = interfaces(place)?;
    let own = all.iter().find(|i| i.index == place.index);
    if own.is_some_and(|own| own.kind == "ifb") {
        return Err(LinkError::IsIfb { device: place.device.clone() });
    }
    let name = ifb_name(&place.device, place.index);
    if all.iter().any(|i| i.name == name) {
        return Err(LinkError::NameTaken { device: place.device.clone(), name });
    }
    Ok(Ready { name, below: below(&all, place.index) })
}

/// Sets up the ingress direction of an interface that has none. Returns whether filters of others come
/// before ours.
pub(super) fn up(
    place: &mut Place,
    request: &LinkRequest<'_>,
    ready: &Ready,
) -> Result<bool, LinkError> {
    let done = set_up(place, request, &ready.name, &ready.below);
    if done.is_err() {
        restore(place)?;
    }
    done?;
    let filters = place.netlink.ingress_filters(place.index).map_err(kernel("list filters"))?;
    Ok(filters.0)
}

/// An interface with those below it in this namespace: packets are joined where they come in.
fn below(all: &[Interface], index: u32) -> BTreeSet<u32> {
    let (mut found, mut next) = (BTreeSet::from([index]), vec![index]);
    while let Some(upper) = next.pop() {
        let lower = all.iter().filter(|i| i.index == upper).filter_map(|i| i.lower);
        let ports = all.iter().filter(|i| i.master == Some(upper)).map(|i| i.index);
        next.extend(lower.chain(ports).filter(|index| found.insert(*index)));
    }
    found
}

fn set_up(
    place: &mut Place,
    request: &LinkRequest<'_>,
    name: &str,
    below: &BTreeSet<u32>,
) -> Result<(), LinkError> {
    let mut ethtool = Features::open().map_err(lacks(
        io::ErrorKind::NotFound,
        "requests for features of interfaces (CONFIG_ETHTOOL_NETLINK)",
        "describe the features of interfaces",
    ))?;
    let mut record = IngressRecord {
        clsact: !place.netlink.has_clsact(place.index).map_err(kernel("list qdiscs"))?,
        features: Vec::new(),
    };
    for index in below {
        let names = ethtool.joining(*index);
        let names = names.map_err(kernel("describe the features of interfaces"))?;
        if !names.is_empty() {
            record.features.push((*index, names.iter().map(|n| (*n).to_owned()).collect()));
        }
    }
    place.folder.pin_text(&name_of_record(place.net, place.index), &record.to_text())?;

    let made = place.netlink.add_ifb(name, &address(place.index));
    made.map_err(lacks(io::ErrorKind::Unsupported, "ifb (CONFIG_IFB)", "create an ifb device"))?;
    let index = place.netlink.index(name).map_err(kernel("find the ifb device"))?;
    place.netlink.set_up(index).map_err(kernel("set up the ifb device"))?;
    let mut ifb = place.beside(name, index)?;
    lifecycle::bring_up(&mut ifb, request, None)?;

    for (index, names) in &record.features {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        ethtool.set(*index, &names, false).map_err(kernel("switch GRO off"))?;
    }
    if record.clsact {
        place.netlink.add_clsact(place.index).map_err(lacks(
            io::ErrorKind::NotFound,
            "clsact (CONFIG_NET_SCH_INGRESS)",
            "add clsact to the interface",
        ))?;
    }
    place.netlink.add_redirect(place.index, index).map_err(lacks(
        io::ErrorKind::NotFound,
        "matchall or mirred (CONFIG_NET_CLS_MATCHALL, CONFIG_NET_ACT_MIRRED)",
        "add a filter behind those of others, at preference 65535",
    ))
}

/// A missing part of the kernel for an error of this kind, else the kernel's error.
fn lacks(
    kind: io::ErrorKind,
    lacks: &'static str,
    what: &'static str,
) -> impl FnOnce(io::Error) -> LinkError {
    move |error| match error.kind() {
        found if found == kind => LinkError::NoIngress { lacks },
        _ => kernel(what)(error),
    }
}

/// Undoes all completed steps of the ingress direction. Packets come in directly first, so nothing is
/// redirected to a device that is gone.
pub(super) fn restore(place: &mut Place) -> Result<(), LinkError> {
    let record = record(place)?.unwrap_or_default();
    if redirects(&mut place.netlink, place.index)? {
        place.netlink.delete_redirect(place.index).map_err(kernel("remove the filter"))?;
    }
    if record.clsact {
        let removed = place.netlink.delete_empty_clsact(place.index);
        removed.map_err(kernel("remove clsact"))?;
    }
    if let Some(mut ifb) = ifb(place)? {
        remove_ifb(&mut ifb)?;
    }
    if !record.features.is_empty() {
        let mut ethtool = Features::open().map_err(kernel("set features of interfaces"))?;
        for (index, names) in &record.features {
            // One below may be gone.
            if place.netlink.name(*index).is_ok() {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                ethtool.set(*index, &names, true).map_err(kernel("switch GRO on"))?;
            }
        }
    }
    place.folder.unpin_text(&name_of_record(place.net, place.index))
}

fn remove_ifb(ifb: &mut Place) -> Result<(), LinkError> {
    lifecycle::restore(ifb)?;
    ifb.netlink.delete_interface(ifb.index).map_err(kernel("remove the ifb device"))
}

/// Removes ifb devices of interfaces of this namespace that are gone, as after a PPP session has ended,
/// and the records of gone interfaces and namespaces.
pub(super) fn remove_stale(
    place: &mut Place,
    is_alive: impl Fn(u32) -> bool,
) -> Result<(), LinkError> {
    let all = interfaces(place)?;
    let exists = |index| all.iter().any(|i| i.index == index);
    for ifb in all.iter().filter(|i| served_by(i).is_some_and(|index| !exists(index))) {
        remove_ifb(&mut place.beside(&ifb.name, ifb.index)?)?;
    }
    for name in place.folder.names(RECORD_PREFIX)? {
        let kind = name.replacen(RECORD_PREFIX, KIND_PREFIX, 1);
        let Some((net, index)) = place_of(&kind) else { continue };
        let gone = if net == place.net { !exists(index) } else { !is_alive(net) };
        if gone {
            place.folder.unpin_text(&name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
