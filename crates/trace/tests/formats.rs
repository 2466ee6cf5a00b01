//! Both formats in every variant, from bytes built by hand.

mod support;

use laxity_trace::{Capture, CaptureError, Fault, FaultKind, Format, LinkType, Stop, decode};
use support::{Bytes, read};

const DATA: &[u8] = &[9, 8, 7, 6, 5];

#[test]
fn pcap_byte_orders_and_time_units() {
    for big in [false, true] {
        for (magic, ns) in [(0xa1b2_c3d4, 5_000_007_000), (0xa1b2_3c4d, 5_000_000_007)] {
            let file = Bytes::pcap(big, magic, 96, 101).record(5, 7, 1500, DATA).out.clone();
            let (frames, report) = read(&file);
            assert_eq!(frames.len(), 1, "big {big} magic {magic:x}");
            assert_eq!(frames[0].time_ns, ns);
            assert_eq!(frames[0].original_len, 1500);
            assert_eq!(frames[0].data, DATA);
            assert_eq!(frames[0].link_type, LinkType::RAW);
            assert_eq!(frames[0].offset, 24);
            assert!(frames[0].timed);
            assert!(report.faults.is_empty());
            assert_eq!(
                (report.captured_bytes, report.original_bytes, report.cut_frames),
                (5, 1500, 1)
            );
        }
    }
}

#[test]
fn pcap_modified_has_longer_record_headers() {
    for big in [false, true] {
        let mut b = Bytes::pcap(big, 0xa1b2_cd34, 96, 1);
        for n in 0..2 {
            b.u32(n).u32(1).u32(5).u32(5).u32(3).u16(0x800).raw(&[0, 0]).raw(DATA);
        }
        let (frames, report) = read(&b.out);
        assert_eq!(frames.iter().map(|f| f.offset).collect::<Vec<_>>(), [24, 24 + 29]);
        assert!(frames.iter().all(|f| f.data == DATA));
        assert!(report.faults.is_empty());
    }
}

#[test]
fn pcap_fcs_is_stripped() {
    // Bit 26: an FCS of 2 16-bit words in the top four bits.
    let mut b = Bytes::pcap(false, 0xa1b2_c3d4, 96, 0x2400_0001);
    b.record(1, 0, 64, &[1; 64]).record(1, 1, 68, &[1; 66]).record(1, 2, 1500, &[1; 20]);
    let (frames, _) = read(&b.out);
    let lengths: Vec<_> = frames.iter().map(|f| (f.original_len, f.data.len())).collect();
    assert_eq!(lengths, [(60, 60), (64, 64), (1496, 20)]);
    assert_eq!(frames[0].link_type, LinkType::ETHERNET);
    // Without bit 26 the top bits mean nothing.
    let b = Bytes::pcap(false, 0xa1b2_c3d4, 96, 0x2000_0001).record(1, 0, 9, DATA).out.clone();
    assert_eq!(read(&b).0[0].original_len, 9);
}

#[test]
fn pcapng_byte_orders() {
    for big in [false, true] {
        let mut b = Bytes::new(big);
        b.section().interface(1, 0, &[(2, b"uplink")]).enhanced(0, 5_000_007, 1500, DATA);
        let mut capture = Capture::open(&b.out[..]).unwrap();
        let frame = capture.next_frame().unwrap().unwrap().to_owned();
        assert_eq!((frame.time_ns, frame.original_len), (5_000_007_000, 1500));
        assert_eq!(frame.data, DATA);
        assert!(capture.next_frame().unwrap().is_none());
        assert!(capture.next_frame().unwrap().is_none());
        assert_eq!(capture.format(), Format::Pcapng);
        assert_eq!(capture.interfaces()[0].name.as_deref(), Some("uplink"));
        assert!(capture.report().faults.is_empty());
    }
}

#[test]
fn pcapng_time_resolutions() {
    let cases: [(u8, u64, u64); 9] = [
        (0, 7, 7_000_000_000),
        (3, 7, 7_000_000),
        (6, 7, 7_000),
        (9, 7, 7),
        (12, 7_999, 7),
        (127, u64::MAX, 0),
        (0x80, 7, 7_000_000_000),
        (0x80 | 10, 1536, 1_500_000_000),
        (0x80 | 127, u64::MAX, 0),
    ];
    for (resolution, units, ns) in cases {
        let mut b = Bytes::new(false);
        b.section().interface(1, 0, &[(9, &[resolution])]).enhanced(0, units, 5, DATA);
        let (frames, report) = read(&b.out);
        assert_eq!(frames[0].time_ns, ns, "if_tsresol {resolution:#x}");
        assert!(report.faults.is_empty());
    }
}

