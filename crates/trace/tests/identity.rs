//! Flow identities of hand-made frames: each case of RFC 8290's hashing and of what it leaves open.

mod support;

use std::net::IpAddr;

use laxity_trace::{FlowIdentity, LinkType, Subflow};
use support::packet::{ethernet, extension, fragment, v4, v4_with, v6};

const PORTS: [u8; 8] = [0x13, 0x8c, 0x01, 0xbb, 0, 8, 0, 0];
const UDP_5004_443: Subflow = Subflow::Ports { src: 5004, dst: 443 };
const LABEL: Subflow = Subflow::FlowLabel(0xabcde);

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Addresses of [`v4`].
fn of_v4(protocol: u8, subflow: Subflow) -> FlowIdentity {
    FlowIdentity::Ip { src: ip("10.1.2.3"), dst: ip("192.0.2.9"), protocol, subflow }
}

/// Addresses of [`v6`].
fn of_v6(protocol: u8, subflow: Subflow) -> FlowIdentity {
    FlowIdentity::Ip { src: ip("2001:db8::1"), dst: ip("2001:db8::2"), protocol, subflow }
}

/// A packet inside a tunnel has other addresses than the one around it.
fn inner(mut packet: Vec<u8>) -> Vec<u8> {
    let source = if packet[0] >> 4 == 4 { 12 } else { 8 };
    packet[source] = 0xfd;
    packet
}

fn of_inner(identity: FlowIdentity) -> FlowIdentity {
    let FlowIdentity::Ip { dst, protocol, subflow, .. } = identity else { unreachable!() };
    let src = if dst.is_ipv4() { ip("253.1.2.3") } else { ip("fd01:db8::1") };
    FlowIdentity::Ip { src, dst, protocol, subflow }
}

#[track_caller]
fn is(link_type: LinkType, frame: &[u8], expected: FlowIdentity) {
    assert_eq!(FlowIdentity::of(link_type, frame), expected, "{frame:02x?}");
}

#[track_caller]
fn raw(packet: &[u8], expected: FlowIdentity) {
    is(LinkType::RAW, packet, expected);
}

/// Fails when a third tag is passed over, or a tag counts as the end.
#[test]
fn link_layers_are_passed_over() {
    let packet = v4(17, 0, &PORTS);
    let expected = of_v4(17, UDP_5004_443);
    let tagged = |tags: usize| {
        let kinds: Vec<u16> = [0x88a8, 100].repeat(tags).into_iter().chain([0x0800]).collect();
        ethernet(&kinds, &packet)
    };
    for tags in 0..=2 {
        is(LinkType::ETHERNET, &tagged(tags), expected);
    }
    is(LinkType::ETHERNET, &tagged(3), FlowIdentity::NotIp);
    is(LinkType::ETHERNET, &ethernet(&[0x86dd], &v6(17, &PORTS)), of_v6(17, UDP_5004_443));
    let session = [&[0x11, 0, 0, 1, 0, 30, 0, 0x21][..], &packet].concat();
    is(LinkType::ETHERNET, &ethernet(&[0x8864], &session), expected);
    raw(&packet, expected);
    // The EtherType decides, not the version.
    is(LinkType::ETHERNET, &ethernet(&[0x86dd], &packet), FlowIdentity::NotIp);
}

#[test]
fn frames_that_are_not_ip_are_one_flow() {
    for frame in [&ethernet(&[0x0806], &[1; 28])[..], &ethernet(&[0x88cc], &[2; 40]), &[], &[9; 13]]
    {
        is(LinkType::ETHERNET, frame, FlowIdentity::NotIp);
    }
    raw(&v4(17, 0, &PORTS)[..19], FlowIdentity::NotIp);
    raw(&v6(17, &PORTS)[..39], FlowIdentity::NotIp);
    let mut short_header = v4(17, 0, &PORTS);
    short_header[0] = 0x44;
    raw(&short_header, FlowIdentity::NotIp);
    assert_eq!(FlowIdentity::NotIp.to_bytes(), [0; 40]);
}

#[test]
fn protocols_with_ports() {
    for protocol in [6, 17, 33, 132, 136] {
        raw(&v4(protocol, 0, &PORTS), of_v4(protocol, UDP_5004_443));
        raw(&v6(protocol, &PORTS), of_v6(protocol, UDP_5004_443));
    }
    raw(&v4_with(&[1; 40], 6, 0, &PORTS), of_v4(6, UDP_5004_443));
    // Without all four bytes of the ports, or behind options that are cut off.
    raw(&v4(17, 0, &PORTS[..3]), of_v4(17, Subflow::None));
    raw(&v4_with(&[1; 40], 17, 0, &[])[..40], of_v4(17, Subflow::None));
    raw(&v4(89, 0, &PORTS), of_v4(89, Subflow::None));
}

