//! Cut and corrupt captures: faults are reported with their offset, the rest is used.

mod support;

use laxity_trace::{BadBlock, BadHeader, Fault, FaultKind, MAX_FAULTS, MAX_RECORD_BYTES};
use support::{Bytes, read};

/// Bytes of one record of `pcap`.
const RECORD: usize = 16 + 40;

/// Records a millisecond apart with their number as data.
fn pcap(records: u8, big: bool) -> Vec<u8> {
    let mut b = Bytes::pcap(big, 0xa1b2_c3d4, 96, 1);
    for n in 0..records {
        b.record(1_700_000_000, u32::from(n) * 1000, 60, &[n | 0x80; 40]);
    }
    b.out
}

fn start(record: usize) -> usize {
    24 + record * RECORD
}

/// The numbers of the records that were read, and the faults.
fn outcome(file: &[u8]) -> (Vec<u8>, Vec<Fault>) {
    let (frames, report) = read(file);
    let numbers = frames.iter().map(|f| f.data[0] & 0x7f).collect();
    (numbers, report.faults.kept().to_vec())
}

fn put(file: &mut [u8], at: usize, value: u32) {
    file[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn pcap_cut_anywhere() {
    let file = pcap(4, false);
    for length in 24..file.len() {
        let (numbers, faults) = outcome(&file[..length]);
        let whole = (length - 24) / RECORD;
        let have = (length - start(whole)) as u64;
        assert_eq!(numbers.len(), whole, "cut to {length}");
        let need = if have < 16 { 16 } else { RECORD as u64 };
        let expected =
            Fault { offset: start(whole) as u64, kind: FaultKind::Truncated { have, need } };
        assert_eq!(faults, if have == 0 { vec![] } else { vec![expected] }, "cut to {length}");
    }
}

#[test]
fn pcap_resynchronises_after_a_bad_header() {
    let fields = [
        (8, u32::MAX, BadHeader::CapturedLength(u32::MAX)),
        (8, MAX_RECORD_BYTES + 1, BadHeader::CapturedLength(MAX_RECORD_BYTES + 1)),
        (12, 0, BadHeader::OriginalLength(0)),
        (12, 0x4000_003c, BadHeader::OriginalLength(0x4000_003c)),
        (4, 1_000_000, BadHeader::Fraction(1_000_000)),
    ];
    for (field, value, reason) in fields {
        let mut file = pcap(6, false);
        put(&mut file, start(2) + field, value);
        let (numbers, faults) = outcome(&file);
        assert_eq!(numbers, [0, 1, 3, 4, 5], "{reason:?}");
        let kind = FaultKind::BadRecord { reason, skipped: RECORD as u64, resumed: true };
        assert_eq!(faults, [Fault { offset: start(2) as u64, kind }]);
    }
}

#[test]
fn pcap_resynchronises_in_big_endian_and_at_the_start_and_end() {
    for bad in 0..6 {
        let mut file = pcap(6, true);
        file[start(bad) + 8] = 0xff;
        let (numbers, faults) = outcome(&file);
        let expected: Vec<u8> = (0..6).filter(|n| usize::from(*n) != bad).collect();
        assert_eq!(numbers, expected);
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].offset, start(bad) as u64);
        let resumed = bad < 5;
        assert!(matches!(
            faults[0].kind,
            FaultKind::BadRecord { skipped: 56, resumed: r, .. } if r == resumed
        ));
    }
}

#[test]
fn pcap_length_past_the_end_is_distinguished_from_truncation() {
    let mut file = pcap(6, false);
    put(&mut file, start(3) + 8, 5000);
    put(&mut file, start(3) + 12, 5000);
    let (numbers, faults) = outcome(&file);
    assert_eq!(numbers, [0, 1, 2, 4, 5]);
    let reason = BadHeader::PastEnd(5000);
    let kind = FaultKind::BadRecord { reason, skipped: RECORD as u64, resumed: true };
    assert_eq!(faults, [Fault { offset: start(3) as u64, kind }]);
}

#[test]
fn pcap_with_a_hole_of_zeros_or_noise() {
    for (filler, length) in [(0, 100), (0, 4096), (0xff, 4096), (0x01, 70_000)] {
        let mut file = pcap(6, false);
        file.splice(start(3)..start(3), vec![filler; length]);
        let (numbers, faults) = outcome(&file);
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5], "{length} times {filler:#x}");
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].offset, start(3) as u64);
        assert!(matches!(
            faults[0].kind,
            FaultKind::BadRecord { skipped, resumed: true, .. } if skipped == length as u64
        ));
    }
}

