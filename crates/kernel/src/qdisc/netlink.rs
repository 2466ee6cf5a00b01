//! The few requests to the kernel about interfaces and their queueing disciplines
//! (rtnetlink(7)), as bytes over a socket.

use std::io;

use rustix::fd::OwnedFd;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketType};

pub(super) const NEW_LINK: u16 = 16;
pub(super) const GET_LINK: u16 = 18;
pub(super) const NEW_QDISC: u16 = 36;
pub(super) const DEL_QDISC: u16 = 37;
pub(super) const GET_QDISC: u16 = 38;
pub(super) const NEW_FILTER: u16 = 44;
pub(super) const GET_FILTER: u16 = 46;

const REQUEST: u16 = 1;
pub(super) const ACK: u16 = 4;
const REPLACE: u16 = 0x100;
pub(super) const EXCLUSIVE: u16 = 0x200;
pub(super) const CREATE: u16 = 0x400;
pub(super) const DUMP: u16 = 0x300;

const ERROR: u16 = 2;
const DONE: u16 = 3;

/// The parent of a root qdisc.
const ROOT: u32 = u32::MAX;
pub(super) const KIND: u16 = 1;
pub(super) const OPTIONS: u16 = 2;
const STATISTICS: u16 = 7;
/// Within the statistics.
const QUEUE: u16 = 3;
const GSO_MAX_SEGMENTS: u16 = 40;

const HEADER: usize = 16;
/// Of `ifinfomsg`, and of `tcmsg`.
pub(super) const LINK_HEADER: usize = 16;
pub(super) const QDISC_HEADER: usize = 20;

/// The root qdisc of an interface, with everything needed to restore it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RootQdisc {
    pub(super) kind: String,
    /// 0 for the kernel's own default.
    pub(super) handle: u32,
    /// As the kernel tells them and takes them.
    pub(super) options: Vec<u8>,
}

/// Qdiscs without classes whose options the kernel takes as it tells them; those of fq_pie it
/// refuses.
const CAN_BE_MADE_AGAIN: [&str; 8] =
    ["bfifo", "cake", "codel", "fq", "fq_codel", "pfifo", "pie", "sfq"];

/// The root qdisc of an interface as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Root {
    pub(super) found: RootQdisc,
    pub(super) queue: Queue,
    /// Whether configured qdiscs are attached below it.
    children: bool,
}

/// The kernel's counters of a qdisc.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Queued packets.
    pub waiting_packets: u32,
    /// Queued bytes.
    pub waiting_bytes: u32,
    /// Packets dropped since the link came up, for any reason.
    pub dropped: u32,
}

