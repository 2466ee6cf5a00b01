//! Flow identities of random frames and of the recorded captures, against a slow reading of
//! frames by layers.

mod support;

use std::collections::BTreeMap;
use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use laxity_trace::{Capture, FlowIdentity, Fragment, LinkType, Subflow, decode};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use support::packet::{ethernet, extension, fragment, v4_with, v6};

/// The identity as text, from an Ethernet frame, each layer cut off before the next is read.
fn reference(frame: &[u8]) -> String {
    let not_ip = "not IP".to_owned();
    let Some(mut rest) = frame.get(12..) else { return not_ip };
    let mut tags = 0;
    let kind = loop {
        let Some(kind) = rest.get(..2) else { return not_ip };
        let kind = u16::from(kind[0]) * 256 + u16::from(kind[1]);
        rest = &rest[2..];
        if ![0x8100, 0x88a8, 0x9100].contains(&kind) {
            break kind;
        }
        tags += 1;
        let Some(after) = rest.get(2..) else { return not_ip };
        rest = after;
    };
    if tags > 2 {
        return not_ip;
    }
    let version = match kind {
        0x0800 => 4,
        0x86dd => 6,
        _ => return not_ip,
    };
    packet(version, rest, true).unwrap_or(not_ip)
}

/// The identity of a packet; `None` without addresses.
fn packet(version: u8, bytes: &[u8], outermost: bool) -> Option<String> {
    if bytes.first()? >> 4 != version {
        return None;
    }
    let (addresses, mut protocol, mut label, mut payload);
    if version == 4 {
        let words = usize::from(bytes[0] % 16);
        if words < 5 || bytes.len() < 20 {
            return None;
        }
        let a: [[u8; 4]; 2] =
            [bytes[12..16].try_into().unwrap(), bytes[16..20].try_into().unwrap()];
        addresses = format!("{} {}", Ipv4Addr::from(a[0]), Ipv4Addr::from(a[1]));
        protocol = bytes[9];
        label = String::new();
        payload = bytes.get(words * 4..);
        if bytes[6] & 0x20 != 0 || bytes[6] & 0x1f != 0 || bytes[7] != 0 {
            return Some(format!("{addresses} {protocol}"));
        }
    } else {
        if bytes.len() < 40 {
            return None;
        }
        let a: [[u8; 16]; 2] =
            [bytes[8..24].try_into().unwrap(), bytes[24..40].try_into().unwrap()];
        addresses = format!("{} {}", Ipv6Addr::from(a[0]), Ipv6Addr::from(a[1]));
        protocol = bytes[6];
        let number =
            u32::from(bytes[1] % 16) << 16 | u32::from(bytes[2]) << 8 | u32::from(bytes[3]);
        label = if number == 0 { String::new() } else { format!(" label {number}") };
        payload = Some(&bytes[40..]);
    }
    let mut extensions = 0;
    loop {
        let options = [0, 43, 60, 135, 139, 140].contains(&protocol) && version == 6;
        let is_fragment = protocol == 44 && version == 6;
        if !options && !is_fragment && protocol != 51 {
            break;
        }
        let Some(header) = payload.filter(|_| extensions < 6) else {
            return Some(format!("{addresses} {protocol}{label}"));
        };
        extensions += 1;
        let length = match header.get(1) {
            _ if is_fragment => 8,
            Some(n) if options => 8 + 8 * usize::from(*n),
            Some(n) => 8 + 4 * usize::from(*n),
            None => usize::MAX,
        };
        if header.len() < length {
            if is_fragment || header.len() < 2 || length == usize::MAX {
                return Some(format!("{addresses} {protocol}{label}"));
            }
            payload = None;
            continue;
        }
        protocol = header[0];
        payload = Some(&header[length..]);
        if is_fragment && (header[2] != 0 || header[3] & 0xf8 != 0 || header[3] & 1 != 0) {
            return Some(format!("{addresses} {protocol}"));
        }
    }
    let payload = payload.unwrap_or_default();
    if outermost {
        let inner = match (protocol, payload) {
            (4, _) => packet(4, payload, false),
            (41, _) => packet(6, payload, false),
            (47, [0, 0, 0x08, 0x00, inner @ ..]) => packet(4, inner, false),
            (47, [0, 0, 0x86, 0xdd, inner @ ..]) => packet(6, inner, false),
            _ => None,
        };
        if inner.is_some() {
            return inner;
        }
    }
    let has_id = match version {
        4 => &[0, 8, 13, 14, 15, 16, 17, 18, 42, 43][..],
        _ => &[128, 129, 160, 161],
    };
    let pair = |a: u8, b: u8| u16::from(a) * 256 + u16::from(b);
    let subflow = match (protocol, payload) {
        (6 | 17 | 33 | 132 | 136, [a, b, c, d, ..]) => {
            format!(" ports {} {}", pair(*a, *b), pair(*c, *d))
        }
        (50, [a, b, c, d, ..]) => format!(" spi {}", u32::from_be_bytes([*a, *b, *c, *d])),
        (1, [kind, rest @ ..]) if version == 4 => match rest {
            _ if !has_id.contains(kind) => format!(" icmp {kind} 0"),
            [_, _, _, a, b, ..] => format!(" icmp {kind} {}", pair(*a, *b)),
            _ => label.clone(),
        },
        (58, [kind, rest @ ..]) if version == 6 => match rest {
            _ if !has_id.contains(kind) => format!(" icmp {kind} 0"),
            [_, _, _, a, b, ..] => format!(" icmp {kind} {}", pair(*a, *b)),
            _ => label.clone(),
        },
        _ => std::mem::take(&mut label),
    };
    Some(format!("{addresses} {protocol}{subflow}"))
}

