//! Flow queues and AQM in user space: the decisions of the simulator, and marks in the frames.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use laxity_core::{FlowId, Time};
use laxity_link::buffer::DropReason;
use laxity_link::ecn::Ecn;
use laxity_link::{Departure, Packet};
use laxity_scenario::link::model::Scenario;
use laxity_sim::Control;
use laxity_sim::link::{Observer, Traffic, simulate};
use laxity_trace::{LinkType, SimPacket, decode};
use laxity_traffic::{Arrival, FlowHasher};
use laxity_userlink::forwarder::Forwarder;
use support::draw;

/// Connections of the class; the ECN field of each by its number.
const ECN: [Ecn; 5] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
/// Where an Ethernet frame has the IPv4 header and the UDP header.
const IP: usize = 14;
const UDP: usize = 34;

const SETTINGS: [&str; 7] = [
    "flows = {}",
    "aqm = \"codel\"",
    "flows = { by = \"host-and-flow\" }\naqm = { use = \"codel\", rtt = \"40 ms\" }",
    "aqm = { use = \"codel\", ecn = false, ingress = true }",
    "aqm = \"pie\"",
    "aqm = \"l4s\"",
    "flows = { queues = 64 }\naqm = \"l4s\"",
];

fn scenario(setting: &str) -> Scenario {
    support::scenarios::parsed(&format!(
        r#"
[link]
rate = "10 Mbit/s"
max_packet = "1514 B"
overhead = "24 B"
min_frame = "84 B"
buffer = {{ total = "200 kB", best_effort = "150 kB" }}

[[realtime]]
name = "voice"
deadline = "20 ms"
envelope = {{ burst = "600 B", rate = "40 kB/s", packet = "200 B" }}
match = {{ dport = 49152 }}

[[best_effort]]
name = "bulk"
match = {{ dport = 49153 }}
{setting}
"#
    ))
}

/// A frame of a connection: its source port and ECN field tell which.
fn frame(flow: u32, bytes: u32, connection: usize, sequence: u64) -> Vec<u8> {
    let packet = SimPacket { flow, bytes, dscp: 0, sequence };
    let mut frame = packet.frame().expect("a small number").bytes().to_vec();
    frame.resize(bytes as usize, 0);
    frame[UDP..UDP + 2].copy_from_slice(&(2000 + connection as u16).to_be_bytes());
    frame[IP + 1] |= ECN[connection] as u8;
    put_checksum(&mut frame);
    frame
}

fn checksum(frame: &[u8]) -> u16 {
    let header = frame[IP..UDP].chunks(2).enumerate().filter(|(i, _)| *i != 5);
    let sum: u32 = header.map(|(_, w)| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded + (folded >> 16)) as u16)
}

fn put_checksum(frame: &mut [u8]) {
    let sum = checksum(frame);
    frame[IP + 10..IP + 12].copy_from_slice(&sum.to_be_bytes());
}

/// The outcomes, by the numbers of arrivals.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    sent: Vec<(u64, Time)>,
    marked: BTreeSet<u64>,
}

impl Observer for Seen {
    fn arrived(&mut self, _: &Packet) {}

    fn sent(&mut self, departure: &Departure, end: Time) {
        self.sent.push((departure.packet.seq, end));
    }

    fn dropped(&mut self, _: Time, packet: &Packet, _: DropReason) {
        self.marked.remove(&packet.seq);
    }

    fn marked(&mut self, _: Time, packet: &Packet) {
        assert!(self.marked.insert(packet.seq), "marked twice");
    }
}

