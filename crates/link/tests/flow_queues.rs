//! Flow queues, AQM and ECN under the deadlines, in long random runs: no real-time packet is late
//! under any policy that promises it, with hundreds of thousands of packets and drops by the AQM.

use crate::common::random::Rng;
use crate::common::{flow, periodic, safe_policies, tspec};
use laxity_core::{Bytes, FlowId, LinkClock, Rate, Span, Time, Weight};
use laxity_curve::{Blocking, Envelope, Guarantee};
use laxity_link::buffer::DropReason;
use laxity_link::config::{
    Aqm, BestEffortClass, Buffer, Excess, FairQueue, FlowQueueing, Hosts, LinkConfig, Options,
    QueueBy, Release, Sojourn,
};
use laxity_link::ecn::Ecn;
use laxity_link::police::Policer;
use laxity_link::registry::build;
use laxity_link::{DropSink, LinkPolicy, Packet, Wire, flow_key};

/// The outcome of the packets.
#[derive(Debug, Default)]
struct Outcome {
    arrived: u64,
    sent: u64,
    aqm: u64,
    pushed_out: u64,
    refused: u64,
    marked: u64,
    charged: u64,
    late: Vec<u64>,
}

impl DropSink for Outcome {
    fn dropped(&mut self, _: Time, _: &Packet, reason: DropReason) {
        match reason {
            DropReason::Aqm => self.aqm += 1,
            DropReason::PushedOut => self.pushed_out += 1,
            _ => self.refused += 1,
        }
    }

    fn marked(&mut self, _: Time, packet: &Packet) {
        assert_eq!(packet.ecn, Ecn::Ce);
        self.marked += 1;
    }
}

/// Packets of at least 200 bytes, for the overhead on the wire.
fn counted(envelope: Envelope) -> Envelope {
    envelope.with_min_packet(Bytes(200)).unwrap()
}

/// 20 Mbit/s with voice, video and a bursty flow.
fn link(classes: Vec<BestEffortClass>) -> LinkConfig {
    let realtime = vec![
        flow(periodic(20_000_000, 214, 3_000_000), 12_000_000),
        flow(counted(tspec(1400, 12_000_000, 30_000, 5_000_000)), 60_000_000),
        flow(counted(tspec(1000, 8_000_000, 9_000, 2_000_000)), 25_000_000),
    ];
    LinkConfig {
        rate: Rate(20_000_000),
        max_packet: Bytes(1514),
        wire: Wire { overhead: 20, min_frame: 84 },
        downstream_backlog: Bytes(0),
        realtime: realtime
            .into_iter()
            .map(|mut f| {
                f.excess = Excess::Demote;
                f
            })
            .collect(),
        best_effort: classes,
        buffer: Some(Buffer { total: Bytes(700_000), best_effort: Bytes(300_000) }),
        groups: vec![],
        fair_queue: FairQueue::Wfq,
        blocking: Blocking::Exact,
        guarantee: Guarantee::Realtime,
        release: Release::Arrival,
        aqm_seed: 1,
        options: Options::default(),
    }
}