/// VXLAN and WireGuard count by their outer ports. Fails when UDP is looked into.
#[test]
fn tunnels_over_udp_count_by_their_ports() {
    for (port, header) in [(4789u16, &[8, 0, 0, 0, 0, 0, 1, 0][..]), (51820, &[4, 0, 0, 0])] {
        let inner = ethernet(&[0x0800], &inner(v4(6, 0, &PORTS)));
        let udp = [&[0xc0, 1][..], &port.to_be_bytes(), &[0; 4], header, &inner].concat();
        raw(&v4(17, 0, &udp), of_v4(17, Subflow::Ports { src: 0xc001, dst: port }));
    }
}

/// Fails when the first fragment, which has the ports, is another flow than the later ones.
#[test]
fn fragments_count_by_addresses_and_protocol() {
    let (more, offset, never) = (0x2000, 0x00b9, 0x4000);
    raw(&v4(17, more, &PORTS), of_v4(17, Subflow::None));
    raw(&v4(17, more | offset, &PORTS), of_v4(17, Subflow::None));
    raw(&v4(17, offset, &PORTS), of_v4(17, Subflow::None));
    raw(&v4(17, never, &PORTS), of_v4(17, UDP_5004_443));
    // A fragment of a tunnel shows its inner packet in the first one only.
    raw(&v4(4, more, &v4(17, 0, &PORTS)), of_v4(4, Subflow::None));

    raw(&v6(44, &fragment(17, 0, true, &PORTS)), of_v6(17, Subflow::None));
    raw(&v6(44, &fragment(17, 1, true, &PORTS)), of_v6(17, Subflow::None));
    raw(&v6(44, &fragment(17, 1, false, &PORTS)), of_v6(17, Subflow::None));
    // Bytes after a fragment header are part of the fragment.
    raw(&v6(44, &fragment(60, 0, true, &extension(17, 0, &PORTS))), of_v6(60, Subflow::None));
    raw(&v6(60, &extension(44, 0, &fragment(6, 0, true, &PORTS))), of_v6(6, Subflow::None));
    // An atomic fragment is a whole packet.
    raw(&v6(44, &fragment(17, 0, false, &PORTS)), of_v6(17, UDP_5004_443));
}

/// Fails when seven extension headers are passed over, or only five.
#[test]
fn six_extension_headers_are_passed_over() {
    for kind in [0, 43, 60, 135, 139, 140] {
        for count in 0..=8 {
            let mut upper = 17;
            let mut packet = PORTS.to_vec();
            for more in 0..count {
                packet = extension(upper, more % 3, &packet);
                upper = kind;
            }
            let expected = match count {
                0..=6 => of_v6(17, UDP_5004_443),
                _ => of_v6(kind, LABEL),
            };
            raw(&v6(upper, &packet), expected);
        }
    }
    // Authentication headers count in units of four bytes, in IPv4 too.
    let authentication = [&[17, 4, 0, 0][..], &[9; 20], &PORTS].concat();
    raw(&v4(51, 0, &authentication), of_v4(17, UDP_5004_443));
    raw(&v6(51, &authentication), of_v6(17, UDP_5004_443));
    // The numbers of IPv6 extension headers mean nothing in IPv4.
    raw(&v4(60, 0, &extension(17, 0, &PORTS)), of_v4(60, Subflow::None));
}

#[test]
fn the_flow_label_stands_for_ports_out_of_reach() {
    raw(&v6(17, &PORTS[..3]), of_v6(17, LABEL));
    raw(&v6(60, &extension(17, 3, &PORTS)[..20]), of_v6(60, LABEL));
    raw(&v6(89, &PORTS), of_v6(89, LABEL));
    raw(&v6(59, &[]), of_v6(59, LABEL));
    let mut unlabelled = v6(89, &PORTS);
    unlabelled[1] &= 0xf0;
    unlabelled[2..4].fill(0);
    raw(&unlabelled, of_v6(89, Subflow::None));
    // Traffic class and label share a byte: ECN must not make another flow.
    let mut marked = v6(89, &PORTS);
    marked[1] |= 0x30;
    raw(&marked, of_v6(89, LABEL));
}

