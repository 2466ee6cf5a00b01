//! Written captures: their bytes, and that they read back.

mod support;

use laxity_trace::{
    LinkType, PcapWriter, PcapngWriter, SIM_PORT_BASE, SIM_PORTS, SimPacket, Stop, WriteError,
    decode, simulated_flow,
};
use proptest::prelude::*;
use support::{Bytes, read};

#[test]
fn pcapng_bytes() {
    let mut w = PcapngWriter::new(Vec::new()).unwrap();
    let port = w.add_interface(LinkType::ETHERNET, 96, "port").unwrap();
    w.packet(port, 0x1_0000_0002, 60, &[1, 2, 3, 4, 5], Some("late")).unwrap();
    w.packet(port, 3, 1, &[7], None).unwrap();
    let mut expected = Bytes::new(false);
    expected.section().interface(1, 96, &[(2, b"port"), (9, &[9])]);
    expected.enhanced_with(0, 0x1_0000_0002, 60, &[1, 2, 3, 4, 5], &[(1, b"late")]);
    expected.enhanced(0, 3, 1, &[7]);
    assert_eq!(w.finish().unwrap(), expected.out);
}

#[test]
fn pcap_bytes() {
    let mut w = PcapWriter::new(Vec::new(), LinkType::RAW, 96).unwrap();
    w.packet(7_000_000_009, 60, &[1, 2, 3]).unwrap();
    let mut expected = Bytes::pcap(false, 0xa1b2_3c4d, 96, 101);
    expected.record(7, 9, 60, &[1, 2, 3]);
    assert_eq!(w.finish().unwrap(), expected.out);
}

#[test]
fn unwritable_packets_are_errors() {
    let mut ng = PcapngWriter::new(Vec::new()).unwrap();
    assert!(matches!(ng.packet(0, 0, 1, &[0], None), Err(WriteError::UnknownInterface(0))));
    let link = LinkType(0x1_0000);
    assert!(matches!(ng.add_interface(link, 0, ""), Err(WriteError::LinkType(_))));
    let long = "x".repeat(65_536);
    assert!(matches!(
        ng.add_interface(LinkType::RAW, 0, &long),
        Err(WriteError::TextTooLong(65_536))
    ));
    let port = ng.add_interface(LinkType::RAW, 0, "").unwrap();
    assert_eq!(port, 0);
    assert!(matches!(ng.packet(0, 0, 1, &[0], Some(&long)), Err(WriteError::TextTooLong(_))));
    assert!(matches!(
        ng.packet(0, 0, 1, &[0, 1], None),
        Err(WriteError::ShortOriginal { captured: 2, original: 1 })
    ));
    assert!(matches!(ng.packet(0, 0, 0, &[], None), Err(WriteError::Length { .. })));
    assert!(matches!(ng.packet(0, 0, u32::MAX, &[], None), Err(WriteError::Length { .. })));
    // None of it left half a block behind.
    let file = ng.finish().unwrap();
    let (frames, report) = read(&file);
    assert!(frames.is_empty() && report.faults.is_empty());

    let mut pcap = PcapWriter::new(Vec::new(), LinkType::RAW, 0).unwrap();
    let late = (u64::from(u32::MAX) + 1) * 1_000_000_000;
    assert!(matches!(pcap.packet(late, 1, &[0]), Err(WriteError::Time { .. })));
    pcap.packet(late - 1, 1, &[0]).unwrap();
    assert_eq!(read(&pcap.finish().unwrap()).0[0].time_ns, late - 1);
}

#[test]
fn simulated_frame_bytes() {
    let frame = SimPacket { flow: 0x01_02_03, bytes: 1514, dscp: 46, sequence: 0x5_1234 };
    let frame = frame.frame().unwrap();
    assert_eq!(frame.original_len, 1514);
    let port = SIM_PORT_BASE + 0x0203;
    let mut expected = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    expected.extend([0x45, 0xb8, 0x05, 0xdc, 0x12, 0x34, 0, 0, 64, 17, 0x8a, 0x1b]);
    expected.extend([10, 1, 2, 3, 198, 18, 0, 1, 0xbf, 0xff]);
    expected.extend(port.to_be_bytes());
    expected.extend([0x05, 0xc8, 0, 0]);
    expected[24..26].copy_from_slice(&frame.bytes()[24..26]);
    assert_eq!(frame.bytes(), expected);
}

#[test]
fn simulated_frames_have_a_checksum() {
    for sequence in 0..=0xffff {
        let packet = SimPacket { flow: 0xfe_dcba, bytes: 1514, dscp: 63, sequence };
        let frame = packet.frame().unwrap();
        let words = frame.bytes()[14..34].chunks(2);
        let sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "sequence {sequence}");
    }
}

