//! Headers of hand-built frames of every link type, and of their prefixes.

mod support;

use std::net::IpAddr;

use laxity_trace::{Fragment, Headers, LinkType, Stop, VlanTag, decode};
use proptest::prelude::*;
use support::packet::{ethernet, v4, v4_with, v6};

const V4: u16 = 0x0800;
const V6: u16 = 0x86dd;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Ports 5004 and 443, and four bytes more.
const PORTS: [u8; 8] = [0x13, 0x8c, 0x01, 0xbb, 0, 8, 0, 0];

/// Asserts the fields of [`v4`] with [`PORTS`] over UDP.
fn assert_v4(h: &Headers, network_offset: u32) {
    assert_eq!((h.ip_version, h.dscp, h.ecn), (Some(4), Some(34), Some(1)));
    assert_eq!((h.src, h.dst), (Some(ip("10.1.2.3")), Some(ip("192.0.2.9"))));
    assert_eq!((h.protocol, h.sport, h.dport), (Some(17), Some(5004), Some(443)));
    assert_eq!(h.network_offset, Some(network_offset));
    assert_eq!(h.transport_offset, Some(network_offset + 20));
    assert_eq!(h.ip_len, Some(28));
    assert_eq!(h.fragment, Fragment::Whole);
    assert_eq!((h.stop, h.stop_offset), (Stop::Done, network_offset + 24));
}

fn assert_v6(h: &Headers, network_offset: u32) {
    assert_eq!((h.ip_version, h.dscp, h.ecn), (Some(6), Some(46), Some(2)));
    assert_eq!((h.src, h.dst), (Some(ip("2001:db8::1")), Some(ip("2001:db8::2"))));
    assert_eq!((h.protocol, h.sport, h.dport), (Some(17), Some(5004), Some(443)));
    assert_eq!(h.network_offset, Some(network_offset));
    assert_eq!(h.stop, Stop::Done);
}

#[test]
fn ethernet_and_vlan_tags() {
    let packet = v4(17, 0, &PORTS);
    let h = decode(LinkType::ETHERNET, &ethernet(&[V4], &packet));
    assert_v4(&h, 14);
    assert_eq!(h.ethertype, Some(V4));
    assert!(h.vlan.tags().is_empty());
    assert_v6(&decode(LinkType::ETHERNET, &ethernet(&[V6], &v6(17, &PORTS))), 14);

    let h = decode(LinkType::ETHERNET, &ethernet(&[0x8100, 0xa064, V4], &packet));
    assert_v4(&h, 18);
    assert_eq!(h.vlan.tags(), [VlanTag { tpid: 0x8100, id: 100, pcp: 5, dei: false }]);

    let kinds = [0x88a8, 0x3fff, 0x8100, 0xe001, V6];
    let h = decode(LinkType::ETHERNET, &ethernet(&kinds, &v6(17, &PORTS)));
    assert_v6(&h, 22);
    let outer = VlanTag { tpid: 0x88a8, id: 4095, pcp: 1, dei: true };
    let inner = VlanTag { tpid: 0x8100, id: 1, pcp: 7, dei: false };
    assert_eq!(h.vlan.tags(), [outer, inner]);

    // More tags than are kept.
    let mut kinds = [0x8100, 7].repeat(6);
    kinds.push(V4);
    let h = decode(LinkType::ETHERNET, &ethernet(&kinds, &packet));
    assert_eq!(h.vlan.tags().len(), 4);
    assert_v4(&h, 14 + 24);
}

#[test]
fn snap_and_pppoe() {
    let packet = v4(17, 0, &PORTS);
    let snap = [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &packet].concat();
    for length in [36, 0x5ff] {
        assert_v4(&decode(LinkType::ETHERNET, &ethernet(&[length], &snap)), 22);
    }
    assert_eq!(decode(LinkType::ETHERNET, &ethernet(&[0x600], &snap)).stop, Stop::NotIp);
    let session = [&[0x11, 0, 0, 1, 0, 30, 0, 0x21][..], &packet].concat();
    let h = decode(LinkType::ETHERNET, &ethernet(&[0x8864], &session));
    assert_v4(&h, 22);
    assert_eq!(h.ethertype, Some(0x8864));
    let spanning_tree =
        decode(LinkType::ETHERNET, &ethernet(&[38], &[0x42, 0x42, 3, 0, 0, 0, 0, 0]));
    assert_eq!((spanning_tree.stop, spanning_tree.ethertype), (Stop::NotIp, None));
}