#[test]
fn pcap_resynchronisation_ignores_lookalike_records() {
    let other_day = Bytes::new(false)
        .record(1_000_000_000, 0, 60, &[1; 4])
        .record(1_000_000_000, 1, 60, &[2; 4])
        .out
        .clone();
    let alone =
        Bytes::new(false).record(1_700_000_000, 0, 60, &[3; 4]).raw(&[0xff; 20]).out.clone();
    let empty = Bytes::new(false)
        .record(1_700_000_000, 0, 60, &[])
        .record(1_700_000_000, 0, 60, &[])
        .out
        .clone();
    for decoy in [other_day, alone, empty] {
        let mut file = pcap(4, false);
        let hole = [&[0xff; 16][..], &decoy, &[0xff; 16]].concat();
        file.splice(start(2)..start(2), hole.iter().copied());
        let (numbers, faults) = outcome(&file);
        assert_eq!(numbers, [0, 1, 2, 3]);
        assert_eq!(faults.len(), 1);
        assert!(matches!(
            faults[0].kind,
            FaultKind::BadRecord { skipped, resumed: true, .. } if skipped == hole.len() as u64
        ));
    }
}

#[test]
fn pcap_damaged_and_cut() {
    let mut file = pcap(3, false);
    put(&mut file, start(1) + 8, u32::MAX);
    file.extend([0; 5]);
    let (numbers, faults) = outcome(&file);
    assert_eq!(numbers, [0, 2]);
    assert_eq!(faults.len(), 2);
    assert_eq!(faults[1].offset, start(3) as u64);
    assert_eq!(faults[1].kind, FaultKind::Truncated { have: 5, need: 16 });
}

#[test]
fn pcap_with_a_lost_byte_loses_one_record() {
    let mut file = pcap(6, false);
    file.remove(start(2) + 20);
    let (numbers, faults) = outcome(&file);
    assert_eq!(numbers, [0, 1, 3, 4, 5]);
    let reason = BadHeader::Overlap(40);
    let kind = FaultKind::BadRecord { reason, skipped: RECORD as u64 - 1, resumed: true };
    assert_eq!(faults, [Fault { offset: start(2) as u64, kind }]);
}

#[test]
fn pcap_length_over_other_records() {
    // Into the middle of a record, and exactly over two of them.
    for length in [97, 40 + 2 * RECORD as u32] {
        let mut file = pcap(6, false);
        put(&mut file, start(1) + 8, length);
        let (numbers, faults) = outcome(&file);
        assert_eq!(numbers, [0, 2, 3, 4, 5], "length {length}");
        let reason = BadHeader::Overlap(length);
        let kind = FaultKind::BadRecord { reason, skipped: RECORD as u64, resumed: true };
        assert_eq!(faults, [Fault { offset: start(1) as u64, kind }]);
    }
    // Too short: the record is used as far as it goes, and the next one is found.
    let mut file = pcap(6, false);
    put(&mut file, start(1) + 8, 30);
    let (numbers, faults) = outcome(&file);
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].offset, start(2) as u64 - 10);
}

#[test]
fn short_original_length_is_raised() {
    let mut b = Bytes::pcap(false, 0xa1b2_c3d4, 96, 1);
    b.record(1, 0, 4, &[1; 40]);
    let (frames, report) = read(&b.out);
    assert_eq!(frames[0].original_len, 40);
    let kind = FaultKind::ShortOriginal { original: 4, captured: 40 };
    assert_eq!(report.faults.kept(), [Fault { offset: 24, kind }]);
    let mut b = Bytes::new(false);
    b.section().interface(1, 0, &[]);
    let offset = b.out.len() as u64;
    b.enhanced(0, 0, 4, &[1; 40]);
    let (frames, report) = read(&b.out);
    assert_eq!((frames[0].original_len, frames[0].data.len()), (40, 40));
    assert_eq!(report.faults.kept(), [Fault { offset, kind }]);
}

/// Section, interface and packets a millisecond apart; and where each packet starts.
fn pcapng(packets: u8, big: bool) -> (Vec<u8>, Vec<usize>) {
    let mut b = Bytes::new(big);
    b.section().interface(1, 0, &[(2, b"eth0")]);
    let mut starts = Vec::new();
    for n in 0..packets {
        starts.push(b.out.len());
        b.enhanced(0, 1_700_000_000_000_000 + u64::from(n) * 1000, 60, &[n | 0x80; 39]);
    }
    starts.push(b.out.len());
    (b.out, starts)
}

#[test]
fn pcapng_cut_anywhere() {
    let (file, starts) = pcapng(3, false);
    for length in starts[0]..file.len() {
        let (numbers, faults) = outcome(&file[..length]);
        let whole = starts.iter().filter(|s| **s <= length).count() - 1;
        assert_eq!(numbers.len(), whole, "cut to {length}");
        let have = (length - starts[whole]) as u64;
        let need = if have < 12 { 12 } else { (starts[1] - starts[0]) as u64 };
        let kind = FaultKind::Truncated { have, need };
        let expected = Fault { offset: starts[whole] as u64, kind };
        assert_eq!(faults, if have == 0 { vec![] } else { vec![expected] }, "cut to {length}");
    }
}

