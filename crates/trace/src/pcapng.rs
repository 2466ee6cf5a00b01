//! Blocks of the pcapng format.

use std::io::{self, Read};

use crate::capture::Interface;
use crate::fault::{BadBlock, FaultKind, Faults};
use crate::frame::{LinkType, RawFrame};
use crate::pcap::MAX_ORIGINAL_BYTES;
use crate::window::{Endian, Window};

/// Longest plausible block, 16 MiB.
pub const MAX_BLOCK_BYTES: u32 = 1 << 24;

/// Most interfaces of one file, all its sections together.
pub const MAX_INTERFACES: usize = 4096;

/// The type of a section header block, the same in both byte orders.
pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
pub(crate) const INTERFACE: u32 = 1;
pub(crate) const OLD_PACKET: u32 = 2;
pub(crate) const SIMPLE_PACKET: u32 = 3;
pub(crate) const ENHANCED_PACKET: u32 = 6;
pub(crate) const BYTE_ORDER_MARK: u32 = 0x1a2b_3c4d;

/// Longest block that a search for the next one accepts; keeps the search linear.
const MAX_RESYNC_BLOCK: u32 = 1 << 21;

/// Longest interface name that is kept, in bytes.
const MAX_NAME: usize = 256;

/// How an interface counts time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// A unit is this many nanoseconds.
    Times(u64),
    /// This many units are a nanosecond.
    Divided(u64),
    /// `1 << n` units are a second.
    Binary(u32),
}

impl Clock {
    /// The clock of an `if_tsresol` option.
    pub(crate) fn of(resolution: u8) -> Clock {
        let power = u32::from(resolution & 0x7f);
        if resolution & 0x80 != 0 {
            Clock::Binary(power)
        } else if power <= 9 {
            Clock::Times(10u64.pow(9 - power))
        } else {
            // Units so small that 64 bits of them are no nanosecond all count as 0.
            10u64.checked_pow(power - 9).map_or(Clock::Times(0), Clock::Divided)
        }
    }

    /// Nanoseconds of `units` plus `offset` seconds; `Err` is the nearest time that can be represented.
    #[inline]
    fn nanos(self, units: u64, offset: i64) -> Result<u64, u64> {
        if let (Clock::Times(n), 0) = (self, offset) {
            return units.checked_mul(n).ok_or(u64::MAX);
        }
        let ns = match self {
            Clock::Times(n) => u128::from(units) * u128::from(n),
            Clock::Divided(n) => u128::from(units / n),
            Clock::Binary(n) => (u128::from(units) * 1_000_000_000) >> n,
        };
        // At most 94 bits plus 94 bits: no overflow in 127.
        let total = ns as i128 + i128::from(offset) * 1_000_000_000;
        u64::try_from(total).map_err(|_| if total < 0 { 0 } else { u64::MAX })
    }
}

/// The parameters for reading the packets of an interface.
#[derive(Debug, Clone, Copy)]
struct Port {
    /// Index into the interfaces of the file; `None` for one too many.
    index: Option<u32>,
    link_type: LinkType,
    snaplen: u32,
    fcs_len: u32,
    clock: Clock,
    offset_seconds: i64,
}

/// The state of reading a pcapng file.
#[derive(Debug)]
pub(crate) struct Pcapng {
    endian: Endian,
    /// Interfaces of the current section.
    ports: Vec<Port>,
    /// Interface blocks of the section that found no place in `ports`.
    surplus: u32,
    /// Whether a packet without a time was reported; one fault stands for the file.
    timeless: bool,
}

/// The result of reading a block.
enum Step {
    Packet(RawFrame),
    Other,
}

fn padded(n: usize) -> usize {
    n.saturating_add(3) & !3
}

impl Pcapng {
    pub(crate) fn new() -> Pcapng {
        Pcapng { endian: Endian::Little, ports: Vec::new(), surplus: 0, timeless: false }
    }