/// Real time as its envelopes allow, in bursts, and now and then beyond; best effort of 30 flows at
/// more than the link carries, in waves.
fn arrivals(config: &LinkConfig, seed: u64, until: u64) -> Vec<(u64, u32, u32, u64, Ecn)> {
    let mut rng = Rng(seed);
    let mut all = vec![];
    for (k, real) in config.realtime.iter().enumerate() {
        let (mut policer, mut now) = (Policer::new(&real.envelope), 0);
        let largest = real.envelope.max_packet().0;
        while now < until {
            let bytes = if rng.chance(1, 4) { rng.range(200, largest) } else { largest } as u32;
            let Some(at) = policer.conforms_at(Time(now), bytes) else { break };
            policer.take(at, bytes);
            // One in a hundred comes too early, and is demoted.
            let early = if rng.chance(1, 100) { rng.range(0, 900_000) } else { 0 };
            all.push((
                at.0.saturating_sub(early),
                k as u32,
                bytes,
                flow_key(k as u32, 90, 91),
                Ecn::NotEct,
            ));
            now = at.0 + if rng.chance(1, 20) { rng.range(0, 60_000_000) } else { 0 };
        }
    }
    let classes = config.best_effort.len() as u64;
    for i in 0..30u64 {
        let class = config.realtime.len() as u32 + (i % classes) as u32;
        let key = flow_key(i as u32 * 977, (i % 7) as u16, (i % 5) as u16);
        let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][(i % 3) as usize];
        let sparse = i % 4 == 0;
        let mut now = rng.range(0, 100_000_000);
        while now < until {
            for _ in 0..if sparse { 1 } else { rng.range(1, 12) } {
                let bytes = if rng.chance(1, 3) { rng.range(40, 1514) } else { 1514 } as u32;
                all.push((now, class, bytes, key, ecn));
            }
            let wave = if now / 2_000_000_000 % 2 == 0 { 60_000_000 } else { 220_000_000 };
            now += rng.range(0, wave);
        }
    }
    all.sort_by_key(|a| a.0);
    all
}

fn run(name: &str, config: &LinkConfig, seed: u64, until: u64) -> Outcome {
    let mut policy = build(name, config).unwrap();
    let mut clock = LinkClock::new(config.rate).unwrap();
    let arrivals = arrivals(config, seed, until);
    let (mut outcome, mut next, mut wake) = (Outcome::default(), 0, Some(Time::ZERO));
    loop {
        let due = arrivals.get(next).map(|a| Time(a.0));
        let Some(now) = due.into_iter().chain(wake).min() else { break };
        if due == Some(now) {
            let (_, flow, bytes, key, ecn) = arrivals[next];
            let wire = config.wire.of(bytes);
            let packet = Packet::new(next as u64, now, FlowId(flow), bytes, wire);
            outcome.arrived += 1;
            policy.enqueue(now, Packet { key, ecn, ..packet }, &mut outcome);
            next += 1;
            if clock.free_at() <= now {
                wake = Some(now);
            }
            continue;
        }
        let Some(departure) = policy.dequeue(now, &mut outcome) else {
            wake = policy.next_event().filter(|at| *at > now);
            continue;
        };
        let end = clock.transmit(now, Bytes(u64::from(departure.packet.wire)));
        wake = Some(end);
        if departure.dropped {
            assert!(!departure.realtime);
            outcome.charged += 1;
            continue;
        }
        outcome.sent += 1;
        if departure.realtime && end > departure.deadline {
            outcome.late.push(end.0 - departure.deadline.0);
        }
    }
    let lost = outcome.aqm + outcome.pushed_out + outcome.refused;
    assert_eq!(outcome.sent + lost + policy.waiting() as u64, outcome.arrived, "{outcome:?}");
    outcome
}

fn class(weight: u32, flows: Option<FlowQueueing>, aqm: Aqm) -> BestEffortClass {
    let weight = Weight(weight * 1_000_000);
    BestEffortClass { flows, aqm, ..BestEffortClass::new(weight, Some(Bytes(150_000))) }
}

fn by(by: QueueBy) -> Option<FlowQueueing> {
    Some(FlowQueueing { by, hosts: Hosts::Both, queues: 256 })
}

