//! Opening a capture of either format and taking its packets one by one.

use std::io::Read;

use crate::fault::{CaptureError, Faults};
use crate::frame::{Frame, LinkType, OwnedFrame, RawFrame};
use crate::pcap::{FILE_HEADER, Magic, Pcap};
use crate::pcapng::{Pcapng, SECTION, byte_order};
use crate::window::Window;

/// The format of a capture file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Classic pcap, any byte order and time unit.
    Pcap,
    /// pcapng.
    Pcapng,
}

/// One interface of a capture; a pcap file has exactly one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The layer with which its frames start.
    pub link_type: LinkType,
    /// Most bytes captured of a packet, 0 for no limit; files do not always keep to it.
    pub snaplen: u32,
    /// Bytes of FCS at the end of its packets on the wire; already stripped from frames.
    pub fcs_len: u32,
    /// Its name, at most 256 bytes of it.
    pub name: Option<String>,
}

/// How the times of a capture are ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeOrder {
    /// Frames whose time is before that of the frame before them in the file.
    pub backwards: u64,
    /// The largest of these steps, in nanoseconds.
    pub worst_ns: u64,
    /// Offset in the file of the first of these frames, in bytes.
    pub first_offset: Option<u64>,
}

/// Counts of the capture so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Frames returned.
    pub frames: u64,
    /// Bytes captured of them, FCS not included.
    pub captured_bytes: u64,
    /// Bytes they had on the wire, FCS not included.
    pub original_bytes: u64,
    /// Frames of which fewer bytes were captured than were on the wire.
    pub cut_frames: u64,
    /// Frames without a time of their own, see [`Frame::timed`].
    pub untimed_frames: u64,
    /// Smallest and largest time, in nanoseconds since 1970.
    pub time_span_ns: Option<(u64, u64)>,
    /// Frames are returned in the order of the file; these are the exceptions to the order of time.
    pub order: TimeOrder,
    /// The error in the file.
    pub faults: Faults,
}

