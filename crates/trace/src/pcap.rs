//! Records of the classic pcap format.

use std::io::{self, Read};

use crate::fault::{BadHeader, FaultKind, Faults};
use crate::frame::{LinkType, RawFrame};
use crate::window::{Endian, Window};

/// Most bytes a pcap record may hold, 1 MiB; a header that claims more counts as corrupt.
pub const MAX_RECORD_BYTES: u32 = 1 << 20;

/// Longest plausible packet on the wire, 16 MiB.
pub const MAX_ORIGINAL_BYTES: u32 = 1 << 24;

/// Bytes of the file header.
pub(crate) const FILE_HEADER: usize = 24;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// After lost sync, a record is plausible when its time is this close to an earlier time.
const RESYNC_SECONDS: u32 = 86_400;

/// The variant of pcap that the first four bytes of a file give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Magic {
    endian: Endian,
    /// Nanoseconds of one unit of the sub-second time.
    unit_ns: u32,
    record_header: usize,
}

impl Magic {
    pub(crate) fn of(bytes: [u8; 4]) -> Option<Magic> {
        let kind = |value: u32| match value {
            0xa1b2_c3d4 => Some((1_000, 16)),
            0xa1b2_3c4d => Some((1, 16)),
            // The "modified" format of old Linux: interface, protocol and packet type follow.
            0xa1b2_cd34 => Some((1_000, 24)),
            _ => None,
        };
        let little = kind(u32::from_le_bytes(bytes)).map(|k| (Endian::Little, k));
        let big = kind(u32::from_be_bytes(bytes)).map(|k| (Endian::Big, k));
        little.or(big).map(|(endian, (unit_ns, record_header))| Magic {
            endian,
            unit_ns,
            record_header,
        })
    }
}

/// A record header's four fields.
#[derive(Debug, Clone, Copy)]
struct Record {
    seconds: u32,
    fraction: u32,
    captured: u32,
    original: u32,
}

/// The state of reading a pcap file, after its file header.
#[derive(Debug)]
pub(crate) struct Pcap {
    magic: Magic,
    link_type: LinkType,
    snaplen: u32,
    fcs_len: u32,
    /// Seconds of the first and the latest record.
    seconds: Option<(u32, u32)>,
}

impl Pcap {
    /// Reads the file header, which is in the window.
    pub(crate) fn start<R: Read>(
        magic: Magic,
        window: &mut Window<R>,
        faults: &mut Faults,
    ) -> Pcap {
        let bytes = window.bytes();
        let endian = magic.endian;
        let (major, minor) = (endian.u16(bytes, 4), endian.u16(bytes, 6));
        if (major, minor) != (2, 4) {
            faults.add(window.offset(), FaultKind::Version { major, minor });
        }
        let link = endian.u32(bytes, 20);
        // With bit 26 the top four bits are the FCS length in 16-bit words.
        let fcs_len = if link & 0x0400_0000 != 0 { (link >> 28) * 2 } else { 0 };
        let pcap = Pcap {
            magic,
            link_type: LinkType(link & 0x03ff_ffff),
            snaplen: endian.u32(bytes, 16),
            fcs_len,
            seconds: None,
        };
        window.consume(FILE_HEADER);
        pcap
    }

    pub(crate) fn link_type(&self) -> LinkType {
        self.link_type
    }

    pub(crate) fn snaplen(&self) -> u32 {
        self.snaplen
    }

    pub(crate) fn fcs_len(&self) -> u32 {
        self.fcs_len
    }

    #[inline]
    fn record(&self, b: &[u8]) -> Record {
        let e = self.magic.endian;
        Record {
            seconds: e.u32(b, 0),
            fraction: e.u32(b, 4),
            captured: e.u32(b, 8),
            original: e.u32(b, 12),
        }
    }

    /// The contradiction in `record`, if there is one.
    #[inline]
    fn implausible(&self, record: &Record) -> Option<BadHeader> {
        if record.captured > MAX_RECORD_BYTES {
            Some(BadHeader::CapturedLength(record.captured))
        } else if record.original.wrapping_sub(1) >= MAX_ORIGINAL_BYTES {
            Some(BadHeader::OriginalLength(record.original))
        } else if u64::from(record.fraction) * u64::from(self.magic.unit_ns) >= NANOS_PER_SECOND {
            Some(BadHeader::Fraction(record.fraction))
        } else {
            None
        }
    }