fn text(identity: FlowIdentity) -> String {
    let FlowIdentity::Ip { src, dst, protocol, subflow } = identity else {
        return "not IP".to_owned();
    };
    let subflow = match subflow {
        Subflow::None => String::new(),
        Subflow::Ports { src, dst } => format!(" ports {src} {dst}"),
        Subflow::FlowLabel(label) => format!(" label {label}"),
        Subflow::Spi(index) => format!(" spi {index}"),
        Subflow::Icmp { kind, id } => format!(" icmp {kind} {id}"),
    };
    format!("{src} {dst} {protocol}{subflow}")
}

/// A header of a random frame, from the innermost outwards.
#[derive(Debug, Clone)]
enum Layer {
    V4 { options: u8, flags: u16 },
    V6 { label: bool },
    Extension { kind: u8, more: u8 },
    Authentication,
    Fragment { offset: u16, more: bool },
    Gre { flags: u8 },
}

fn layer() -> impl Strategy<Value = Layer> {
    let flags =
        prop_oneof![6 => Just(0u16), 1 => Just(0x2000), 1 => Just(0x4000), 1 => any::<u16>()];
    let kinds = prop::sample::select(vec![0u8, 43, 60, 135, 139, 140]);
    prop_oneof![
        3 => (0u8..=10, flags).prop_map(|(options, flags)| Layer::V4 { options, flags }),
        3 => any::<bool>().prop_map(|label| Layer::V6 { label }),
        4 => (kinds, 0u8..3).prop_map(|(kind, more)| Layer::Extension { kind, more }),
        1 => Just(Layer::Authentication),
        1 => (0u16..3, any::<bool>()).prop_map(|(offset, more)| Layer::Fragment { offset, more }),
        1 => prop::sample::select(vec![0u8, 0, 0, 0x20]).prop_map(|flags| Layer::Gre { flags }),
    ]
}

/// A frame of layers around an upper header, in which some bytes are changed and the end is missing.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let upper = (
        prop::sample::select(vec![1u8, 6, 17, 33, 50, 58, 59, 89, 132, 136]),
        prop::collection::vec(any::<u8>(), 0..12),
    );
    let layers = prop::collection::vec(layer(), 0..10);
    let changes = prop::collection::vec((0usize..200, any::<u8>()), 0..2);
    let cut = prop_oneof![3 => Just(usize::MAX), 1 => 0usize..200];
    (upper, layers, any::<bool>(), 0usize..4, changes, cut).prop_map(
        |((mut protocol, mut bytes), layers, v4, tags, changes, cut)| {
            for layer in layers.iter().chain([if v4 {
                &Layer::V4 { options: 0, flags: 0 }
            } else {
                &Layer::V6 { label: true }
            }]) {
                (protocol, bytes) = wrap(layer, protocol, &bytes);
            }
            let kind = if v4 { 0x0800 } else { 0x86dd };
            let kinds: Vec<u16> = [0x8100, 7].repeat(tags).into_iter().chain([kind]).collect();
            let mut frame = ethernet(&kinds, &bytes);
            for (at, value) in changes {
                if let Some(byte) = frame.get_mut(at) {
                    *byte = value;
                }
            }
            frame.truncate(cut);
            frame
        },
    )
}