#[derive(Debug)]
enum State {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// A capture being read.
///
/// Memory stays bounded: one record or block at a time is held, at most
/// [`crate::MAX_BLOCK_BYTES`] plus a constant.
#[derive(Debug)]
pub struct Capture<R> {
    window: Window<R>,
    state: State,
    interfaces: Vec<Interface>,
    report: Report,
    /// Bytes of the frame that was returned last.
    pending: usize,
    last_ns: u64,
    failed: bool,
}

/// Magic numbers of files that are commonly mistaken for captures.
const COMPRESSED: [(&[u8], &str); 5] = [
    (&[0x1f, 0x8b], "gunzip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "unzstd"),
    (&[0x04, 0x22, 0x4d, 0x18], "unlz4"),
    (&[0xfd, b'7', b'z', b'X'], "unxz"),
    (b"BZh", "bunzip2"),
];
const OTHER: [(&[u8], &str); 4] = [
    (b"snoop", "snoop"),
    (b"RTSS", "Network Monitor"),
    (b"GMBU", "Network Monitor"),
    (b"ERF", "ERF"),
];

impl<R: Read> Capture<R> {
    /// Starts reading a pcap or pcapng file; its first bytes determine the format.
    ///
    /// The reader need not be buffered.
    ///
    /// # Errors
    ///
    /// When the reader fails, or when the bytes do not start a capture.
    pub fn open(reader: R) -> Result<Capture<R>, CaptureError> {
        let mut window = Window::new(reader);
        let io = |source| CaptureError::Io { offset: 0, source };
        window.fill(FILE_HEADER).map_err(io)?;
        let bytes = window.bytes();
        if bytes.is_empty() {
            return Err(CaptureError::Empty);
        }
        if let Some((_, with)) = COMPRESSED.iter().find(|(magic, _)| bytes.starts_with(magic)) {
            return Err(CaptureError::Compressed { with });
        }
        if let Some((_, name)) = OTHER.iter().find(|(magic, _)| bytes.starts_with(magic)) {
            return Err(CaptureError::OtherFormat { name });
        }
        let have = bytes.len() as u64;
        let Some(&magic) = bytes.first_chunk::<4>() else {
            return Err(CaptureError::HeaderTruncated { have, need: FILE_HEADER as u64 });
        };
        let mut report = Report::default();
        let mut interfaces = Vec::new();
        let state = if u32::from_le_bytes(magic) == SECTION {
            if have < 12 {
                return Err(CaptureError::HeaderTruncated { have, need: 28 });
            }
            if byte_order(bytes).is_none() {
                return Err(CaptureError::NotACapture { magic });
            }
            State::Pcapng(Pcapng::new())
        } else if let Some(known) = Magic::of(magic) {
            if have < FILE_HEADER as u64 {
                return Err(CaptureError::HeaderTruncated { have, need: FILE_HEADER as u64 });
            }
            let pcap = Pcap::start(known, &mut window, &mut report.faults);
            interfaces.push(Interface {
                link_type: pcap.link_type(),
                snaplen: pcap.snaplen(),
                fcs_len: pcap.fcs_len(),
                name: None,
            });
            State::Pcap(pcap)
        } else {
            return Err(CaptureError::NotACapture { magic });
        };
        Ok(Capture { window, state, interfaces, report, pending: 0, last_ns: 0, failed: false })
    }

    /// The next frame in the order of the file; `None` at its end, and ever after.
    ///
    /// To detect damage, a pcap record is returned after the header of the next one was read:
    /// on a pipe from a running capture the last packet waits for the next.
    ///
    /// # Errors
    ///
    /// When the reader fails; after that there are no more frames.
    #[inline]
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        if self.failed {
            return Ok(None);
        }
        self.window.consume(std::mem::take(&mut self.pending));
        let faults = &mut self.report.faults;
        let read = match &mut self.state {
            State::Pcap(pcap) => pcap.next(&mut self.window, faults),
            State::Pcapng(ng) => ng.next(&mut self.window, &mut self.interfaces, faults),
        };
        let raw = match read {
            Ok(Some(raw)) => raw,
            Ok(None) => return Ok(None),
            Err(source) => {
                self.failed = true;
                return Err(CaptureError::Io { offset: self.window.offset(), source });
            }
        };
        self.pending = raw.advance;
        Ok(Some(self.frame(raw)))
    }

    #[inline]
    fn frame(&mut self, raw: RawFrame) -> Frame<'_> {
        let original_len = raw.original_len.saturating_sub(raw.fcs_len);
        let captured = raw.captured.min(original_len as usize);
        let report = &mut self.report;
        report.frames += 1;
        report.captured_bytes += captured as u64;
        report.original_bytes += u64::from(original_len);
        report.cut_frames += u64::from(captured < original_len as usize);
        if let Some(now) = raw.time_ns {
            report.time_span_ns = match report.time_span_ns {
                Some((first, last)) => Some((first.min(now), last.max(now))),
                None => Some((now, now)),
            };
            if now < self.last_ns {
                report.order.backwards += 1;
                report.order.worst_ns = report.order.worst_ns.max(self.last_ns - now);
                report.order.first_offset.get_or_insert(raw.offset);
            }
            self.last_ns = now;
        } else {
            report.untimed_frames += 1;
        }
        let bytes = self.window.bytes();
        let slice = |at: usize, len: usize| bytes.get(at..at + len).unwrap_or_default();
        Frame {
            time_ns: self.last_ns,
            timed: raw.time_ns.is_some(),
            original_len,
            data: slice(raw.data_at, captured),
            link_type: raw.link_type,
            interface: raw.interface,
            offset: raw.offset,
            comment: raw.comment.and_then(|(at, len)| std::str::from_utf8(slice(at, len)).ok()),
        }
    }

    /// Frames as an iterator; each is copied out. `capture.frames()` keeps the capture, so that
    /// its report can be read afterwards.
    pub fn frames(&mut self) -> Frames<'_, R> {
        Frames { capture: self }
    }

    /// Counts so far; complete when [`Capture::next_frame`] has returned `None`.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The interfaces met so far, those of all sections one after the other.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The format that was recognised.
    pub fn format(&self) -> Format {
        match self.state {
            State::Pcap(_) => Format::Pcap,
            State::Pcapng(_) => Format::Pcapng,
        }
    }
}

/// The rest of a capture's frames, see [`Capture::frames`].
#[derive(Debug)]
pub struct Frames<'a, R> {
    capture: &'a mut Capture<R>,
}

impl<R: Read> Iterator for Frames<'_, R> {
    type Item = Result<OwnedFrame, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.capture.next_frame() {
            Ok(frame) => frame.map(|frame| Ok(frame.to_owned())),
            Err(e) => Some(Err(e)),
        }
    }
}