#[test]
fn pcapng_time_offset_and_range() {
    for big in [false, true] {
        let mut b = Bytes::new(big);
        let mut offset = Bytes::new(big);
        offset.u64(-3i64 as u64);
        b.section().interface(1, 0, &[(14, &offset.out)]);
        b.enhanced(0, 5_000_000, 5, DATA).enhanced(0, 2_000_000, 5, DATA);
        b.interface(1, 0, &[]).enhanced(1, u64::MAX, 5, DATA);
        let (frames, report) = read(&b.out);
        let times: Vec<_> = frames.iter().map(|f| f.time_ns).collect();
        assert_eq!(times, [2_000_000_000, 0, u64::MAX]);
        let kinds: Vec<_> = report.faults.kept().iter().map(|f| f.kind).collect();
        assert_eq!(kinds, [FaultKind::TimeRange, FaultKind::TimeRange]);
        assert_eq!(report.order.backwards, 1);
    }
}

#[test]
fn pcapng_simple_and_obsolete_packets() {
    for big in [false, true] {
        let mut b = Bytes::new(big);
        b.section().interface(101, 4, &[]);
        let mut old = Bytes::new(big);
        old.u16(0).u16(3).u32(0).u32(1_000_000).u32(5).u32(60).raw(DATA);
        b.block(2, &old.out);
        // A simple packet's captured length follows from the interface's limit of 4.
        let mut simple = Bytes::new(big);
        simple.u32(60).raw(&DATA[..4]);
        b.block(3, &simple.out).block(3, &simple.out);
        let (frames, report) = read(&b.out);
        assert_eq!(frames.len(), 3);
        assert_eq!((frames[0].time_ns, frames[0].original_len), (1_000_000_000, 60));
        assert_eq!(frames[0].data, DATA);
        assert!(frames[0].timed && !frames[1].timed);
        assert_eq!((frames[1].time_ns, frames[1].original_len), (1_000_000_000, 60));
        assert_eq!(frames[1].data, &DATA[..4]);
        assert_eq!(report.untimed_frames, 2);
        // Reported once, not for every packet.
        assert_eq!(report.faults.total(), 1);
        assert_eq!(report.faults.kept()[0].kind, FaultKind::NoTime);
    }
}

#[test]
fn pcapng_interfaces_sections_and_unknown_blocks() {
    let mut b = Bytes::new(false);
    b.section().block(0x0bad, &[1; 17]).interface(1, 0, &[]).interface(113, 0, &[(9, &[9])]);
    b.block(4, &[0; 8]).enhanced(1, 10, 5, DATA).enhanced(0, 10, 5, DATA);
    // The next section has the other byte order and interfaces of its own.
    b.big = true;
    b.section().interface(276, 0, &[(9, &[9])]).block(5, &[0; 12]).enhanced(0, 20_000, 5, DATA);
    let (frames, report) = read(&b.out);
    let seen: Vec<_> = frames.iter().map(|f| (f.link_type.0, f.interface, f.time_ns)).collect();
    assert_eq!(seen, [(113, 1, 10), (1, 0, 10_000), (276, 2, 20_000)]);
    assert!(report.faults.is_empty());
}

#[test]
fn pcapng_comments_and_fcs() {
    let mut b = Bytes::new(true);
    b.section().interface(1, 0, &[(13, &[4])]);
    b.enhanced_with(0, 0, 64, &[0; 64], &[(1, b"first"), (1, b"second")]);
    // Flags with an FCS length of 2 among others that are set, and of 0, which is unspecified.
    for bits in [0xffff_001f | 2 << 5, 0xffff_001f] {
        let flags = Bytes::new(true).u32(bits).out.clone();
        b.enhanced_with(0, 0, 64, &[0; 64], &[(2, &flags)]);
    }
    b.enhanced_with(0, 0, 64, &[0; 33], &[(1, &[0xff])]);
    let (frames, _) = read(&b.out);
    assert_eq!(frames[0].comment.as_deref(), Some("first"));
    let lengths: Vec<_> = frames.iter().map(|f| (f.original_len, f.data.len())).collect();
    assert_eq!(lengths, [(60, 60), (62, 62), (60, 60), (60, 33)]);
    assert_eq!(frames[3].comment, None);
}

#[test]
fn long_interface_names_are_cut() {
    let b = Bytes::new(false).section().interface(1, 0, &[(2, &[b'x'; 400])]).out.clone();
    let mut capture = Capture::open(&b[..]).unwrap();
    assert!(capture.next_frame().unwrap().is_none());
    assert_eq!(capture.interfaces()[0].name.as_deref(), Some(&*"x".repeat(256)));
}

