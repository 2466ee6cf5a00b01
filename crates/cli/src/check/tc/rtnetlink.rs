//! Disciplines, classes and filters of an interface, asked of the kernel (rtnetlink(7)). That needs no privilege.

use laxity_tc::{Config, Dump, Reader};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, send, socket};

use crate::failure::Failure;

/// Disciplines with classes that filters choose.
const CLASSFUL: [&str; 6] = ["hfsc", "htb", "prio", "drr", "ets", "qfq"];

/// Length of `struct nlmsghdr`.
const HEADER: usize = 16;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const REQUEST_DUMP: u16 = 0x301;
/// `NLM_F_DUMP_INTR`: something changed in between.
const INTERRUPTED: u16 = 0x10;
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// How often a dump is tried that changes interrupt.
const TRIES: u32 = 5;

/// The configuration of an interface.
pub fn interface(name: &str) -> Result<Config, Failure> {
    for _ in 0..TRIES {
        if let Some(config) = attempt(name)? {
            return Ok(config);
        }
    }
    Err(Failure::Lacking(format!(
        "{name}: its queueing disciplines change too often to be read; try again, or give a file"
    )))
}

/// One attempt; `None` where something changed.
fn attempt(name: &str) -> Result<Option<Config>, Failure> {
    let lacking = |e: Errno| Failure::Lacking(format!("rtnetlink, {name}: {e}; give a file"));
    let mut link = Link::open(name).map_err(lacking)?;
    let mut reader = Reader::default();
    for dump in [Dump::Qdiscs, Dump::Classes] {
        if !link.read(&mut reader, dump)? {
            return Ok(None);
        }
    }
    let config = reader.clone().finish().map_err(Failure::input)?;
    for q in config.qdiscs.iter().filter(|q| CLASSFUL.contains(&q.options.kind())) {
        if !link.read(&mut reader, Dump::Filters(q.handle))? {
            return Ok(None);
        }
    }
    reader.finish().map(Some).map_err(Failure::input)
}

struct Link<'a> {
    name: &'a str,
    index: u32,
    socket: OwnedFd,
    sequence: u32,
}

impl Link<'_> {
    fn open(name: &str) -> Result<Link<'_>, Errno> {
        let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
        let index = name_to_index(&socket, name)?;
        Ok(Link { name, index, socket, sequence: 0 })
    }

    /// Reads a dump; whether nothing changed meanwhile.
    fn read(&mut self, reader: &mut Reader, dump: Dump) -> Result<bool, Failure> {
        let lacking =
            |e: Errno| Failure::Lacking(format!("rtnetlink, {}: {e}; give a file", self.name));
        self.sequence += 1;
        let body = dump.body(self.index);
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend_from_slice(&((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend_from_slice(&dump.request_type().to_ne_bytes());
        message.extend_from_slice(&REQUEST_DUMP.to_ne_bytes());
        message.extend_from_slice(&self.sequence.to_ne_bytes());
        message.extend_from_slice(&0u32.to_ne_bytes());
        message.extend_from_slice(&body);
        send(&self.socket, &message, SendFlags::empty()).map_err(lacking)?;
        let mut buffer = vec![0; 1 << 18];
        loop {
            let (length, _) =
                recv(&self.socket, &mut buffer[..], RecvFlags::empty()).map_err(lacking)?;
            let mut rest = &buffer[..length];
            while let Some(head) = rest.get(..HEADER) {
                let length = (word(head, 0) as usize).clamp(HEADER, rest.len());
                let (kind, flags, sequence) = (half(head, 4), half(head, 6), word(head, 8));
                let body = &rest[HEADER..length];
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
                if sequence != self.sequence {
                    continue;
                }
                if flags & INTERRUPTED != 0 {
                    return Ok(false);
                }
                match kind {
                    DONE => return Ok(true),
                    ERROR => {
                        let code = i32::from_ne_bytes(word(body, 0).to_ne_bytes());
                        return Err(lacking(Errno::from_raw_os_error(-code)));
                    }
                    _ if kind == dump.answer_type() => {
                        reader
                            .message(self.name, self.index, dump, body)
                            .map_err(Failure::input)?;
                    }
                    _ => {}
                }
            }
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..at + 4).and_then(|w| w.try_into().ok());
    field.map_or(0, u32::from_ne_bytes)
}

fn half(bytes: &[u8], at: usize) -> u16 {
    let field = bytes.get(at..at + 2).and_then(|w| w.try_into().ok());
    field.map_or(0, u16::from_ne_bytes)
}
