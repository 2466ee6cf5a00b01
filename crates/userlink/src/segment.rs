//! The interfaces' work on frames on their way out, done to frames that never went out: checksums
//! are completed, and frames that stand for several packets are cut into them.
//!
//! A neighbour in the same machine (a container, a virtual machine) leaves this to the interface,
//! and says so beside the frame (`struct virtio_net_hdr`, in the manner of virtio 1.2, 5.1.6).

use laxity_trace::{Fragment, LinkType, decode};

const NEEDS_CHECKSUM: u8 = 1;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
/// Congestion bits of TCP matter to the first packet; set beside one of the above.
const ECN: u8 = 0x80;

const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// The work that is left on a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Todo {
    /// Where summing starts and where, from there on, the sum belongs.
    pub checksum: Option<(usize, usize)>,
    /// How many bytes of payload each packet is to have.
    pub cut: Option<Cut>,
}

/// How a frame is to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Whether it is TCP; else UDP.
    pub tcp: bool,
    /// Payload of each packet but the last.
    pub size: usize,
}

/// The headers of a frame contradict its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl Todo {
    /// The metadata of a `struct virtio_net_hdr`.
    ///
    /// # Errors
    /// It requests an unknown operation.
    pub fn read(prefix: &[u8; 10]) -> Result<Todo, Malformed> {
        let [flags, kind, _, _, size @ .., s0, s1, o0, o1] = *prefix;
        let size = usize::from(u16::from_ne_bytes(size));
        let [start, offset] =
            [[s0, s1], [o0, o1]].map(|bytes| usize::from(u16::from_ne_bytes(bytes)));
        let checksum = (flags & NEEDS_CHECKSUM != 0).then_some((start, offset));
        let cut = match kind & !ECN {
            0 => None,
            TCP_V4 | TCP_V6 if size > 0 => Some(Cut { tcp: true, size }),
            UDP if size > 0 => Some(Cut { tcp: false, size }),
            _ => return Err(Malformed),
        };
        Ok(Todo { checksum, cut })
    }
}

/// Completes the checksum of a frame that holds the sum of its pseudo header already.
///
/// # Errors
/// The places lie outside the frame.
pub fn complete(frame: &mut [u8], (start, offset): (usize, usize)) -> Result<(), Malformed> {
    let at = start + offset;
    if at + 2 > frame.len() || offset % 2 != 0 {
        return Err(Malformed);
    }
    put_sum(frame, at, sum(&frame[start..], 0));
    Ok(())
}

/// Where the checksum of a frame is to be completed: it then holds no more than the sum of the
/// pseudo header. Of a frame whose true checksum happens to be that, completing changes
/// nothing.
pub fn unfinished(link_type: LinkType, frame: &[u8]) -> Option<(usize, usize)> {
    let headers = decode(link_type, frame);
    let offset = match headers.protocol {
        Some(6) => 16,
        Some(17) => 6,
        _ => return None,
    };
    if headers.fragment != Fragment::Whole {
        return None;
    }
    let network = headers.network_offset? as usize;
    let transport = headers.transport_offset? as usize;
    let addresses = if headers.ip_version? == 4 { 12..20 } else { 8..40 };
    let end = network + headers.ip_len? as usize;
    // Padding after the packet is not covered by its checksum, which cannot be completed then.
    if end != frame.len() {
        return None;
    }
    let there = frame.get(transport + offset..transport + offset + 2)?;
    let length = (frame.len() - transport) as u64;
    let pseudo = sum(frame.get(network..)?.get(addresses)?, u64::from(headers.protocol?) + length);
    (there == fold(pseudo).to_be_bytes()).then_some((transport, offset))
}