/// Plays 5000 frames at 1.3 times the link's rate through a forwarder, and looks at those that
/// leave; returns what was seen, the recorded arrivals, and the counts of marks and AQM drops.
fn forward(scenario: &Scenario, policy: &str) -> (Seen, Vec<Arrival>, [u64; 2]) {
    const MANY: u64 = 5000;
    let mut forwarder =
        Forwarder::new(scenario, policy, LinkType::ETHERNET, FlowHasher::fixed()).expect(policy);
    forwarder.record(MANY as usize + 1);
    let mut state = 5;
    let (mut numbers, mut connections) = (BTreeMap::new(), Vec::new());
    let mut seen = Seen::default();
    let mut now = 1_000_000;
    let mut serve = |forwarder: &mut Forwarder,
                     numbers: &BTreeMap<u64, u64>,
                     connections: &[Option<usize>],
                     until: Time| {
        while let Some(outgoing) = forwarder.depart(until) {
            let packet = outgoing.departure.packet;
            let number = numbers[&packet.seq];
            let frame = forwarder.frames().frame(outgoing.slot());
            let headers = decode(LinkType::ETHERNET, frame);
            let sum = u16::from_be_bytes([frame[IP + 10], frame[IP + 11]]);
            assert_eq!(sum, checksum(frame), "{number}");
            let before = connections[number as usize].map_or(Ecn::NotEct, |c| ECN[c]);
            let after = Ecn::of_traffic_class(headers.ecn.unwrap());
            if after != before {
                assert_eq!(after, Ecn::Ce);
                assert!(before.is_capable(), "{number}");
                seen.marked.insert(number);
            }
            let wire = u128::from(packet.wire) * 8 * 1_000_000_000;
            let end = Time(outgoing.start.0 + wire.div_ceil(10_000_000) as u64);
            seen.sent.push((number, end));
            forwarder.sent(&outgoing, outgoing.start);
        }
    };
    for number in 0..MANY {
        now += draw(&mut state, 1_400_000);
        let voice = draw(&mut state, 10) == 0;
        let connection = draw(&mut state, ECN.len() as u64) as usize;
        let bytes = if voice { 200 } else { 400 + draw(&mut state, 1100) as u32 };
        let frame = match voice {
            true => frame(0, bytes, 0, number),
            false => frame(1, bytes, connection, number),
        };
        connections.push((!voice).then_some(connection));
        serve(&mut forwarder, &numbers, &connections, Time(now - 1));
        let slot = forwarder.pool().allocate().expect("a buffer is free");
        forwarder.pool().buffer(slot)[..frame.len()].copy_from_slice(&frame);
        forwarder.pool().received(slot, frame.len(), Time(now));
        numbers.insert(slot.number(), number);
        forwarder.arrive(slot);
    }
    serve(&mut forwarder, &numbers, &connections, Time::MAX);
    let (free, all) = (forwarder.pool().free(), forwarder.pool().slots());
    assert_eq!(all - free, forwarder.waiting(), "buffers are lost");
    let bulk = &forwarder.counts().classes[1];
    let counts = [bulk.ecn_marks, bulk.dropped[DropReason::Aqm.index()]];
    let (arrivals, complete) = forwarder.recorded().unwrap();
    assert!(complete);
    for (arrival, connection) in arrivals.iter().zip(&connections) {
        let expected = connection.map_or((FlowId(0), Ecn::NotEct), |c| (FlowId(1), ECN[c]));
        assert_eq!((arrival.flow, arrival.ecn), expected);
    }
    let bulk = arrivals.iter().zip(&connections).filter_map(|(a, c)| Some((a.key, (*c)?)));
    let keys: BTreeSet<(u64, usize)> = bulk.collect();
    let flows: BTreeSet<u64> = keys.iter().map(|(key, _)| *key).collect();
    let queues = if scenario.best_effort[0].flows.is_some() { ECN.len() } else { 1 };
    assert_eq!((keys.len(), flows.len()), (ECN.len(), queues), "a key for each connection");
    (seen, arrivals, counts)
}

/// Fails when keys or ECN fields do not reach the policy, when a mark is not written into the frame
/// that the policy means, or breaks its checksum, and when a buffer is lost with a packet that an
/// AQM drops.
#[test]
fn packets_are_dropped_and_marked_as_in_the_simulator() {
    for setting in SETTINGS {
        let scenario = scenario(setting);
        for policy in ["slack", "exact", "shifted-line", "background"] {
            let place = format!("{policy}, {setting}");
            let (forwarded, arrivals, [marks, aqm_drops]) = forward(&scenario, policy);
            let congested = (0..).zip(&arrivals).filter(|(_, a)| a.ecn == Ecn::Ce);
            let congested: BTreeSet<u64> = congested.map(|(number, _)| number).collect();
            let traffic = Traffic::Recorded(arrivals.into());
            let mut simulated = Seen::default();
            let run =
                simulate(&scenario, policy, 0, &traffic, Some(&mut simulated), &Control::default());
            let run = run.expect(policy);
            for (forwarded, simulated) in forwarded.sent.iter().zip(&simulated.sent) {
                assert_eq!(forwarded, simulated, "{place}");
            }
            assert_eq!(forwarded.sent.len(), simulated.sent.len(), "{place}");
            let bulk = &run.result(&scenario).flows["bulk"];
            let expected = [bulk.ecn_marks.unwrap_or(0), bulk.aqm_drops.unwrap_or(0)];
            assert_eq!([marks, aqm_drops], expected, "{place}");
            // Packets that carried CE before show no difference.
            simulated.marked.retain(|number| !congested.contains(number));
            assert_eq!(forwarded.marked, simulated.marked, "{place}");
            let (managed, marking) = (setting.contains("aqm"), !setting.contains("ecn = false"));
            assert_eq!(aqm_drops > 0, managed, "{place}");
            assert_eq!(!forwarded.marked.is_empty(), managed && marking, "{place}");
        }
    }
}