/// Fails when a second tunnel is opened, or the outer addresses count.
#[test]
fn the_inner_packet_of_a_tunnel_counts() {
    let (four, six) = (inner(v4(17, 0, &PORTS)), inner(v6(6, &PORTS)));
    let (of_four, of_six) = (of_inner(of_v4(17, UDP_5004_443)), of_inner(of_v6(6, UDP_5004_443)));
    raw(&v4(4, 0, &four), of_four);
    raw(&v4(41, 0, &six), of_six);
    raw(&v6(4, &four), of_four);
    raw(&v6(41, &six), of_six);
    raw(&v6(60, &extension(4, 1, &four)), of_four);
    let gre = |flags: [u8; 2], kind: u16, packet: &[u8]| {
        [&flags[..], &kind.to_be_bytes(), packet].concat()
    };
    raw(&v4(47, 0, &gre([0, 0], 0x0800, &four)), of_four);
    raw(&v6(47, &gre([0, 0], 0x86dd, &six)), of_six);
    // Fragments and extension headers inside.
    raw(&v4(4, 0, &inner(v4(17, 0x2000, &PORTS))), of_inner(of_v4(17, Subflow::None)));

    // With checksum, key, sequence number, routing, or of version 1 (PPTP).
    for flags in [[0x80, 0], [0x20, 0], [0x10, 0], [0x40, 0], [0x30, 1]] {
        raw(&v4(47, 0, &gre(flags, 0x0800, &four)), of_v4(47, Subflow::None));
    }
    raw(&v4(47, 0, &gre([0, 0], 0x6558, &ethernet(&[0x0800], &four))), of_v4(47, Subflow::None));
    // An inner packet that cannot be read.
    raw(&v4(4, 0, &six), of_v4(4, Subflow::None));
    raw(&v4(41, 0, &six[..39]), of_v4(41, Subflow::None));
    raw(&v6(47, &gre([0, 0], 0x0800, &four)[..22]), of_v6(47, LABEL));

    // The second level is not opened.
    raw(&v4(4, 0, &inner(v4(4, 0, &four))), of_inner(of_v4(4, Subflow::None)));
    raw(&v4(41, 0, &inner(v6(47, &gre([0, 0], 0x0800, &four)))), of_inner(of_v6(47, LABEL)));
}

#[test]
fn esp_counts_by_its_index() {
    let spi = Subflow::Spi(0xc0de_0001);
    let esp = [0xc0, 0xde, 0, 1, 0, 0, 0, 7, 1, 2, 3];
    raw(&v4(50, 0, &esp), of_v4(50, spi));
    raw(&v6(50, &esp), of_v6(50, spi));
    raw(&v6(50, &esp[..3]), of_v6(50, LABEL));
}

/// Fails when unused or other fields of messages without an identifier count.
#[test]
fn icmp_counts_by_type_and_identifier() {
    let message = |kind: u8| [kind, 3, 0xff, 0xff, 0x12, 0x34, 0, 1];
    let with = |kind: u8, id: u16| Subflow::Icmp { kind, id };
    for kind in 0..=255 {
        let four = matches!(kind, 0 | 8 | 13..=18 | 42 | 43);
        let six = matches!(kind, 128 | 129 | 160 | 161);
        let id = |has: bool| if has { 0x1234 } else { 0 };
        raw(&v4(1, 0, &message(kind)), of_v4(1, with(kind, id(four))));
        raw(&v6(58, &message(kind)), of_v6(58, with(kind, id(six))));
    }
    raw(&v4(1, 0, &message(8)[..5]), of_v4(1, Subflow::None));
    raw(&v6(58, &message(128)[..5]), of_v6(58, LABEL));
    // The other version's number.
    raw(&v4(58, 0, &message(128)), of_v4(58, Subflow::None));
    raw(&v6(1, &message(8)), of_v6(1, LABEL));
}

/// Fails when two identities share a layout: then their flows could not be told apart.
#[test]
fn the_layout_tells_identities_apart() {
    let value = 0x0800_0007;
    let ports = Subflow::Ports { src: 0x0800, dst: 7 };
    let icmp = Subflow::Icmp { kind: 8, id: 7 };
    let mut all = vec![FlowIdentity::NotIp];
    for subflow in [Subflow::None, ports, Subflow::FlowLabel(value), Subflow::Spi(value), icmp] {
        all.push(of_v4(17, subflow));
        let (src, dst) = (ip("::ffff:10.1.2.3"), ip("::ffff:192.0.2.9"));
        all.push(FlowIdentity::Ip { src, dst, protocol: 17, subflow });
    }
    let layouts: std::collections::BTreeSet<_> = all.iter().map(FlowIdentity::to_bytes).collect();
    assert_eq!(layouts.len(), all.len());
    let expected = [
        &[0; 10][..],
        &[255, 255, 10, 1, 2, 3],
        &[0; 10],
        &[255, 255, 192, 0, 2, 9],
        &[4, 17, 1, 0, 0x13, 0x8c, 0x01, 0xbb],
    ];
    assert_eq!(of_v4(17, UDP_5004_443).to_bytes()[..], expected.concat());
}