    /// The next packet, which stays in the window; `None` at the end of the file.
    #[inline]
    pub(crate) fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
        interfaces: &mut Vec<Interface>,
        faults: &mut Faults,
    ) -> io::Result<Option<RawFrame>> {
        loop {
            if !window.fill(12)? {
                let have = window.len() as u64;
                if have > 0 {
                    faults.add(window.offset(), FaultKind::Truncated { have, need: 12 });
                    window.consume(window.len());
                }
                return Ok(None);
            }
            let (kind, length) = match self.header(window)? {
                Ok(header) => header,
                Err(reason) => {
                    self.resync(reason, window, faults)?;
                    continue;
                }
            };
            let size = length as usize;
            if !window.fill(size)? {
                self.past_end(length, window, faults)?;
                continue;
            }
            let trailer = self.endian.u32(window.bytes(), size - 4);
            if trailer != length {
                if !self.block_follows(size, window)? {
                    self.resync(BadBlock::Trailer { length, trailer }, window, faults)?;
                    continue;
                }
                faults.add(window.offset(), FaultKind::BadTrailer { length, trailer });
            }
            let offset = window.offset();
            let body = &window.bytes()[..size - 4];
            match self.block(kind, offset, body, interfaces, faults) {
                Ok(Step::Packet(frame)) => return Ok(Some(RawFrame { advance: size, ..frame })),
                Ok(Step::Other) => {}
                Err(kind) => faults.add(offset, kind),
            }
            window.consume(size);
        }
    }

    /// Type and length of the block in the window; a section header sets the byte order.
    #[inline]
    fn header<R: Read>(
        &mut self,
        window: &mut Window<R>,
    ) -> io::Result<Result<(u32, u32), BadBlock>> {
        let bytes = window.bytes();
        let mut least = 12;
        if self.endian.u32(bytes, 0) == SECTION {
            least = 28;
            match byte_order(bytes) {
                Some(endian) => self.endian = endian,
                None => return Ok(Err(BadBlock::ByteOrder(self.endian.u32(bytes, 8)))),
            }
        }
        let bytes = window.bytes();
        let (kind, length) = (self.endian.u32(bytes, 0), self.endian.u32(bytes, 4));
        if length < least || length % 4 != 0 || length > MAX_BLOCK_BYTES {
            return Ok(Err(BadBlock::Length(length)));
        }
        Ok(Ok((kind, length)))
    }

    /// Reads one block; `body` is the block without its trailer.
    #[inline]
    fn block(
        &mut self,
        kind: u32,
        offset: u64,
        body: &[u8],
        interfaces: &mut Vec<Interface>,
        faults: &mut Faults,
    ) -> Result<Step, FaultKind> {
        let e = self.endian;
        match kind {
            ENHANCED_PACKET => {
                let time = u64::from(e.u32(body, 12)) << 32 | u64::from(e.u32(body, 16));
                let lens = (e.u32(body, 20), e.u32(body, 24));
                self.packet(kind, offset, body, 28, e.u32(body, 8), Some(time), lens, faults)
            }
            OLD_PACKET => {
                let time = u64::from(e.u32(body, 12)) << 32 | u64::from(e.u32(body, 16));
                let lens = (e.u32(body, 20), e.u32(body, 24));
                let id = u32::from(e.u16(body, 8));
                self.packet(kind, offset, body, 28, id, Some(time), lens, faults)
            }
            SIMPLE_PACKET => {
                let original = e.u32(body, 8);
                let snaplen = self.ports.first().map_or(0, |port| port.snaplen);
                let captured = if snaplen == 0 { original } else { original.min(snaplen) };
                if !std::mem::replace(&mut self.timeless, true) {
                    faults.add(offset, FaultKind::NoTime);
                }
                self.packet(kind, offset, body, 12, 0, None, (captured, original), faults)
            }
            SECTION => {
                if body.len() < 24 {
                    return Err(FaultKind::BadContents { block: kind });
                }
                let (major, minor) = (e.u16(body, 12), e.u16(body, 14));
                // Files of version 1.2 differ in nothing that this reader uses.
                if major != 1 || !matches!(minor, 0 | 2) {
                    faults.add(offset, FaultKind::Version { major, minor });
                }
                self.ports.clear();
                self.surplus = 0;
                Ok(Step::Other)
            }
            INTERFACE => self.interface(body, interfaces).map(|()| Step::Other),
            _ => Ok(Step::Other),
        }
    }

    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn packet(
        &self,
        kind: u32,
        offset: u64,
        body: &[u8],
        data_at: usize,
        id: u32,
        time: Option<u64>,
        (captured, original): (u32, u32),
        faults: &mut Faults,
    ) -> Result<Step, FaultKind> {
        let data_end = data_at.saturating_add(captured as usize);
        if data_end > body.len() || original > MAX_ORIGINAL_BYTES {
            return Err(FaultKind::BadContents { block: kind });
        }
        let known = self.ports.len() as u32 + self.surplus;
        let port = match self.ports.get(id as usize) {
            Some(port) => port,
            None if id < known => return Err(FaultKind::TooManyInterfaces),
            None => return Err(FaultKind::UnknownInterface { id, known }),
        };
        let interface = port.index.ok_or(FaultKind::TooManyInterfaces)?;
        let original_len = if captured > original {
            faults.add(offset, FaultKind::ShortOriginal { original, captured });
            captured
        } else {
            original
        };
        let time_ns = match time.map(|units| port.clock.nanos(units, port.offset_seconds)) {
            Some(Ok(ns)) => Some(ns),
            Some(Err(nearest)) => {
                faults.add(offset, FaultKind::TimeRange);
                Some(nearest)
            }
            None => None,
        };
        let mut frame = RawFrame {
            offset,
            time_ns,
            original_len,
            data_at,
            captured: captured as usize,
            link_type: port.link_type,
            interface,
            fcs_len: port.fcs_len,
            comment: None,
            advance: 0,
        };
        let options_at = data_at + padded(captured as usize);
        if kind != SIMPLE_PACKET && options_at < body.len() {
            self.packet_options(body, options_at, &mut frame);
        }
        Ok(Step::Packet(frame))
    }

    fn packet_options(&self, body: &[u8], at: usize, frame: &mut RawFrame) {
        for (code, start, value) in options(self.endian, body, at) {
            match code {
                1 if frame.comment.is_none() => frame.comment = Some((start, value.len())),
                2 if value.len() >= 4 => {
                    let fcs_len = self.endian.u32(value, 0) >> 5 & 0xf;
                    if fcs_len > 0 {
                        frame.fcs_len = fcs_len;
                    }
                }
                _ => {}
            }
        }
    }

    fn interface(&mut self, body: &[u8], interfaces: &mut Vec<Interface>) -> Result<(), FaultKind> {
        if body.len() < 16 {
            // It still counts, so that the interfaces after it keep their numbers.
            self.add_port(None);
            return Err(FaultKind::BadContents { block: INTERFACE });
        }
        let e = self.endian;
        let mut port = Port {
            index: None,
            link_type: LinkType(u32::from(e.u16(body, 8))),
            snaplen: e.u32(body, 12),
            fcs_len: 0,
            clock: Clock::Times(1_000),
            offset_seconds: 0,
        };
        let mut name = None;
        for (code, _, value) in options(e, body, 16) {
            match (code, value) {
                (2, value) => {
                    let kept = &value[..value.len().min(MAX_NAME)];
                    name = Some(String::from_utf8_lossy(kept).into_owned());
                }
                (9, [resolution, ..]) => port.clock = Clock::of(*resolution),
                (13, [fcs_len, ..]) => port.fcs_len = u32::from(*fcs_len),
                (14, value) if value.len() >= 8 => port.offset_seconds = e.u64(value, 0) as i64,
                _ => {}
            }
        }
        if interfaces.len() >= MAX_INTERFACES {
            self.add_port(None);
            return Err(FaultKind::TooManyInterfaces);
        }
        port.index = Some(interfaces.len() as u32);
        interfaces.push(Interface {
            link_type: port.link_type,
            snaplen: port.snaplen,
            fcs_len: port.fcs_len,
            name,
        });
        self.add_port(Some(port));
        Ok(())
    }

    fn add_port(&mut self, port: Option<Port>) {
        let unusable = Port {
            index: None,
            link_type: LinkType::NULL,
            snaplen: 0,
            fcs_len: 0,
            clock: Clock::Times(1_000),
            offset_seconds: 0,
        };
        if self.ports.len() < MAX_INTERFACES {
            self.ports.push(port.unwrap_or(unusable));
        } else {
            self.surplus = self.surplus.saturating_add(1);
        }
    }

    /// The file ends inside a block: it is cut off there, or the block's length is corrupt.
    #[cold]
    fn past_end<R: Read>(
        &mut self,
        length: u32,
        window: &mut Window<R>,
        faults: &mut Faults,
    ) -> io::Result<()> {
        let (offset, have) = (window.offset(), window.len() as u64);
        let (skipped, resumed) = self.scan(window)?;
        let kind = if resumed {
            FaultKind::BadBlock { reason: BadBlock::PastEnd(length), skipped, resumed }
        } else {
            FaultKind::Truncated { have, need: u64::from(length) }
        };
        faults.add(offset, kind);
        Ok(())
    }

    #[cold]
    fn resync<R: Read>(
        &mut self,
        reason: BadBlock,
        window: &mut Window<R>,
        faults: &mut Faults,
    ) -> io::Result<()> {
        let offset = window.offset();
        let (skipped, resumed) = self.scan(window)?;
        faults.add(offset, FaultKind::BadBlock { reason, skipped, resumed });
        Ok(())
    }

    /// Consumes bytes up to the next plausible block, or to the end.
    fn scan<R: Read>(&mut self, window: &mut Window<R>) -> io::Result<(u64, bool)> {
        let from = window.offset();
        loop {
            window.consume(1);
            if !window.fill(12)? {
                window.consume(window.len());
                return Ok((window.offset() - from, false));
            }
            if self.is_plausible(0, window)? {
                return Ok((window.offset() - from, true));
            }
        }
    }

    /// Whether the file ends `at` bytes into the window, or a whole block starts there.
    fn block_follows<R: Read>(&self, at: usize, window: &mut Window<R>) -> io::Result<bool> {
        if !window.fill(at + 1)? {
            return Ok(true);
        }
        Ok(window.fill(at + 12)? && self.is_plausible(at, window)?)
    }

    /// Whether a whole block of a known type starts `at` bytes into the window.
    fn is_plausible<R: Read>(&self, at: usize, window: &mut Window<R>) -> io::Result<bool> {
        let bytes = &window.bytes()[at..];
        let mut endian = self.endian;
        match endian.u32(bytes, 0) {
            SECTION => match byte_order(bytes) {
                Some(found) => endian = found,
                None => return Ok(false),
            },
            1..=6 | 9 | 10 | 0x0bad | 0x4000_0bad => {}
            _ => return Ok(false),
        }
        let length = endian.u32(bytes, 4);
        if length < 12 || length % 4 != 0 || length > MAX_RESYNC_BLOCK {
            return Ok(false);
        }
        let end = at + length as usize;
        Ok(window.fill(end)? && endian.u32(window.bytes(), end - 4) == length)
    }
}

/// The byte order that a section header's mark gives.
pub(crate) fn byte_order(section: &[u8]) -> Option<Endian> {
    match Endian::Little.u32(section, 8) {
        BYTE_ORDER_MARK => Some(Endian::Little),
        mark if mark.swap_bytes() == BYTE_ORDER_MARK => Some(Endian::Big),
        _ => None,
    }
}

/// The options of a block from `at` on: code, where the value starts in the block, value.
///
/// Ends at the end mark, at the end of the block, or at an option that does not fit into it.
fn options(
    endian: Endian,
    block: &[u8],
    mut at: usize,
) -> impl Iterator<Item = (u16, usize, &[u8])> {
    std::iter::from_fn(move || {
        if at.checked_add(4)? > block.len() {
            return None;
        }
        let (code, length) = (endian.u16(block, at), usize::from(endian.u16(block, at + 2)));
        if code == 0 {
            return None;
        }
        let start = at + 4;
        let value = block.get(start..start + length)?;
        at = start + padded(length);
        Some((code, start, value))
    })
}