/// A socket to the kernel.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    pub(super) fn open() -> io::Result<Netlink> {
        let socket = net::socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// A socket to the families of generic netlink.
    pub(super) fn generic() -> io::Result<Netlink> {
        let protocol = Some(net::netlink::GENERIC);
        let socket = net::socket(AddressFamily::NETLINK, SocketType::RAW, protocol)?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// The number of an interface.
    pub(super) fn index(&self, device: &str) -> io::Result<u32> {
        Ok(net::netdevice::name_to_index(&self.socket, device)?)
    }

    /// The name of an interface.
    pub(super) fn name(&self, index: u32) -> io::Result<String> {
        Ok(net::netdevice::index_to_name(&self.socket, index)?)
    }

    pub(super) fn root(&mut self, index: u32) -> io::Result<Option<Root>> {
        let mut root: Option<Root> = None;
        let mut parents = Vec::new();
        self.ask(GET_QDISC, DUMP, &qdisc(index, 0, 0), |kind, body| {
            // The kernel sends those of all interfaces.
            if kind != NEW_QDISC || body.len() < QDISC_HEADER || u32_at(body, 4) != index {
                return;
            }
            let (handle, parent) = (u32_at(body, 8), u32_at(body, 12));
            if parent == ROOT {
                root = Some(read_root(handle, &body[QDISC_HEADER..]));
            } else if handle != 0 {
                parents.push(parent);
            }
        })?;
        if let Some(root) = &mut root {
            root.children = parents.iter().any(|parent| parent >> 16 == root.found.handle >> 16);
        }
        Ok(root)
    }

    /// Whether a root qdisc could be restored with all that belongs to it.
    pub(super) fn replaceable(&mut self, index: u32, root: &Root) -> io::Result<bool> {
        let mut filters = false;
        let parent = root.found.handle;
        self.ask(GET_FILTER, DUMP, &qdisc(index, 0, parent), |kind, _| {
            filters |= kind == NEW_FILTER;
        })?;
        let known = CAN_BE_MADE_AGAIN.contains(&root.found.kind.as_str());
        Ok(known && !root.children && !filters)
    }

    /// Replaces the root qdisc.
    pub(super) fn set_root(&mut self, index: u32, root: &RootQdisc) -> io::Result<()> {
        let mut body = qdisc(index, root.handle, ROOT);
        attribute(&mut body, KIND, &[root.kind.as_bytes(), &[0]].concat());
        if !root.options.is_empty() {
            attribute(&mut body, OPTIONS, &root.options);
        }
        self.ask(NEW_QDISC, ACK | CREATE | REPLACE, &body, |_, _| ())
    }

    pub(super) fn add_root(&mut self, index: u32, handle: u32, kind: &str) -> io::Result<()> {
        let mut body = qdisc(index, handle, ROOT);
        attribute(&mut body, KIND, &[kind.as_bytes(), &[0]].concat());
        self.ask(NEW_QDISC, ACK | CREATE | EXCLUSIVE, &body, |_, _| ())
    }

    pub(super) fn delete_root(&mut self, index: u32) -> io::Result<()> {
        self.ask(DEL_QDISC, ACK, &qdisc(index, 0, ROOT), |_, _| ())
    }

    /// The most segments that the interface takes as one packet.
    pub(super) fn segments(&mut self, index: u32) -> io::Result<Option<u32>> {
        let mut segments = None;
        self.ask(GET_LINK, ACK, &link(index), |kind, body| {
            if kind == NEW_LINK && body.len() >= LINK_HEADER {
                let found =
                    attributes(&body[LINK_HEADER..]).find(|(id, _)| *id == GSO_MAX_SEGMENTS);
                segments = found.map(|(_, value)| u32_at(value, 0));
            }
        })?;
        Ok(segments)
    }

    pub(super) fn set_segments(&mut self, index: u32, segments: u32) -> io::Result<()> {
        let mut body = link(index);
        attribute(&mut body, GSO_MAX_SEGMENTS, &segments.to_ne_bytes());
        self.ask(NEW_LINK, ACK, &body, |_, _| ())
    }

    /// Sends a request and hands over the answers, by type, up to the last.
    pub(super) fn ask(
        &mut self,
        kind: u16,
        flags: u16,
        body: &[u8],
        mut answer: impl FnMut(u16, &[u8]),
    ) -> io::Result<()> {
        self.sequence += 1;
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend_from_slice(&((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&(REQUEST | flags).to_ne_bytes());
        message.extend_from_slice(&self.sequence.to_ne_bytes());
        message.extend_from_slice(&0u32.to_ne_bytes());
        message.extend_from_slice(body);
        net::send(&self.socket, &message, SendFlags::empty())?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let (length, _) = net::recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            let mut rest = &buffer[..length];
            while rest.len() >= HEADER {
                let length = (u32_at(rest, 0) as usize).clamp(HEADER, rest.len());
                let (kind, sequence) = ((u32_at(rest, 4) & 0xffff) as u16, u32_at(rest, 8));
                let body = &rest[HEADER..length];
                rest = &rest[length.next_multiple_of(4).min(rest.len())..];
                if sequence != self.sequence {
                    continue;
                }
                match kind {
                    DONE => return Ok(()),
                    ERROR => {
                        let code = u32_at(body, 0) as i32;
                        if code == 0 {
                            return Ok(());
                        }
                        return Err(io::Error::from_raw_os_error(-code));
                    }
                    _ => answer(kind, body),
                }
            }
        }
    }
}

fn read_root(handle: u32, body: &[u8]) -> Root {
    let mut root = Root::default();
    root.found.handle = handle;
    for (id, value) in attributes(body) {
        match id {
            KIND => {
                let name = value.strip_suffix(&[0]).unwrap_or(value);
                root.found.kind = String::from_utf8_lossy(name).into_owned();
            }
            OPTIONS => root.found.options = value.to_vec(),
            STATISTICS => {
                for (_, value) in attributes(value).filter(|(id, _)| *id == QUEUE) {
                    root.queue = Queue {
                        waiting_packets: u32_at(value, 0),
                        waiting_bytes: u32_at(value, 4),
                        dropped: u32_at(value, 8),
                    };
                }
            }
            _ => {}
        }
    }
    root
}

/// `struct tcmsg`.
pub(super) fn qdisc(index: u32, handle: u32, parent: u32) -> Vec<u8> {
    [0, index, handle, parent, 0].iter().flat_map(|x| x.to_ne_bytes()).collect()
}

/// `struct ifinfomsg`.
pub(super) fn link(index: u32) -> Vec<u8> {
    [0, index, 0, 0].iter().flat_map(|x: &u32| x.to_ne_bytes()).collect()
}

pub(super) fn attribute(body: &mut Vec<u8>, id: u16, value: &[u8]) {
    body.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
    body.extend_from_slice(&id.to_ne_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Attributes: identifiers and values, up to the first malformed one.
pub(super) fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let head = rest.get(..4)?;
        let half = |at| head.get(at..at + 2).and_then(|h| h.try_into().ok());
        let (length, id) = (half(0).map_or(0, u16::from_ne_bytes), half(2)?);
        // Flags about the value stand in the upper bits.
        let id = u16::from_ne_bytes(id) & 0x3fff;
        let value = rest.get(4..length as usize)?;
        rest = rest.get((length as usize).next_multiple_of(4)..).unwrap_or(&[]);
        Some((id, value))
    })
}

/// The 32-bit number at a place; 0 beyond the end.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..at + 4).and_then(|w| w.try_into().ok());
    field.map_or(0, u32::from_ne_bytes)
}