#[test]
fn pcapng_of_another_program_is_read() {
    // Made with editcap from captures/cooked-sll2.pcap: options we do not write.
    let file = include_bytes!("data/editcap.pcapng");
    let (frames, report) = read(file);
    assert_eq!(frames.len(), 6);
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    for frame in &frames {
        assert_eq!(frame.link_type, LinkType::LINUX_SLL2);
        assert_eq!(decode(frame.link_type, &frame.data).stop, Stop::Done);
    }
    // As `tshark -T fields -e frame.time_epoch -e frame.len` prints.
    let first = include_str!("data/editcap.txt");
    let ours: Vec<_> = frames.iter().map(|f| format!("{} {}", f.time_ns, f.original_len)).collect();
    assert_eq!(ours, first.lines().collect::<Vec<_>>());
}

#[test]
fn order_is_reported_and_kept() {
    let mut b = Bytes::pcap(false, 0xa1b2_3c4d, 96, 1);
    for frac in [500, 100, 200, 150, 150, 160] {
        b.record(1, frac, 5, DATA);
    }
    let (frames, report) = read(&b.out);
    let times: Vec<_> = frames.iter().map(|f| f.time_ns - 1_000_000_000).collect();
    assert_eq!(times, [500, 100, 200, 150, 150, 160]);
    assert_eq!(report.order.backwards, 2);
    assert_eq!(report.order.worst_ns, 400);
    assert_eq!(report.order.first_offset, Some(24 + 21));
    assert_eq!(report.time_span_ns, Some((1_000_000_100, 1_000_000_500)));
}

#[test]
fn unknown_versions_are_reported() {
    let faults = |file: &[u8]| read(file).1.faults.kept().to_vec();
    let mut pcap = Bytes::pcap(false, 0xa1b2_c3d4, 96, 1).record(1, 0, 5, DATA).out.clone();
    pcap[6] = 3;
    let kind = FaultKind::Version { major: 2, minor: 3 };
    assert_eq!(faults(&pcap), [Fault { offset: 0, kind }]);
    for (major, minor, known) in [(1, 0, true), (1, 2, true), (1, 1, false), (2, 0, false)] {
        let mut b = Bytes::new(true);
        b.section().interface(1, 0, &[]).enhanced(0, 0, 5, DATA);
        (b.out[13], b.out[15]) = (major, minor);
        let (major, minor) = (major.into(), minor.into());
        let fault = Fault { offset: 0, kind: FaultKind::Version { major, minor } };
        assert_eq!(faults(&b.out), if known { vec![] } else { vec![fault] });
    }
}

#[test]
fn other_file_formats_are_named() {
    let message = |bytes: &[u8]| match Capture::open(bytes) {
        Ok(_) => String::new(),
        Err(e) => e.to_string(),
    };
    assert!(matches!(Capture::open(&[][..]), Err(CaptureError::Empty)));
    assert!(message(&[0x1f, 0x8b, 8, 0]).contains("decompress it first, with gunzip"));
    assert!(message(&[0x28, 0xb5, 0x2f, 0xfd, 0]).contains("unzstd"));
    assert!(message(b"snoop\0\0\0").contains("snoop"));
    assert!(message(b"time_ns,bytes").contains("74 69 6d 65"));
    assert!(message(&[0xa1, 0xb2]).contains("after 2 of the 24 bytes"));
    assert!(message(&Bytes::pcap(true, 0xa1b2_c3d4, 0, 1).out[..20]).contains("20 of the 24"));
    assert!(message(&[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0]).contains("8 of the 28"));
    assert!(message(&[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 1, 2, 3, 4]).contains("0a 0d 0d 0a"));
}

#[test]
fn a_read_error_ends_the_capture() {
    /// Fails once, then pretends to be at its end.
    struct Fails(Vec<u8>, bool);
    impl std::io::Read for Fails {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() {
                let failed = std::mem::replace(&mut self.1, true);
                return if failed { Ok(0) } else { Err(std::io::Error::other("unplugged")) };
            }
            let n = buf.len().min(self.0.len());
            buf[..n].copy_from_slice(&self.0[..n]);
            self.0.drain(..n);
            Ok(n)
        }
    }
    let b = Bytes::pcap(false, 0xa1b2_c3d4, 96, 1).record(1, 0, 5, DATA).u32(1).out.clone();
    let mut capture = Capture::open(Fails(b, false)).unwrap();
    assert!(capture.next_frame().unwrap().is_some());
    let error = capture.next_frame().unwrap_err();
    assert!(matches!(error, CaptureError::Io { offset: 45, .. }), "{error}");
    assert!(capture.next_frame().unwrap().is_none());
}