/// Writes a sum, complemented. Zero, which says "none" in UDP, is written as its other form.
fn put_sum(frame: &mut [u8], at: usize, sum: u64) {
    let value = match !fold(sum) {
        0 => u16::MAX,
        value => value,
    };
    frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

fn sum(bytes: &[u8], start: u64) -> u64 {
    let words = bytes.chunks(2).map(|w| match *w {
        [a, b] => u64::from(u16::from_be_bytes([a, b])),
        [a] => u64::from(a) << 8,
        _ => 0,
    });
    start + words.sum::<u64>()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The packets that one frame stands for.
#[derive(Debug)]
pub struct Packets<'a> {
    headers: &'a [u8],
    payload: &'a [u8],
    cut: Cut,
    network: usize,
    transport: usize,
    v4: bool,
    protocol: u8,
    /// Bytes of payload before the next packet.
    done: usize,
}

impl<'a> Packets<'a> {
    /// Cuts an Ethernet frame.
    ///
    /// # Errors
    /// Its headers do not match its type.
    pub fn of(frame: &'a [u8], cut: Cut) -> Result<Packets<'a>, Malformed> {
        let headers = decode(LinkType::ETHERNET, frame);
        let place = |offset: Option<u32>| offset.map(|o| o as usize).ok_or(Malformed);
        let (network, transport) =
            (place(headers.network_offset)?, place(headers.transport_offset)?);
        let protocol = if cut.tcp { 6 } else { 17 };
        if headers.protocol != Some(protocol) {
            return Err(Malformed);
        }
        let length = if cut.tcp {
            let offset = frame.get(transport + 12).ok_or(Malformed)?;
            usize::from(offset >> 4) * 4
        } else {
            8
        };
        let least = if cut.tcp { 20 } else { 8 };
        let (headers_, payload) = frame.split_at_checked(transport + length).ok_or(Malformed)?;
        if length < least || payload.is_empty() || cut.size == 0 {
            return Err(Malformed);
        }
        let v4 = headers.ip_version == Some(4);
        if v4 && headers_.len() < network + 20 || !v4 && headers_.len() < network + 40 {
            return Err(Malformed);
        }
        Ok(Packets { headers: headers_, payload, cut, network, transport, v4, protocol, done: 0 })
    }

    /// How long the longest packet is.
    pub fn longest(&self) -> usize {
        self.headers.len() + self.cut.size.min(self.payload.len())
    }

    /// Writes the next packet, complete with its checksums, and returns its length; `None` after
    /// the last. A packet that is longer than the buffer is not written; its length is returned.
    pub fn next_into(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let rest = self.payload.get(self.done..).filter(|rest| !rest.is_empty())?;
        let payload = &rest[..rest.len().min(self.cut.size)];
        let (number, before) = (self.done / self.cut.size, self.done);
        self.done += payload.len();
        let (head, last) = (self.headers.len(), self.done == self.payload.len());
        let len = head + payload.len();
        let Some(packet) = buffer.get_mut(..len) else { return Some(len) };
        packet[..head].copy_from_slice(self.headers);
        packet[head..].copy_from_slice(payload);
        self.network(packet, number);
        let transport = &mut packet[self.transport..];
        let at = if self.cut.tcp {
            let sequence = transport[4..8].first_chunk().map_or(0, |s| u32::from_be_bytes(*s));
            transport[4..8].copy_from_slice(&sequence.wrapping_add(before as u32).to_be_bytes());
            if !last {
                transport[13] &= !FIN_PSH;
            }
            if number > 0 {
                transport[13] &= !CWR;
            }
            16
        } else {
            let length = transport.len() as u16;
            transport[4..6].copy_from_slice(&length.to_be_bytes());
            6
        };
        transport[at..at + 2].fill(0);
        let all = sum(&packet[self.transport..], self.pseudo(packet));
        put_sum(packet, self.transport + at, all);
        Some(len)
    }

    fn network(&self, packet: &mut [u8], number: usize) {
        let ip = &mut packet[self.network..];
        if self.v4 {
            let (length, header) = (ip.len() as u16, self.transport - self.network);
            ip[2..4].copy_from_slice(&length.to_be_bytes());
            let id = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(number as u16);
            ip[4..6].copy_from_slice(&id.to_be_bytes());
            ip[10..12].fill(0);
            let value = !fold(sum(&ip[..header], 0));
            ip[10..12].copy_from_slice(&value.to_be_bytes());
        } else {
            let length = (ip.len() - 40) as u16;
            ip[4..6].copy_from_slice(&length.to_be_bytes());
        }
    }

    /// The sum of what checksums cover beside the packet.
    fn pseudo(&self, packet: &[u8]) -> u64 {
        let ip = &packet[self.network..];
        let addresses = if self.v4 { &ip[12..20] } else { &ip[8..40] };
        let length = (packet.len() - self.transport) as u64;
        sum(addresses, u64::from(self.protocol) + length)
    }
}

#[cfg(test)]
mod tests;