/// Fails when a candidate starts without a decision of the discipline, when a slot keeps the deadline of a smaller
/// one, when a packet that the AQM dropped stays charged to a buffer or is counted twice, when
/// push-out leaves a slot open, when `ingress` sends what it dropped.
#[test]
fn no_realtime_packet_is_late_beside_flow_queues_and_aqm() {
    let ingress = Aqm::Codel {
        rtt: Span(60_000_000),
        target: None,
        interval: None,
        ecn: false,
        sojourn: Some(Sojourn::Link),
        ingress: true,
    };
    let sets = [
        vec![class(1, by(QueueBy::HostAndFlow), Aqm::CODEL)],
        vec![class(1, None, Aqm::PIE), class(3, by(QueueBy::FiveTuple), Aqm::PIE)],
        vec![class(2, None, Aqm::L4S), class(1, by(QueueBy::Source), Aqm::L4S)],
        vec![class(1, by(QueueBy::FiveTuple), ingress), BestEffortClass::new(Weight::ONE, None)],
    ];
    let (mut packets, mut dropped, mut marked, mut charged) = (0, 0, 0, 0);
    for (i, classes) in sets.into_iter().enumerate() {
        for name in safe_policies().chain(["best-effort-first", "fifo"]) {
            for release in [Release::Arrival, Release::HeadOfLine] {
                let mut config = link(classes.clone());
                config.release = release;
                config.fair_queue = [FairQueue::Wfq, FairQueue::Scfq][i % 2];
                config.options.allow_overtaking = i % 2 == 1;
                config.options.always_check = i == 3;
                let outcome = run(name, &config, i as u64, 6_000_000_000);
                let keeps = !matches!(name, "best-effort-first" | "fifo");
                assert!(!keeps || outcome.late.is_empty(), "{i} {name}: {outcome:?}");
                packets += outcome.arrived;
                dropped += outcome.aqm;
                marked += outcome.marked;
                charged += outcome.charged;
            }
        }
    }
    println!("{packets} packets, {dropped} dropped by AQM, {marked} marked, {charged} charged");
    assert!(packets > 300_000 && dropped > 10_000 && marked > 1000 && charged > 100);
}

/// A sparse flow beside bulk waits for a packet and real time that must go first, not for its turn.
/// Fails when the head is committed when its predecessor starts, or a new flow does not go first.
#[test]
fn sparse_flows_wait_less_in_flow_queues() {
    let mean = |flows| {
        let config = link(vec![class(1, flows, Aqm::None)]);
        let mut policy = build("slack", &config).unwrap();
        let mut clock = LinkClock::new(config.rate).unwrap();
        let (mut seq, mut pings, mut sum, mut now) = (0, 0u64, 0u64, Time::ZERO);
        let mut drops = |_: Time, _: &Packet, _: DropReason| {};
        let mut next_ping = 0;
        while now.0 < 5_000_000_000 {
            while policy.waiting() < 40 {
                let key = flow_key(seq % 4, 1, 2);
                let packet = Packet::new(seq.into(), now, FlowId(3), 1514, 1534);
                policy.enqueue(now, Packet { key, ..packet }, &mut drops);
                seq += 1;
            }
            if now.0 >= next_ping {
                next_ping = now.0 + 20_000_000;
                let packet = Packet::new(seq.into(), now, FlowId(3), 100, 120);
                policy.enqueue(now, Packet { key: flow_key(99, 3, 4), ..packet }, &mut drops);
                seq += 1;
            }
            let departure = policy.dequeue(now, &mut drops).unwrap();
            let end = clock.transmit(now, Bytes(u64::from(departure.packet.wire)));
            if departure.packet.bytes == 100 {
                (pings, sum) = (pings + 1, sum + end.since(departure.packet.arrival).0);
            }
            now = end;
        }
        sum / pings
    };
    let (fifo, queued) = (mean(None), mean(by(QueueBy::FiveTuple)));
    println!("{fifo} ns in a FIFO, {queued} ns in flow queues");
    assert!(queued < 700_000 && fifo > 20_000_000);
}

/// Fails when a number of queues is accepted that the table cannot have.
#[test]
fn numbers_of_queues_are_checked() {
    for queues in [0, 32, 63, 100, 8192] {
        let flows = FlowQueueing { queues, ..FlowQueueing::default() };
        let config = link(vec![class(1, Some(flows), Aqm::None)]);
        let error = build("exact", &config).err().map(|e| e.to_string());
        assert!(error.is_some_and(|e| e.contains("power of two")), "{queues}");
    }
}
