//! Keys of flows and hosts.

use std::collections::BTreeSet;

use laxity_core::FlowId;
use laxity_link::config::QueueBy;
use laxity_link::packet::flow_key;
use laxity_scenario::link::model::Scenario;
use laxity_trace::{FlowIdentity, LinkType, Subflow};
use laxity_traffic::{FlowHasher, FlowKeys};

const SECRET: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// SipHash-c-d as in the paper (Aumasson and Bernstein 2012, section 2), step by step.
fn siphash(c: usize, d: usize, secret: &[u8; 16], message: &[u8]) -> u64 {
    fn round(v: &mut [u64; 4]) {
        v[0] = v[0].wrapping_add(v[1]);
        v[2] = v[2].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[1]);
        v[0] = v[0].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].rotate_left(32);
    }
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let (k0, k1) = (word(&secret[..8]), word(&secret[8..]));
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let mut padded = message.to_vec();
    padded.resize((message.len() / 8 + 1) * 8 - 1, 0);
    padded.push(message.len() as u8);
    for m in padded.chunks(8).map(word) {
        v[3] ^= m;
        (0..c).for_each(|_| round(&mut v));
        v[0] ^= m;
    }
    v[2] ^= 0xff;
    (0..d).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn identity(src: &str, dst: &str, port: u16) -> FlowIdentity {
    let subflow = Subflow::Ports { src: port, dst: 443 };
    let [src, dst] = [src, dst].map(|a| a.parse().unwrap());
    FlowIdentity::Ip { src, dst, protocol: 6, subflow }
}

/// Fails when the hash is another function or another number of rounds: the reference is checked
/// by the example of the paper (appendix A), then the hasher by the reference.
#[test]
fn keys_are_siphash_1_3() {
    let message: Vec<u8> = (0..15).collect();
    assert_eq!(siphash(2, 4, &SECRET, &message), 0xa129_ca61_49be_45e5);
    // Vectors of the Rust standard library, from the reference implementation.
    assert_eq!(
        siphash(1, 3, &SECRET, &[]),
        u64::from_le_bytes(*b"\xdc\xc4\x0f\x05\x58\x01\xac\xab")
    );

    let hasher = FlowHasher::new(SECRET);
    for port in 0..200 {
        let identity = identity("10.0.0.1", "2.3.4.5", port);
        let bytes = identity.to_bytes();
        let flow = siphash(1, 3, &SECRET, &bytes) as u32;
        let hosts = [&bytes[..16], &bytes[16..32]].map(|host| {
            let host = [&[4][..], host].concat();
            siphash(1, 3, &SECRET, &host)
        });
        let key = |by| hasher.key(by, &identity);
        assert_eq!(key(QueueBy::FiveTuple), flow_key(flow, 0, 0));
        assert_eq!(key(QueueBy::Source), flow_key(hosts[0] as u32, 0, 0));
        assert_eq!(key(QueueBy::Destination), flow_key(hosts[1] as u32, 0, 0));
        let both = flow_key(flow, hosts[0] as u16, hosts[1] as u16);
        assert_eq!(key(QueueBy::HostAndFlow), both);
    }
}

/// Fails when ports count among the hosts, or hosts do not count in both directions alike.
#[test]
fn a_key_depends_on_what_makes_a_flow() {
    let hasher = FlowHasher::new(SECRET);
    let differ = |by, a: &FlowIdentity, b: &FlowIdentity| hasher.key(by, a) != hasher.key(by, b);
    let all = [QueueBy::FiveTuple, QueueBy::Source, QueueBy::Destination, QueueBy::HostAndFlow];
    let own = identity("10.0.0.1", "2.3.4.5", 1);
    for (other, expected) in [
        (identity("10.0.0.1", "2.3.4.5", 1), [false; 4]),
        (identity("10.0.0.1", "2.3.4.5", 2), [true, false, false, true]),
        (identity("10.0.0.2", "2.3.4.5", 1), [true, true, false, true]),
        (identity("10.0.0.1", "2.3.4.6", 1), [true, false, true, true]),
        // The same numbers in IPv6.
        (identity("::ffff:10.0.0.1", "::ffff:2.3.4.5", 1), [true; 4]),
        (FlowIdentity::NotIp, [true; 4]),
    ] {
        assert_eq!(all.map(|by| differ(by, &own, &other)), expected, "{other:?}");
    }
    // A host is the same as source and as destination.
    let back = identity("2.3.4.5", "10.0.0.1", 1);
    let hosts = |identity| {
        let key = hasher.key(QueueBy::HostAndFlow, identity);
        (key >> 32 & 0xffff, key >> 48)
    };
    let (source, destination) = hosts(&own);
    assert_eq!(hosts(&back), (destination, source));
}

/// Fails when the secret does not count, or is shown.
#[test]
fn the_secret_counts_and_is_not_shown() {
    let identities: Vec<_> = (0..1000).map(|port| identity("10.0.0.1", "2.3.4.5", port)).collect();
    let keys = |hasher: FlowHasher| -> Vec<u64> {
        identities.iter().map(|i| hasher.key(QueueBy::FiveTuple, i)).collect()
    };
    let mut other = SECRET;
    other[15] ^= 1;
    let (a, b) = (keys(FlowHasher::new(SECRET)), keys(FlowHasher::new(other)));
    assert!(a.iter().zip(&b).all(|(a, b)| a != b));
    assert_eq!(a, keys(FlowHasher::new(SECRET)));
    assert_eq!(keys(FlowHasher::fixed()), keys(FlowHasher::fixed()));
    // 1000 flows in 1024 queues take about 1024 (1 - 1/e) = 638 of them.
    let queues: BTreeSet<u64> = a.iter().map(|key| key % 1024).collect();
    assert!((600..680).contains(&queues.len()), "{}", queues.len());
    let shown = format!("{:?}", FlowHasher::new([0xa5; 16]));
    assert_eq!(shown, "FlowHasher { .. }");
}

/// Fails when packets of a class are distinguished by the setting of another class, or those that
/// may be demoted not by that of the last one.
#[test]
fn each_class_has_its_own_setting() {
    let text = r#"
        [link]
        rate = "10 Mbit/s"
        [[realtime]]
        name = "voice"
        deadline = "20 ms"
        envelope = { burst = "300 B", rate = "10 kB/s" }
        [[realtime]]
        name = "video"
        deadline = "30 ms"
        envelope = { burst = "3 kB", rate = "100 kB/s" }
        excess = "demote"
        [[best_effort]]
        name = "web"
        flows = { by = "source" }
        [[best_effort]]
        name = "bulk"
        aqm = "codel"
        [[best_effort]]
        name = "other"
        flows = { by = "host-and-flow" }
    "#;
    let hasher = FlowHasher::new(SECRET);
    let keys = FlowKeys::new(&Scenario::parse(text, "home.toml").unwrap(), hasher);
    let mut packet = [0; 28];
    (packet[0], packet[3], packet[9], packet[23]) = (0x45, 28, 17, 7);
    let identity = FlowIdentity::of(LinkType::RAW, &packet);
    let key = |flow| keys.of_frame(FlowId(flow), LinkType::RAW, &packet);
    let expected = |by| hasher.key(by, &identity);
    let all = expected(QueueBy::HostAndFlow);
    assert_eq!([0, 1, 2, 3, 4].map(key), [0, all, expected(QueueBy::Source), 0, all]);
    let flows: BTreeSet<u64> = (0..5).map(|flow| keys.of_flow(FlowId(flow))).collect();
    assert_eq!(flows.len(), 5);
}