#[test]
fn pcapng_resynchronises_after_a_bad_length() {
    for big in [false, true] {
        for length in [0, 8, 70, 0x7fff_fffc] {
            let (mut file, starts) = pcapng(5, big);
            let bytes = if big { u32::to_be_bytes(length) } else { length.to_le_bytes() };
            file[starts[2] + 4..starts[2] + 8].copy_from_slice(&bytes);
            let (numbers, faults) = outcome(&file);
            assert_eq!(numbers, [0, 1, 3, 4], "length {length}");
            let skipped = (starts[3] - starts[2]) as u64;
            let reason = BadBlock::Length(length);
            let kind = FaultKind::BadBlock { reason, skipped, resumed: true };
            assert_eq!(faults, [Fault { offset: starts[2] as u64, kind }]);
        }
    }
}

#[test]
fn pcapng_plausible_but_wrong_lengths() {
    let (file, starts) = pcapng(5, false);
    let true_length = (starts[1] - starts[0]) as u32;
    // Shorter and longer within the file: the end of the block gives it away.
    for length in [32, true_length + 4, 2 * true_length - 4] {
        let mut file = file.clone();
        put(&mut file, starts[1] + 4, length);
        let (numbers, faults) = outcome(&file);
        assert_eq!(numbers, [0, 2, 3, 4], "length {length}");
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].offset, starts[1] as u64);
        assert!(matches!(
            faults[0].kind,
            FaultKind::BadBlock { reason: BadBlock::Trailer { length: l, .. }, skipped, .. }
                if l == length && skipped == u64::from(true_length)
        ));
    }
    // Past the end.
    let mut past = file.clone();
    put(&mut past, starts[1] + 4, 4000);
    let (numbers, faults) = outcome(&past);
    assert_eq!(numbers, [0, 2, 3, 4]);
    assert!(matches!(
        faults[..],
        [Fault { kind: FaultKind::BadBlock { reason: BadBlock::PastEnd(4000), .. }, .. }]
    ));
}

#[test]
fn pcapng_wrong_trailer_alone_loses_no_packet() {
    for packet in 0..3 {
        let (mut file, starts) = pcapng(3, false);
        let length = (starts[1] - starts[0]) as u32;
        put(&mut file, starts[packet + 1] - 4, 77);
        let (numbers, faults) = outcome(&file);
        assert_eq!(numbers, [0, 1, 2]);
        let kind = FaultKind::BadTrailer { length, trailer: 77 };
        assert_eq!(faults, [Fault { offset: starts[packet] as u64, kind }]);
    }
}

#[test]
fn pcapng_packet_longer_than_its_block_is_left_out() {
    let (mut file, starts) = pcapng(3, false);
    put(&mut file, starts[1] + 20, 41);
    let (numbers, faults) = outcome(&file);
    assert_eq!(numbers, [0, 2]);
    let kind = FaultKind::BadContents { block: 6 };
    assert_eq!(faults, [Fault { offset: starts[1] as u64, kind }]);
}

#[test]
fn pcapng_unknown_interface() {
    let (mut file, starts) = pcapng(3, false);
    put(&mut file, starts[1] + 8, 4);
    let (numbers, faults) = outcome(&file);
    assert_eq!(numbers, [0, 2]);
    let kind = FaultKind::UnknownInterface { id: 4, known: 1 };
    assert_eq!(faults, [Fault { offset: starts[1] as u64, kind }]);
}

#[test]
fn pcapng_section_without_byte_order() {
    let mut b = Bytes::new(false);
    b.section().interface(1, 0, &[]).enhanced(0, 1, 60, &[0x80; 39]);
    let bad = b.out.len();
    b.section();
    put(&mut b.out, bad + 8, 0x1111_1111);
    b.section().interface(1, 0, &[]).enhanced(0, 2, 60, &[0x81; 39]);
    let (numbers, faults) = outcome(&b.out);
    assert_eq!(numbers, [0, 1]);
    let reason = BadBlock::ByteOrder(0x1111_1111);
    let kind = FaultKind::BadBlock { reason, skipped: 28, resumed: true };
    assert_eq!(faults, [Fault { offset: bad as u64, kind }]);
}

#[test]
fn faults_are_bounded_and_counted() {
    let mut b = Bytes::pcap(false, 0xa1b2_c3d4, 96, 1);
    for _ in 0..1000 {
        b.record(1, 0, 4, &[1; 40]);
    }
    let (frames, report) = read(&b.out);
    assert_eq!(frames.len(), 1000);
    assert_eq!(report.faults.kept().len(), MAX_FAULTS);
    assert_eq!(report.faults.total(), 1000);
}

#[test]
fn faults_name_offset_and_remedy() {
    let file = pcap(2, false);
    let (_, faults) = outcome(&file[..file.len() - 1]);
    assert_eq!(
        faults[0].to_string(),
        "offset 80: the file ends after 55 of 56 bytes; copy the file again, or go on without its last packet"
    );
    let mut file = pcap(3, false);
    put(&mut file, start(1) + 8, u32::MAX);
    let (_, faults) = outcome(&file);
    let text = faults[0].to_string();
    assert!(text.starts_with("offset 80: no record header (captured length 4294967295)"), "{text}");
    assert!(text.contains("skipped 56 bytes; copy the file again"), "{text}");
}