#[test]
fn simulated_frames_of_odd_lengths() {
    let lengths = |bytes| {
        let frame = SimPacket { flow: 0, bytes, dscp: 0, sequence: 0 }.frame().unwrap();
        let h = decode(LinkType::ETHERNET, frame.bytes());
        (frame.bytes().len(), frame.original_len, h.ip_len)
    };
    assert_eq!(lengths(1), (1, 1, None));
    assert_eq!(lengths(40), (40, 40, Some(28)));
    assert_eq!(lengths(42), (42, 42, Some(28)));
    assert_eq!(lengths(65_549), (42, 65_549, Some(65_535)));
    assert_eq!(lengths(65_550), (42, 65_550, None));
}

#[test]
fn simulated_flows_are_distinguished_from_others() {
    for flow in [0, 1, SIM_PORTS - 1, SIM_PORTS, 0xff_ffff] {
        let frame = SimPacket { flow, bytes: 100, dscp: 10, sequence: 1 }.frame().unwrap();
        let mut bytes = frame.bytes().to_vec();
        let h = decode(LinkType::ETHERNET, &bytes);
        assert_eq!(simulated_flow(&h), Some(flow));
        assert_eq!((h.dscp, h.stop), (Some(10), Stop::Done));
        // Another port, either one, or another protocol.
        for at in [35, 37, 23] {
            bytes[at] ^= 1;
            assert_eq!(simulated_flow(&decode(LinkType::ETHERNET, &bytes)), None);
            bytes[at] ^= 1;
        }
    }
    let over = SimPacket { flow: 1 << 24, bytes: 100, dscp: 0, sequence: 0 };
    assert!(matches!(over.frame(), Err(WriteError::FlowRange(_))));
    let over = SimPacket { flow: 0, bytes: 100, dscp: 64, sequence: 0 };
    assert!(matches!(over.frame(), Err(WriteError::DscpRange(64))));
}

#[derive(Debug, Clone)]
struct Packet {
    port: u32,
    time_ns: u64,
    original: u32,
    data: Vec<u8>,
    comment: Option<String>,
}

fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let packet = (
        0u32..3,
        0..4_294_967_296_000_000_000u64,
        1u32..20_000,
        prop::collection::vec(any::<u8>(), 0..90),
        prop::option::of("[a-zä ]{0,9}"),
    );
    let packet = packet.prop_map(|(port, time_ns, original, data, comment)| {
        let original = original.max(data.len() as u32);
        Packet { port, time_ns, original, data, comment }
    });
    prop::collection::vec(packet, 0..20)
}

proptest! {
    #![proptest_config(support::fixed_seed())]

    #[test]
    fn pcapng_round_trip(packets in packets()) {
        let links = [LinkType::ETHERNET, LinkType::RAW, LinkType::LINUX_SLL2];
        let mut w = PcapngWriter::new(Vec::new()).unwrap();
        for link in links {
            w.add_interface(link, 0, "x").unwrap();
        }
        for p in &packets {
            w.packet(p.port, p.time_ns, p.original, &p.data, p.comment.as_deref()).unwrap();
        }
        let file = w.finish().unwrap();
        let (frames, report) = read(&file);
        prop_assert!(report.faults.is_empty());
        prop_assert_eq!(frames.len(), packets.len());
        for (frame, p) in frames.iter().zip(&packets) {
            prop_assert_eq!(frame.time_ns, p.time_ns);
            prop_assert_eq!(frame.original_len, p.original);
            prop_assert_eq!(&frame.data, &p.data);
            prop_assert_eq!(frame.link_type, links[p.port as usize]);
            prop_assert_eq!(&frame.comment, &p.comment);
        }
    }

    #[test]
    fn pcap_round_trip(packets in packets()) {
        let mut w = PcapWriter::new(Vec::new(), LinkType::RAW, 0).unwrap();
        for p in &packets {
            w.packet(p.time_ns, p.original, &p.data).unwrap();
        }
        let (frames, report) = read(&w.finish().unwrap());
        prop_assert!(report.faults.is_empty());
        prop_assert_eq!(frames.len(), packets.len());
        for (frame, p) in frames.iter().zip(&packets) {
            prop_assert_eq!((frame.time_ns, frame.original_len), (p.time_ns, p.original));
            prop_assert_eq!(&frame.data, &p.data);
        }
    }

    /// Whatever one record's header turns into, no other packet is lost.
    #[test]
    fn pcap_damage_stays_local(bad in 0usize..30, at in 0usize..16, bits in 1u8..=255) {
        let mut w = PcapWriter::new(Vec::new(), LinkType::RAW, 0).unwrap();
        for n in 0..30u8 {
            w.packet(1_700_000_000_000_000_000 + u64::from(n), 60, &[n; 40]).unwrap();
        }
        let mut file = w.finish().unwrap();
        file[24 + bad * 56 + at] ^= bits;
        let numbers: Vec<_> = read(&file).0.iter().map(|f| f.data.first().copied()).collect();
        for n in 0..30u8 {
            let lost = !numbers.contains(&Some(n));
            prop_assert!(!lost || usize::from(n) == bad, "packet {} after damage to {}", n, bad);
        }
    }
}
