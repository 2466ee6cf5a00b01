//! Sets up and removes a link.
//!
//! The record of how the interface was is pinned before anything is changed and unpinned after
//! everything is restored, so a command that was killed in between can be followed by another.

use rustix::rand::{GetRandomFlags, getrandom};

use super::error::kernel;
use super::load::{Own, Programs, Room, supported};
use super::netlink::{Root, RootQdisc};
use super::record::Record;
use super::{HANDLE, LinkError, LinkRequest, Links, Place, State, ingress, record, stale};

/// Sets up the links of an interface. A configured root qdisc is replaced only if `replace` is set and it
/// can be restored. Returns whether filters of others at ingress come before the ingress direction's.
///
/// # Errors
/// See [`LinkError`]; the interface is then as it was.
pub fn up(links: &Links<'_>, device: &str, replace: bool) -> Result<bool, LinkError> {
    let mut place = Place::new(device).map_err(|error| match error {
        // The first of two reasons.
        LinkError::NoFileSystem => supported().err().unwrap_or(error),
        _ => error,
    })?;
    let _lock = place.folder.lock()?;
    let is_up = (links.egress.is_some() && place.attached()?)
        || (links.ingress.is_some() && ingress::attached(&mut place)?);
    if is_up {
        return Err(LinkError::Up { device: device.into() });
    }
    // Of links that were brought up by half or that somebody else took away.
    if links.ingress.is_some() {
        ingress::restore(&mut place)?;
    }
    if links.egress.is_some() {
        restore(&mut place)?;
    }
    stale::remove(&mut place)?;
    let ready = match &links.ingress {
        Some(_) => Some(ingress::check(&mut place)?),
        None => None,
    };

    if let Some(request) = &links.egress {
        let replaced = replaced_root(&mut place, replace)?;
        bring_up(&mut place, request, replaced)?;
    }
    let (Some(request), Some(ready)) = (&links.ingress, ready) else { return Ok(false) };
    let filtered = ingress::up(&mut place, request, &ready);
    if filtered.is_err() && links.egress.is_some() {
        restore(&mut place)?;
    }
    filtered
}

/// Sets up a scenario on an interface without one.
pub(super) fn bring_up(
    place: &mut Place,
    request: &LinkRequest<'_>,
    replaced: Option<RootQdisc>,
) -> Result<(), LinkError> {
    let segments = place.netlink.segments(place.index).map_err(kernel("describe the interface"))?;
    let room = Room::of(request.plan, request.policy);
    let record = Record {
        policy: request.policy.into(),
        rule: room.rule.number(),
        slots: room.slots,
        longest: request.scenario.link.max_packet.0,
        rate: request.scenario.link.rate.0,
        shed: 0,
        segments: segments.unwrap_or(0),
        replaced,
        scenario: request.scenario.to_toml(),
    };
    let own = Own {
        kind: &place.kind(),
        net: place.net,
        ifindex: place.index,
        handle: HANDLE,
        hash_key: secret()?,
        note_secret: secret()?,
    };
    let mut programs = Programs::load(request.plan, &own, &room, &record)?;
    let pins = place.pins();
    let registered = programs.register(&pins).and_then(|()| programs.mark(&pins, place.index));
    let done = registered.and_then(|()| attach(place, &record));
    if done.is_err() {
        restore(place)?;
    }
    done
}

/// Bits that nobody outside knows.
fn secret<const N: usize>() -> Result<[u8; N], LinkError> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())
            .map_err(|error| kernel("give random bits")(error.into()))?;
    }
    Ok(bytes)
}

/// The root qdisc to be replaced; `None` for the kernel's default.
fn replaced_root(place: &mut Place, replace: bool) -> Result<Option<RootQdisc>, LinkError> {
    let Some(root) = place.root()?.filter(|root: &Root| root.found.handle != 0) else {
        return Ok(None);
    };
    let replaceable = place.netlink.replaceable(place.index, &root);
    let replaceable = replaceable.map_err(kernel("list filters"))?;
    if replace && replaceable {
        return Ok(Some(root.found));
    }
    let (device, kind) = (place.device.clone(), root.found.kind);
    Err(LinkError::Occupied { device, kind, replaceable })
}

fn attach(place: &mut Place, record: &Record) -> Result<(), LinkError> {
    // A packet of many segments would hold the link for longer than admission counted with.
    set_segments(place, 1)?;
    let kind = place.kind();
    let attached = if record.replaced.is_some() {
        let ours = RootQdisc { kind, handle: HANDLE, options: Vec::new() };
        place.netlink.set_root(place.index, &ours)
    } else {
        place.netlink.add_root(place.index, HANDLE, &kind)
    };
    attached.map_err(kernel("attach the qdisc"))
}

fn set_segments(place: &mut Place, segments: u32) -> Result<(), LinkError> {
    let set = place.netlink.set_segments(place.index, segments);
    set.map_err(kernel("set the segments that the interface takes as a packet"))?;
    // Connections ask the interface when they look for their route, so they are made to look.
    for family in ["ipv4", "ipv6"] {
        let _ = std::fs::write(format!("/proc/sys/net/{family}/route/flush"), "1");
    }
    Ok(())
}

/// Removes the links of both directions and restores the interface. Of an ifb device of ours, the link of
/// that direction.
///
/// # Errors
/// When the interface has none, or the kernel refuses.
pub fn down(device: &str) -> Result<(), LinkError> {
    let mut place = Place::new(device).inspect_err(|_| {
        // The ifb device of an interface that is gone stays. Why it may not be removed matters less than
        // that there is no interface.
        let _ = remove_stale();
    })?;
    let _lock = place.folder.lock()?;
    if let Some(index) = ingress::served(&mut place)? {
        let name = place.netlink.name(index);
        if let Ok(name) = name {
            ingress::restore(&mut place.beside(&name, index)?)?;
        }
        return stale::remove(&mut place);
    }
    let was_there = place.attached()? || place.pins().exist()? || ingress::exists(&mut place)?;
    // A direction is restored although the other one is not.
    let restored = ingress::restore(&mut place);
    restore(&mut place)?;
    restored?;
    stale::remove(&mut place)?;
    if was_there { Ok(()) } else { Err(place.is_down()) }
}

/// Removes what is left of interfaces that are gone.
fn remove_stale() -> Result<(), LinkError> {
    let mut place = Place::without_device()?;
    let _lock = place.folder.lock()?;
    stale::remove(&mut place)
}

/// Undoes all completed steps of setting up a link.
pub(super) fn restore(place: &mut Place) -> Result<(), LinkError> {
    let pins = place.pins();
    let record = match State::read(&pins)? {
        Some(_) => record(&pins)?,
        // Cut short while it was unpinned: what was pinned first goes last.
        None => pins.read("about", 0)?.as_deref().and_then(Record::read),
    };
    if place.attached()? {
        place.netlink.delete_root(place.index).map_err(kernel("remove the qdisc"))?;
    }
    let mut put = Ok(());
    if let Some(record) = record {
        let root = place.root()?;
        let default = root.is_none_or(|root| root.found.handle == 0);
        if let Some(replaced) = record.replaced.filter(|_| default) {
            put = place.netlink.set_root(place.index, &replaced).map_err(|error| {
                let why = format!("{}: {error}", replaced.kind);
                LinkError::Kernel { what: "put the qdisc back that was there", why }
            });
        }
        let now = place.netlink.segments(place.index).map_err(kernel("describe the interface"))?;
        if now == Some(1) && record.segments > 1 {
            set_segments(place, record.segments)?;
        }
    }
    pins.remove()?;
    // Reported after all else is undone: a retry would not help.
    put
}