/// Puts a header in front of bytes of a protocol; returns the protocol of the whole.
fn wrap(layer: &Layer, protocol: u8, bytes: &[u8]) -> (u8, Vec<u8>) {
    match *layer {
        Layer::V4 { options, flags } => {
            (4, v4_with(&vec![1; usize::from(options) * 4], protocol, flags, bytes))
        }
        Layer::V6 { label } => {
            let mut packet = v6(protocol, bytes);
            if !label {
                (packet[1], packet[2], packet[3]) = (0, 0, 0);
            }
            (41, packet)
        }
        Layer::Extension { kind, more } => (kind, extension(protocol, more, bytes)),
        Layer::Authentication => (51, [&[protocol, 4, 0, 0][..], &[3; 20], bytes].concat()),
        Layer::Fragment { offset, more } => (44, fragment(protocol, offset, more, bytes)),
        Layer::Gre { flags } => {
            let kind = if protocol == 4 { 0x0800u16 } else { 0x86dd };
            (47, [&[flags, 0][..], &kind.to_be_bytes(), bytes].concat())
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..support::fixed_seed() })]

    /// Fails when headers are passed over by a wrong length, when a fragment shows ports, when a
    /// tunnel is opened twice or not at all.
    #[test]
    fn identities_are_those_of_the_reference(frame in frame()) {
        prop_assert_eq!(text(FlowIdentity::of(LinkType::ETHERNET, &frame)), reference(&frame));
    }

    /// No bytes under any link type make it panic, and what is cut off changes no address.
    #[test]
    fn any_bytes_have_an_identity(
        link in prop::sample::select(vec![0u32, 1, 12, 101, 108, 113, 228, 229, 276, 7]),
        data in prop::collection::vec(any::<u8>(), 0..120),
        cut in 0usize..120,
    ) {
        let whole = FlowIdentity::of(LinkType(link), &data);
        let part = FlowIdentity::of(LinkType(link), &data[..cut.min(data.len())]);
        if let (FlowIdentity::Ip { src: a, .. }, FlowIdentity::Ip { src: b, protocol, .. }) = (whole, part) {
            prop_assert!(a == b || matches!(protocol, 4 | 41 | 47));
        }
    }
}

/// The random frames reach every kind of identity. Fails when the generator makes hardly any
/// frame that is read to the end.
#[test]
fn random_frames_reach_every_case() {
    let mut runner = proptest::test_runner::TestRunner::new(support::fixed_seed());
    let mut seen = BTreeMap::<&str, u32>::new();
    for _ in 0..20_000 {
        let frame = frame().new_tree(&mut runner).unwrap().current();
        let name = match FlowIdentity::of(LinkType::ETHERNET, &frame) {
            FlowIdentity::NotIp => "not IP",
            FlowIdentity::Ip { subflow, .. } => match subflow {
                Subflow::None => "none",
                Subflow::Ports { .. } => "ports",
                Subflow::FlowLabel(_) => "label",
                Subflow::Spi(_) => "spi",
                Subflow::Icmp { .. } => "icmp",
            },
        };
        *seen.entry(name).or_default() += 1;
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
    assert!(seen.values().all(|count| *count > 200), "{seen:?}");
}

/// Every packet of the captures is read, as [`decode`] reads it and, on Ethernet, as the
/// reference does.
#[test]
fn recorded_packets_have_their_flows() {
    let names = ["access-link.pcap", "cooked-sll.pcap", "cooked-sll2.pcap", "tunnel-raw.pcap"];
    for name in names {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name);
        let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
        while let Some(frame) = capture.next_frame().unwrap() {
            let identity = FlowIdentity::of(frame.link_type, frame.data);
            if frame.link_type == LinkType::ETHERNET {
                assert_eq!(text(identity), reference(frame.data), "{name}, {}", frame.offset);
            }
            let headers = decode(frame.link_type, frame.data);
            let tuple = headers.five_tuple().unwrap();
            let FlowIdentity::Ip { src, dst, protocol, subflow } = identity else {
                panic!("{name}, {}: {headers:?}", frame.offset);
            };
            assert_eq!((src, dst, protocol), (tuple.src, tuple.dst, tuple.protocol));
            let ports = tuple.sport.zip(tuple.dport);
            let expected = match ports.filter(|_| headers.fragment == Fragment::Whole) {
                Some((src, dst)) => Subflow::Ports { src, dst },
                None => Subflow::None,
            };
            assert!(subflow == expected || matches!(protocol, 1 | 50 | 58), "{headers:?}");
        }
    }
}
