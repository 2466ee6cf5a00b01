//! Memory stays bounded, however long a capture is and whatever lengths it claims.
//!
//! One test, so that the process's peak is that of this reading alone.

mod support;

use std::io::{Read, repeat};

use laxity_trace::{Capture, CsvTrace, FaultKind, MAX_BLOCK_BYTES};
use support::Bytes;

/// Repeats bytes without an end.
struct Cycle(Vec<u8>, usize);

impl Read for Cycle {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = buf.len().min(self.0.len() - self.1);
        buf[..n].copy_from_slice(&self.0[self.1..self.1 + n]);
        self.1 = (self.1 + n) % self.0.len();
        Ok(n)
    }
}

const LONG: u64 = 128 << 20;

#[test]
fn bounded_memory() {
    let Some(before) = support::peak_memory() else { return };
    let grown = || support::peak_memory().unwrap_or(before) - before;

    // Many records.
    let head = Bytes::pcap(false, 0xa1b2_c3d4, 96, 1).out;
    let record = Bytes::new(false).record(1, 0, 96, &[0; 96]).out.clone();
    let records = Cycle(record.repeat(100), 0).take(LONG);
    let mut capture = Capture::open(head.chain(records)).unwrap();
    while capture.next_frame().unwrap().is_some() {}
    assert_eq!(capture.report().frames, LONG / 112);
    assert!(grown() < 4 << 20, "{} bytes more for many records", grown());

    // Noise, in which no record is found, and in which plausible ones start everywhere.
    for noise in [0xff, 0x01, 0x00] {
        let head =
            Bytes::pcap(false, 0xa1b2_c3d4, 96, 1).record(0x0101_0101, 0, 9, &[1]).out.clone();
        let mut capture = Capture::open(head.chain(repeat(noise).take(LONG / 4))).unwrap();
        while capture.next_frame().unwrap().is_some() {}
        assert!(!capture.report().faults.is_empty());
    }
    assert!(grown() < 8 << 20, "{} bytes more for noise", grown());

    // Records that each claim a megabyte.
    let mut many = Bytes::new(false);
    many.u32(1).u32(0).u32(1 << 20).u32(1 << 20).raw(&[0; 16]);
    let head = Bytes::pcap(false, 0xa1b2_c3d4, 96, 1).out;
    let mut capture = Capture::open(head.chain(Cycle(many.out, 0).take(LONG / 8))).unwrap();
    while capture.next_frame().unwrap().is_some() {}
    assert!(grown() < 12 << 20, "{} bytes more for long records", grown());

    // An endless block behind a plausible length.
    let mut b = Bytes::new(false);
    b.section().u32(6).u32(MAX_BLOCK_BYTES);
    let mut capture = Capture::open(b.out.chain(repeat(0).take(LONG / 4))).unwrap();
    assert!(capture.next_frame().unwrap().is_none());
    assert!(matches!(
        capture.report().faults.kept()[0].kind,
        FaultKind::BadBlock { resumed: false, .. }
    ));
    assert!(grown() < 40 << 20, "{} bytes more for a long block", grown());

    // More interfaces than are kept.
    let interface = Bytes::new(false).interface(1, 0, &[]).out.clone();
    let head = Bytes::new(false).section().out.clone();
    let mut capture = Capture::open(head.chain(Cycle(interface, 0).take(LONG / 2))).unwrap();
    assert!(capture.next_frame().unwrap().is_none());
    assert_eq!(capture.interfaces().len(), laxity_trace::MAX_INTERFACES);

    // A trace of many lines.
    let lines = Cycle(b"7,1500,voice\n".repeat(50), 0).take(LONG / 4);
    let mut trace = CsvTrace::open(b"time_ns,bytes,flow\n".chain(lines)).unwrap();
    let mut rows = 0;
    while let Ok(Some(_)) = trace.next_row() {
        rows += 1;
    }
    assert_eq!(rows, LONG / 4 / 13);
    assert!(grown() < 44 << 20, "{} bytes more in all", grown());
}
