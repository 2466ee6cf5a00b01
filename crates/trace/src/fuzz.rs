//! Entry points for fuzzers: each takes any bytes and must return, without a panic.

use std::io::Read;

use crate::rt_app::{self, MAX_STEPS};
use crate::sched::Recorded;
use crate::{
    Capture, CsvTrace, ECN_CE, FlowIdentity, Fragment, Headers, LinkType, Stop, decode, set_ce,
};

/// A reader that returns a few bytes at a time, to reach the seams of buffers.
struct ShortReads<'a>(&'a [u8]);

impl Read for ShortReads<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = buf.len().min(self.0.len()).min(7);
        let (head, rest) = self.0.split_at(n);
        buf[..n].copy_from_slice(head);
        self.0 = rest;
        Ok(n)
    }
}

/// Reads `data` as a capture and decodes its frames.
pub fn capture(data: &[u8]) {
    let whole = read_capture(data);
    // How the bytes arrive must not matter.
    assert_eq!(whole, read_capture(ShortReads(data)));
}

fn read_capture(reader: impl Read) -> Option<(u64, u64)> {
    let mut capture = Capture::open(reader).ok()?;
    let mut frames = 0;
    let mut next_offset = 0;
    while let Ok(Some(frame)) = capture.next_frame() {
        frames += 1;
        assert!(frame.data.len() <= frame.original_len as usize);
        // Every frame takes bytes of its own: reading ends.
        assert!(frame.offset >= next_offset);
        next_offset = frame.offset + 12;
        check(&decode(frame.link_type, frame.data), frame.data);
    }
    assert_eq!(frames, capture.report().frames);
    assert!(capture.report().faults.kept().len() <= crate::MAX_FAULTS);
    Some((frames, capture.report().faults.total()))
}

/// A link type, chosen by the first byte, and the frame after it.
fn frame(data: &[u8]) -> Option<(LinkType, &[u8])> {
    const LINKS: [u32; 12] = [1, 113, 276, 101, 0, 108, 228, 229, 12, 14, 7, u32::MAX];
    let (&choice, data) = data.split_first()?;
    Some((LinkType(LINKS[usize::from(choice) % LINKS.len()]), data))
}

/// Finds the flow of `data` as a frame and marks it: the first byte chooses the link type.
pub fn flow(data: &[u8]) {
    let Some((link, data)) = frame(data) else { return };
    let (headers, identity) = (decode(link, data), FlowIdentity::of(link, data));
    if let FlowIdentity::Ip { src, dst, .. } = identity {
        assert_eq!(src.is_ipv4(), dst.is_ipv4());
        assert!(headers.src.is_some() && headers.dst.is_some());
    }
    assert_eq!(identity.to_bytes() == [0; 40], identity == FlowIdentity::NotIp);
    let mut marked = data.to_vec();
    if set_ce(link, &mut marked) {
        assert!(headers.ecn.is_some_and(|ecn| ecn != 0));
        assert_eq!(decode(link, &marked), Headers { ecn: Some(ECN_CE), ..headers });
        assert_eq!(FlowIdentity::of(link, &marked), identity);
    } else {
        assert_eq!(marked, data);
    }
}

/// Decodes `data` as a frame: the first byte chooses the link type.
pub fn decode_frame(data: &[u8]) {
    let Some((link, data)) = frame(data) else { return };
    let whole = decode(link, data);
    check(&whole, data);
    // A prefix yields no field that the whole frame does not yield.
    let half = decode(link, &data[..data.len() / 2]);
    for (part, full) in [(half.sport, whole.sport), (half.dport, whole.dport)] {
        assert!(part.is_none() || part == full);
    }
    assert!(half.dscp.is_none() || half.dscp == whole.dscp);
    assert!(half.dst.is_none() || half.dst == whole.dst);
}

fn check(headers: &Headers, data: &[u8]) {
    assert!(headers.stop_offset as usize <= data.len());
    assert!(headers.dscp.is_none_or(|dscp| dscp < 64));
    assert_eq!(headers.sport.is_some(), headers.dport.is_some());
    assert!(headers.fragment != Fragment::Later || headers.sport.is_none());
    assert!(headers.stop != Stop::Done || headers.five_tuple().is_some());
}

/// Reads `data` as a trace.
pub fn csv(data: &[u8]) {
    let whole = read_csv(data);
    assert_eq!(whole, read_csv(ShortReads(data)));
}

fn read_csv(reader: impl Read) -> Result<u64, String> {
    let mut trace = CsvTrace::open(reader).map_err(|e| e.to_string())?;
    let (mut rows, mut before) = (0, 0);
    while let Some(row) = trace.next_row().map_err(|e| e.to_string())? {
        assert!(row.bytes > 0 && !row.flow.is_empty() && row.time_ns >= before);
        before = row.time_ns;
        rows += 1;
    }
    Ok(rows)
}

/// Reads `data` as a recorded schedule, and as a workload of rt-app.
pub fn recording(data: &[u8]) {
    schedule(data);
    workload(data);
}

/// Reads `data` as a recorded schedule; returns whether it is valid.
pub fn schedule(data: &[u8]) -> bool {
    match Recorded::read(data) {
        Ok(recorded) => {
            assert!(recorded.threads.iter().all(|t| !t.bursts.is_empty()));
            true
        }
        Err(error) => {
            assert!(error.line <= newlines(data) + 2, "{error}");
            false
        }
    }
}

/// Reads `data` as a workload of rt-app; returns whether it is valid.
pub fn workload(data: &[u8]) -> bool {
    match rt_app::read(&String::from_utf8_lossy(data)) {
        Ok(app) => {
            assert!(!app.threads.is_empty());
            assert!(app.threads.iter().all(|t| t.steps.len() <= MAX_STEPS));
            true
        }
        Err(error) => {
            assert!(error.line >= 1 && error.line <= newlines(data) + 1, "{error}");
            false
        }
    }
}

fn newlines(data: &[u8]) -> u64 {
    data.iter().filter(|byte| **byte == b'\n').count() as u64
}
