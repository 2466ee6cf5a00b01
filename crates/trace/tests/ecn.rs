//! Marking packets with "congestion experienced".

mod support;

use laxity_trace::{ECN_CE, FlowIdentity, LinkType, decode, set_ce};
use proptest::prelude::*;
use support::packet::{ethernet, v4_with, v6};

/// The checksum of an IPv4 header, computed over all of it (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).enumerate().filter(|(i, _)| *i != 5);
    let mut sum: u32 = words.map(|(_, w)| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn put_checksum(header: &mut [u8], value: u16) {
    header[10..12].copy_from_slice(&value.to_be_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..support::fixed_seed() })]

    /// Fails when options are taken for the field, or a wrong checksum is replaced by a right one.
    #[test]
    fn a_marked_header_has_the_checksum_of_a_new_one(
        head in prop::collection::vec(any::<u8>(), 20),
        options in prop::collection::vec(any::<u8>(), 0..10),
        ecn in 1u8..=3,
        error in prop_oneof![Just(0u16), any::<u16>()],
    ) {
        let options = options.repeat(4);
        let mut packet = [&head[..], &options].concat();
        packet[0] = 0x45 + (options.len() / 4) as u8;
        packet[1] = packet[1] & !3 | ecn;
        let right = checksum(&packet);
        put_checksum(&mut packet, right ^ error);
        let before = packet.clone();
        prop_assert!(set_ce(LinkType::RAW, &mut packet));
        let mut expected = before;
        expected[1] |= ECN_CE;
        if error == 0 {
            let new = checksum(&expected);
            put_checksum(&mut expected, new);
            prop_assert_eq!(packet, expected);
        } else {
            // 0 and 0xffff are the same number; neither of them is wrong where the other is right.
            let same = (right ^ error, right) == (0xffff, 0) || (right ^ error, right) == (0, 0xffff);
            let now = u16::from_be_bytes([packet[10], packet[11]]);
            let new = checksum(&packet);
            prop_assert_eq!(now == new || now ^ new == 0xffff && (now == 0 || new == 0), same);
            packet[10..12].fill(0);
            expected[10..12].fill(0);
            prop_assert_eq!(packet, expected);
        }
    }

    /// Any bytes: only the field and the checksum change, and only in packets that are ECN-capable.
    #[test]
    fn marking_changes_nothing_else(
        link in prop::sample::select(vec![0u32, 1, 12, 101, 108, 113, 228, 229, 276, 7]),
        data in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let mut marked = data.clone();
        let (before, done) = (decode(LinkType(link), &data), set_ce(LinkType(link), &mut marked));
        let after = decode(LinkType(link), &marked);
        if !done {
            prop_assert_eq!(&data, &marked);
        } else {
            prop_assert!(before.ecn != Some(0) && after.ecn == Some(ECN_CE));
            prop_assert_eq!(laxity_trace::Headers { ecn: before.ecn, ..after }, before);
            prop_assert!(data.iter().zip(&marked).filter(|(a, b)| a != b).count() <= 3);
        }
        let link = LinkType(link);
        prop_assert_eq!(FlowIdentity::of(link, &data), FlowIdentity::of(link, &marked));
    }
}

/// Every checksum, from every ECT codepoint. Fails when a carry is lost, which happens for one
/// checksum of 65536: tried with one fold.
#[test]
fn carries_reach_the_checksum() {
    for ecn in 1..=3 {
        for id in 0..=u16::MAX {
            let mut packet = v4_with(&[], 6, 0, &[]);
            packet[1] = packet[1] & !3 | ecn;
            packet[4..6].copy_from_slice(&id.to_be_bytes());
            let right = checksum(&packet);
            put_checksum(&mut packet, right);
            assert!(set_ce(LinkType::RAW, &mut packet));
            let now = u16::from_be_bytes([packet[10], packet[11]]);
            assert_eq!(now, checksum(&packet), "{ecn} {id}");
        }
    }
}

/// Fails when a packet that is not ECN-capable is marked, which would make its loss invisible to
/// the sender, or the bits of IPv6 are a nibble off.
#[test]
fn only_capable_packets_are_marked() {
    for ecn in 0..4u8 {
        let mut four = v4_with(&[1; 8], 6, 0, &[0; 8]);
        four[1] = four[1] & !3 | ecn;
        let mut six = v6(6, &[0; 8]);
        six[1] = six[1] & 0xcf | ecn << 4;
        for (kind, packet) in [(0x0800, four), (0x86dd, six)] {
            let mut frame = ethernet(&[0x88a8, 5, 0x8100, 6, kind], &packet);
            let dscp = decode(LinkType::ETHERNET, &frame).dscp;
            assert_eq!(decode(LinkType::ETHERNET, &frame).ecn, Some(ecn));
            assert_eq!(set_ce(LinkType::ETHERNET, &mut frame), ecn != 0);
            let after = decode(LinkType::ETHERNET, &frame);
            assert_eq!(after.ecn, Some(if ecn == 0 { 0 } else { ECN_CE }));
            assert_eq!(after.dscp, dscp);
        }
    }
}

#[test]
fn frames_without_a_whole_header_stay_as_they_are() {
    let mut arp = ethernet(&[0x0806], &[0xff; 28]);
    assert!(!set_ce(LinkType::ETHERNET, &mut arp));
    assert_eq!(arp, ethernet(&[0x0806], &[0xff; 28]));
    assert!(!set_ce(LinkType::RAW, &mut v4_with(&[], 6, 0, &[])[..19]));
    assert!(!set_ce(LinkType::IPV6, &mut v6(6, &[])[..1]));
    assert!(!set_ce(LinkType::IPV6, &mut v4_with(&[], 6, 0, &[])));
}