    /// The next record, which stays in the window; `None` at the end of the file.
    #[inline]
    pub(crate) fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
        faults: &mut Faults,
    ) -> io::Result<Option<RawFrame>> {
        let header = self.magic.record_header;
        loop {
            if !window.fill(header)? {
                let have = window.len() as u64;
                if have > 0 {
                    faults.add(window.offset(), FaultKind::Truncated { have, need: header as u64 });
                    window.consume(window.len());
                }
                return Ok(None);
            }
            let record = self.record(window.bytes());
            if let Some(reason) = self.implausible(&record) {
                self.resync(reason, window, faults)?;
                continue;
            }
            let need = header + record.captured as usize;
            if !window.fill(need)? {
                self.past_end(&record, need, window, faults)?;
                continue;
            }
            let followed = !window.look_ahead(need + header)
                || self.implausible(&self.record(&window.bytes()[need..])).is_none();
            if (record.captured > record.original || !followed)
                && self.overlaps(&record, need, window, faults)?
            {
                continue;
            }
            let offset = window.offset();
            let mut original_len = record.original;
            if record.captured > original_len {
                let (original, captured) = (record.original, record.captured);
                faults.add(offset, FaultKind::ShortOriginal { original, captured });
                original_len = captured;
            }
            let first = self.seconds.map_or(record.seconds, |(first, _)| first);
            self.seconds = Some((first, record.seconds));
            let time_ns = u64::from(record.seconds) * NANOS_PER_SECOND
                + u64::from(record.fraction) * u64::from(self.magic.unit_ns);
            return Ok(Some(RawFrame {
                offset,
                time_ns: Some(time_ns),
                original_len,
                data_at: header,
                captured: record.captured as usize,
                link_type: self.link_type,
                interface: 0,
                fcs_len: self.fcs_len,
                comment: None,
                advance: need,
            }));
        }
    }

    /// The file ends inside a record: it is cut off there, or the record's length is corrupt.
    #[cold]
    fn past_end<R: Read>(
        &self,
        record: &Record,
        need: usize,
        window: &mut Window<R>,
        faults: &mut Faults,
    ) -> io::Result<()> {
        let (offset, have) = (window.offset(), window.len() as u64);
        let (skipped, resumed) = self.scan(window)?;
        let kind = if resumed {
            let reason = BadHeader::PastEnd(record.captured);
            FaultKind::BadRecord { reason, skipped, resumed }
        } else {
            FaultKind::Truncated { have, need: need as u64 }
        };
        faults.add(offset, kind);
        Ok(())
    }

    /// Whether another record starts inside this suspicious one, whose length is then corrupt;
    /// reading goes on with that other record.
    #[cold]
    fn overlaps<R: Read>(
        &self,
        record: &Record,
        need: usize,
        window: &mut Window<R>,
        faults: &mut Faults,
    ) -> io::Result<bool> {
        for at in 1..need {
            if self.is_plausible(at, window)? {
                let reason = BadHeader::Overlap(record.captured);
                let kind = FaultKind::BadRecord { reason, skipped: at as u64, resumed: true };
                faults.add(window.offset(), kind);
                window.consume(at);
                return Ok(true);
            }
        }
        Ok(false)
    }

    #[cold]
    fn resync<R: Read>(
        &self,
        reason: BadHeader,
        window: &mut Window<R>,
        faults: &mut Faults,
    ) -> io::Result<()> {
        let offset = window.offset();
        let (skipped, resumed) = self.scan(window)?;
        faults.add(offset, FaultKind::BadRecord { reason, skipped, resumed });
        Ok(())
    }

    /// Consumes bytes up to the next plausible record, or to the end.
    fn scan<R: Read>(&self, window: &mut Window<R>) -> io::Result<(u64, bool)> {
        let from = window.offset();
        loop {
            window.consume(1);
            if !window.fill(self.magic.record_header)? {
                window.consume(window.len());
                return Ok((window.offset() - from, false));
            }
            if self.is_plausible(0, window)? {
                return Ok((window.offset() - from, true));
            }
        }
    }

    /// Whether a whole record starts `at` bytes into the window, near in time to the records
    /// before, and another one or the end of the file follows it.
    fn is_plausible<R: Read>(&self, at: usize, window: &mut Window<R>) -> io::Result<bool> {
        let header = self.magic.record_header;
        if !window.fill(at + header)? {
            return Ok(false);
        }
        let record = self.record(&window.bytes()[at..]);
        let near = |a: u32, b: u32| a.abs_diff(b) <= RESYNC_SECONDS;
        let in_time = match self.seconds {
            Some((first, latest)) => near(record.seconds, first) || near(record.seconds, latest),
            None => true,
        };
        if !in_time
            || record.captured == 0
            || record.captured > record.original
            || self.implausible(&record).is_some()
        {
            return Ok(false);
        }
        let end = at + header + record.captured as usize;
        if !window.fill(end)? {
            return Ok(false);
        }
        if !window.fill(end + header)? {
            // The end, or a header that is cut off by it: nothing to check the record against.
            return Ok(true);
        }
        let next = self.record(&window.bytes()[end..]);
        Ok(self.implausible(&next).is_none() && near(next.seconds, record.seconds))
    }
}