#[test]
fn cooked() {
    let packet = v4(17, 0, &PORTS);
    let mut b = vec![0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0];
    b.extend(&packet);
    let h = decode(LinkType::LINUX_SLL, &b);
    assert_v4(&h, 16);
    assert_eq!((h.packet_type, h.ethertype), (Some(4), Some(V4)));
    let mut b = vec![0x86, 0xdd, 0, 0, 0, 0, 0, 3, 0, 1, 1, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    b.extend(v6(17, &PORTS));
    let h = decode(LinkType::LINUX_SLL2, &b);
    assert_v6(&h, 20);
    assert_eq!((h.packet_type, h.ethertype), (Some(1), Some(V6)));
    // A tagged frame keeps its tag in front of the packet.
    let mut b = vec![0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x81, 0, 0, 5, 8, 0];
    b.extend(&packet);
    let h = decode(LinkType::LINUX_SLL, &b);
    assert_v4(&h, 20);
    assert_eq!(h.vlan.tags()[0].id, 5);
}

#[test]
fn raw_and_loopback() {
    let (four, six) = (v4(17, 0, &PORTS), v6(17, &PORTS));
    for link in [LinkType::RAW, LinkType::RAW_12, LinkType::RAW_14, LinkType::IPV4] {
        assert_v4(&decode(link, &four), 0);
    }
    for link in [LinkType::RAW, LinkType::RAW_12, LinkType::RAW_14, LinkType::IPV6] {
        assert_v6(&decode(link, &six), 0);
    }
    assert_eq!(decode(LinkType::IPV4, &six).stop, Stop::BadIp);
    assert_eq!(decode(LinkType::RAW, &[0x50]).stop, Stop::NotIp);
    for family in [[2, 0, 0, 0], [0, 0, 0, 2]] {
        assert_v4(&decode(LinkType::NULL, &[&family[..], &four].concat()), 4);
    }
    for family in [10u32, 24, 28, 30] {
        for bytes in [family.to_le_bytes(), family.to_be_bytes()] {
            assert_v6(&decode(LinkType::NULL, &[&bytes[..], &six].concat()), 4);
        }
    }
    assert_v4(&decode(LinkType::LOOP, &[&[0, 0, 0, 2][..], &four].concat()), 4);
    let swapped = decode(LinkType::LOOP, &[&[2, 0, 0, 0][..], &four].concat());
    assert_eq!((swapped.stop, swapped.stop_offset), (Stop::NotIp, 4));
    assert_eq!(decode(LinkType(147), &four).stop, Stop::LinkType);
}

#[test]
fn ipv4_options_fragments_and_authentication() {
    let h = decode(LinkType::RAW, &v4_with(&[1; 12], 6, 0x4000, &PORTS));
    assert_eq!((h.protocol, h.sport, h.transport_offset), (Some(6), Some(5004), Some(32)));
    let h = decode(LinkType::RAW, &v4(17, 0x2000, &PORTS));
    assert_eq!((h.fragment, h.sport), (Fragment::First, Some(5004)));
    for flags in [0x2001, 0x0001, 0x1fff] {
        let h = decode(LinkType::RAW, &v4(17, flags, &PORTS));
        assert_eq!((h.fragment, h.protocol, h.sport), (Fragment::Later, Some(17), None));
        assert_eq!((h.stop, h.transport_offset), (Stop::Done, None));
    }
    // An authentication header of 24 bytes: (4 + 2) words.
    let mut ah = vec![17, 4];
    ah.extend([0; 22]);
    ah.extend(PORTS);
    let h = decode(LinkType::RAW, &v4(51, 0, &ah));
    assert_eq!((h.protocol, h.dport, h.transport_offset), (Some(17), Some(443), Some(44)));
    // A protocol without ports, and one that hides them.
    for protocol in [1, 50] {
        let h = decode(LinkType::RAW, &v4(protocol, 0, &PORTS));
        assert_eq!((h.protocol, h.sport, h.stop), (Some(protocol), None, Stop::Done));
    }
    for protocol in [33, 132, 136] {
        assert_eq!(decode(LinkType::RAW, &v4(protocol, 0, &PORTS)).dport, Some(443));
    }
}

#[test]
fn ipv4_headers_that_contradict_themselves() {
    let mut b = v4(17, 0, &PORTS);
    b[0] = 0x44;
    assert_eq!(decode(LinkType::RAW, &b).stop, Stop::BadIp);
    let mut b = v4(17, 0, &PORTS);
    b[2..4].copy_from_slice(&[0, 19]);
    let h = decode(LinkType::RAW, &b);
    assert_eq!((h.stop, h.dscp, h.sport), (Stop::BadIp, Some(34), None));
    b[2..4].copy_from_slice(&[0, 20]);
    assert_eq!(decode(LinkType::RAW, &b).stop, Stop::Done);
    // A total length of 0 is that of a packet left to the network card to cut up.
    b[2..4].copy_from_slice(&[0, 0]);
    let h = decode(LinkType::RAW, &b);
    assert_eq!((h.stop, h.ip_len, h.sport), (Stop::Done, None, Some(5004)));
}

#[test]
fn ipv6_extension_headers() {
    // Hop-by-hop (8), routing (24), destination (16), authentication (12), then UDP.
    let mut chain = vec![43, 0, 1, 4, 0, 0, 0, 0];
    chain.extend([60, 2]);
    chain.extend([0; 22]);
    chain.extend([51, 1]);
    chain.extend([0; 14]);
    chain.extend([17, 1]);
    chain.extend([0; 10]);
    chain.extend(PORTS);
    let h = decode(LinkType::RAW, &v6(0, &chain));
    assert_eq!((h.protocol, h.sport, h.dport), (Some(17), Some(5004), Some(443)));
    assert_eq!((h.transport_offset, h.stop), (Some(40 + 60), Stop::Done));

    let fragment = |field: u16| {
        let mut b = vec![17, 0];
        b.extend(field.to_be_bytes());
        b.extend([0, 0, 0, 1]);
        b.extend(PORTS);
        decode(LinkType::RAW, &v6(44, &b))
    };
    assert_eq!((fragment(0).fragment, fragment(0).sport), (Fragment::Whole, Some(5004)));
    assert_eq!((fragment(1).fragment, fragment(1).sport), (Fragment::First, Some(5004)));
    for field in [8, 9, 0xfff8] {
        let h = fragment(field);
        assert_eq!((h.fragment, h.protocol, h.sport), (Fragment::Later, Some(17), None));
    }
    // Nothing follows.
    let h = decode(LinkType::RAW, &v6(59, &[]));
    assert_eq!((h.protocol, h.stop), (Some(59), Stop::Done));
    // They are ordinary protocol numbers under IPv4.
    for protocol in [0, 43, 44, 60, 135] {
        let h = decode(LinkType::RAW, &v4(protocol, 0, &PORTS));
        assert_eq!((h.protocol, h.transport_offset), (Some(protocol), Some(20)));
    }
}

#[test]
fn truncated_frames_yield_the_fields_they_hold() {
    let frame = ethernet(&[0x8100, 0xa064, V4], &v4(17, 0, &PORTS));
    // (bytes needed, whether the field is decoded)
    type Decoded = fn(&Headers) -> bool;
    let fields: [(usize, Decoded); 8] = [
        (18, |h| !h.vlan.tags().is_empty()),
        (19, |h| h.ip_version.is_some()),
        (20, |h| h.dscp.is_some() && h.ecn.is_some()),
        (22, |h| h.ip_len.is_some()),
        (28, |h| h.protocol.is_some()),
        (34, |h| h.src.is_some()),
        (38, |h| h.dst.is_some() && h.five_tuple().is_some()),
        (42, |h| h.sport.is_some() && h.dport.is_some()),
    ];
    for length in 0..frame.len() {
        let h = decode(LinkType::ETHERNET, &frame[..length]);
        for (need, decoded) in &fields {
            assert_eq!(decoded(&h), length >= *need, "{length} of {need} bytes: {h:?}");
        }
        let short = length < 42;
        assert_eq!(h.stop, if short { Stop::Short } else { Stop::Done }, "{length} bytes");
        assert_eq!(h.stop_offset as usize, if short { length } else { 42 });
    }
}

#[test]
fn arp_keeps_its_ethertype() {
    let h = decode(LinkType::ETHERNET, &ethernet(&[0x0806], &[0, 1, 8, 0, 6, 4, 0, 1]));
    assert_eq!((h.ethertype, h.stop, h.stop_offset), (Some(0x0806), Stop::NotIp, 14));
    assert_eq!(h.five_tuple(), None);
}

proptest! {
    #![proptest_config(support::fixed_seed())]

    #[test]
    fn any_bytes_decode_within_bounds(link in 0u32..300, data in prop::collection::vec(any::<u8>(), 0..120)) {
        let h = decode(LinkType(link), &data);
        prop_assert!(h.stop_offset as usize <= data.len());
        prop_assert!(h.network_offset.is_none_or(|at| (at as usize) < data.len()));
    }

    #[test]
    fn extension_chains_of_any_order(chain in prop::collection::vec((0usize..4, 0u8..4), 0..8)) {
        let kinds = [0u8, 43, 60, 51];
        let mut payload = Vec::new();
        for (n, (kind, size)) in chain.iter().enumerate() {
            let next = chain.get(n + 1).map_or(6, |(kind, _)| kinds[*kind]);
            let bytes = if *kind == 3 { (*size as usize + 2) * 4 } else { (*size as usize + 1) * 8 };
            payload.extend([next, *size]);
            payload.extend(vec![0; bytes - 2]);
        }
        let at = payload.len();
        payload.extend(PORTS);
        let first = chain.first().map_or(6, |(kind, _)| kinds[*kind]);
        let h = decode(LinkType::RAW, &v6(first, &payload));
        prop_assert_eq!((h.protocol, h.sport, h.dport), (Some(6), Some(5004), Some(443)));
        prop_assert_eq!(h.transport_offset, Some((40 + at) as u32));
    }
}
