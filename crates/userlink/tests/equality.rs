//! The link in user space decides as the simulator does, packet by packet.

mod support;

use std::collections::HashMap;

use laxity_core::{FlowId, Span, Time};
use laxity_link::buffer::DropReason;
use laxity_link::registry::{POLICIES, build};
use laxity_link::{Departure, Packet};
use laxity_scenario::link::model::Scenario;
use laxity_sim::Control;
use laxity_sim::link::{Observer, Traffic, simulate};
use laxity_trace::{LinkType, SimPacket};
use laxity_traffic::{Arrival, FlowHasher};
use laxity_userlink::forwarder::Forwarder;
use support::{draw, frame};

/// All that a policer does, small limits so that packets are dropped and pushed out, and lengths
/// beyond what flows may send.
const SCENARIO: &str = r#"
[link]
rate = "10 Mbit/s"
max_packet = "1500 B"
overhead = "24 B"
min_frame = "84 B"
buffer = { total = "60 kB", best_effort = "12 kB" }

[policy]
use = "slack"

[[realtime]]
name = "voice"
deadline = "10 ms"
envelope = { packet = "200 B", peak = "200 kB/s", burst = "600 B", rate = "40 kB/s" }
excess = "delay"
match = { dport = 49152 }

[[realtime]]
name = "video"
deadline = "40 ms"
envelope = { packet = "1400 B", peak = "1 MB/s", burst = "8 kB", rate = "300 kB/s" }
excess = "demote"
match = { dport = 49153 }

[[realtime]]
name = "control"
deadline = "20 ms"
envelope = { period = "5 ms", size = "120 B", jitter = "1 ms" }
excess = "drop"
match = { dport = 49154 }

[[best_effort]]
name = "web"
weight = 2
match = { dport = 49155 }

[[best_effort]]
name = "bulk"
weight = 0.5
match = { dport = 49156 }
"#;

fn scenario() -> Scenario {
    support::scenarios::parsed(SCENARIO)
}

/// The same with a service curve for the video, which may then send what it likes.
fn with_a_curve() -> Scenario {
    let video = "deadline = \"40 ms\"\nenvelope = { packet = \"1400 B\", peak = \"1 MB/s\", burst = \"8 \
                 kB\", rate = \"300 kB/s\" }\nexcess = \"demote\"";
    let curve = "service_curve = { m1 = \"100 kB/s\", d = \"20 ms\", m2 = \"400 kB/s\", packet = \"1450 B\" }";
    assert!(SCENARIO.contains(video));
    support::scenarios::parsed(&SCENARIO.replace(video, curve))
}

/// The same with curves, a group and an upper limit among best-effort classes.
fn with_fair_curves() -> Scenario {
    let web = "name = \"web\"\nweight = 2";
    let curve = "name = \"web\"\ngroup = \"people\"\n\
                 service_curve = { m1 = \"1 MB/s\", d = \"3 ms\", m2 = \"200 kB/s\" }";
    let group = "[[group]]\nname = \"people\"\n\
                 upper_limit = { rate = \"300 kB/s\", latency = \"1 ms\" }\n\n[[best_effort]]";
    assert!(SCENARIO.contains(web));
    let text = SCENARIO.replace(web, curve).replacen("[[best_effort]]", group, 1);
    let text = text.replace("use = \"slack\"", "use = \"slack\"\nfair_queue = \"fsc\"");
    support::scenarios::parsed(&text)
}

/// Arrivals of all flows in bursts, up to twice what the link carries.
fn arrivals(seed: u64, many: usize) -> Vec<Arrival> {
    let mut state = seed;
    let mut draw = move |below| draw(&mut state, below);
    let mut now = 1_000_000;
    let arrival = |_| {
        // Many at one instant, some a little later, sometimes a pause.
        now += match draw(10) {
            0..=3 => 0,
            4..=8 => draw(1_500_000),
            _ => draw(30_000_000),
        };
        let flow = draw(6) as u32;
        let bytes = match flow {
            0 => 60 + draw(160),
            1 => 200 + draw(1250),
            2 => 60 + draw(70),
            _ => 60 + draw(1470),
        };
        Arrival::new(Time(now), FlowId(flow), bytes as u32)
    };
    (0..many).map(arrival).collect()
}

type Sent = (u64, Time, Time, bool, bool);
type Dropped = (u64, DropReason);

#[derive(Default)]
struct Seen {
    sent: Vec<Sent>,
    dropped: Vec<Dropped>,
}

impl Observer for Seen {
    fn arrived(&mut self, _: &Packet) {}

    fn sent(&mut self, d: &Departure, end: Time) {
        self.sent.push((d.packet.seq, end, d.deadline, d.realtime, d.packet.demoted));
    }

    fn dropped(&mut self, _: Time, packet: &Packet, reason: DropReason) {
        self.dropped.push((packet.seq, reason));
    }
}

/// The forwarder on the same arrivals, made into frames; packets are identified by their buffers.
fn forward(scenario: &Scenario, policy: &str, arrivals: &[Arrival]) -> (Vec<Sent>, Forwarder) {
    let mut forwarder =
        Forwarder::new(scenario, policy, LinkType::ETHERNET, FlowHasher::fixed()).expect(policy);
    let mut numbers = HashMap::new();
    let mut sent = Vec::new();
    let mut serve = |forwarder: &mut Forwarder, numbers: &HashMap<u64, u64>, until: Time| {
        while let Some(outgoing) = forwarder.depart(until) {
            let Departure { packet, deadline, realtime, .. } = outgoing.departure;
            let wire = u128::from(packet.wire) * 8 * 1_000_000_000;
            let end = Time(outgoing.start.0 + wire.div_ceil(10_000_000) as u64);
            sent.push((numbers[&packet.seq], end, deadline, realtime, packet.demoted));
            forwarder.sent(&outgoing, outgoing.start);
        }
    };
    for (number, arrival) in (0..).zip(arrivals) {
        serve(&mut forwarder, &numbers, Time(arrival.time.0 - 1));
        let slot = frame(forwarder.pool(), arrival, number);
        numbers.insert(slot.number(), number);
        forwarder.arrive(slot);
    }
    serve(&mut forwarder, &numbers, Time::MAX);
    (sent, forwarder)
}

/// Fails when decisions fall on other instants or frames are classified otherwise: tried with
/// decisions at the arrival's instant before the arrival, and with ports of the destination
/// ignored.
#[test]
fn every_policy_sends_what_the_simulator_sends() {
    let all = POLICIES.iter().map(|p| (scenario(), p.name));
    // Not every policy has a line that is safe beside the curve.
    let setup = with_a_curve().setup();
    let curves = POLICIES.iter().filter(|p| build(p.name, &setup).is_ok());
    assert!(curves.clone().any(|p| p.name == "exact"));
    let fair = POLICIES.iter().map(|p| (with_fair_curves(), p.name));
    for (scenario, policy) in all.chain(curves.map(|p| (with_a_curve(), p.name))).chain(fair) {
        for seed in 1..=4 {
            let arrivals = arrivals(seed, 3000);
            let traffic = Traffic::Recorded(arrivals.clone().into());
            let mut seen = Seen::default();
            let run =
                simulate(&scenario, policy, 1, &traffic, Some(&mut seen), &Control::default())
                    .expect(policy);
            let (sent, mut forwarder) = forward(&scenario, policy, &arrivals);
            for (forwarded, simulated) in sent.iter().zip(&seen.sent) {
                assert_eq!(forwarded, simulated, "{policy}, seed {seed}");
            }
            assert_eq!(sent.len(), seen.sent.len(), "{policy}, seed {seed}");
            assert!(seen.dropped.len() > 100, "{policy}: too little is dropped to see anything");
            let mut waiting = 0;
            for (forwarded, simulated) in forwarder.counts().classes.iter().zip(&run.measure.flows)
            {
                assert_eq!(forwarded.delay, simulated.delay, "{policy}, seed {seed}");
                assert_eq!(
                    forwarded.demoted_delay, simulated.demoted_delay,
                    "{policy}, seed {seed}"
                );
                assert_eq!(
                    (
                        forwarded.packets,
                        forwarded.bytes,
                        forwarded.deadline_misses,
                        forwarded.max_lateness_ns
                    ),
                    (simulated.packets, simulated.bytes, simulated.missed, simulated.most_late)
                );
                let dropped: HashMap<_, _> = forwarded.drops().collect();
                let theirs_dropped: HashMap<_, _> =
                    simulated.drops.iter().map(|(why, n)| (*why, *n)).collect();
                assert_eq!(dropped, theirs_dropped, "{policy}, seed {seed}");
                waiting += forwarded.waiting();
                assert_eq!(forwarded.waiting_bytes() == 0, forwarded.waiting() == 0);
            }
            assert_eq!(forwarder.waiting() as u64, waiting);
            // Every buffer that holds no waiting packet is free again.
            let (free, all) = (forwarder.pool().free(), forwarder.pool().slots());
            assert_eq!(all - free, forwarder.waiting(), "{policy}, seed {seed}");
        }
    }
}

/// Fails when a late caller gets more at once than the credit catches up, or when what is caught
/// up is not what should have gone: tried without the floor, and with a credit of twice its size.
#[test]
fn a_late_caller_catches_up_for_the_credit_alone() {
    let mut scenario = scenario();
    scenario.link.credit = Span(2_000_000);
    let mut forwarder =
        Forwarder::new(&scenario, "fifo", LinkType::ETHERNET, FlowHasher::fixed()).expect("fifo");
    let bytes = 1226; // 1250 B on the wire: a millisecond
    let comes = |forwarder: &mut Forwarder, number, time| {
        let slot = frame(forwarder.pool(), &Arrival::new(time, FlowId(5), bytes), number);
        forwarder.arrive(slot);
    };
    for number in 0..10 {
        comes(&mut forwarder, number, Time(0));
    }
    let take = |forwarder: &mut Forwarder, now: u64| {
        forwarder.now(Time(now));
        let mut many = 0;
        while let Some(outgoing) = forwarder.depart(Time(now)) {
            forwarder.sent(&outgoing, Time(now));
            many += 1;
        }
        many
    };
    assert_eq!(take(&mut forwarder, 0), 1);
    assert_eq!(forwarder.next_event(), Some(Time(1_000_000)));
    // 1.5 ms late, within the credit: what was due at 1 and 2 ms goes.
    assert_eq!(take(&mut forwarder, 2_500_000), 2);
    assert_eq!(forwarder.counts().stalled, Span(0));
    // Due at 3 ms, asked at 7 ms: the link counts as free from 5 ms on.
    assert_eq!(take(&mut forwarder, 7_000_000), 3);
    assert_eq!(forwarder.counts().longest_stall, Span(2_000_000));
    assert_eq!(take(&mut forwarder, 9_000_000), 2);
    // The tenth had no room in the buffer.
    assert_eq!(take(&mut forwarder, 10_500_000), 1);
    // The link has idled since 11 ms; two come, at 20 and 21 ms, and are read at 25 ms.
    for (number, stamp) in [(10, 20_000_000), (11, 21_000_000)] {
        forwarder.now(Time(25_000_000));
        assert!(forwarder.depart(Time(stamp - 1)).is_none());
        comes(&mut forwarder, number, Time(stamp));
    }
    assert_eq!(take(&mut forwarder, 25_000_000), 2);
    assert_eq!(forwarder.counts().longest_stall, Span(3_000_000), "from 20 to 23 ms");
    assert_eq!((forwarder.counts().stalls, forwarder.counts().stalled), (2, Span(5_000_000)));
    // Delays are those of a wire of this rate, however fast frames are handed over.
    let delay = &forwarder.counts().classes[5].delay;
    assert_eq!(delay.min(), Some(1_000_000));
    assert_eq!(delay.max(), Some(13_000_000));
}

/// Fails when any frame makes the forwarder panic, or is lost: tried with buffers of refused frames
/// kept.
#[test]
fn any_bytes_are_a_frame() {
    let scenario = scenario();
    let mut forwarder =
        Forwarder::new(&scenario, "slack", LinkType::ETHERNET, FlowHasher::fixed()).expect("slack");
    let mut state = 11u64;
    let mut draw = move |below| draw(&mut state, below);
    let mut now = 0;
    for number in 0..60_000 {
        now += draw(2_000_000);
        let packet = SimPacket { flow: draw(7) as u32, bytes: 100, dscp: 1, sequence: number };
        let frame = packet.frame().expect("small");
        let mut bytes = [0u8; 1600];
        bytes[..42].copy_from_slice(frame.bytes());
        for _ in 0..draw(6) {
            // Tags, lengths, versions, extension headers.
            bytes[draw(60) as usize] = draw(256) as u8;
        }
        let len = match draw(4) {
            0 => draw(60),
            1 => draw(70_000),
            _ => draw(1600),
        } as usize;
        forwarder.now(Time(now.saturating_sub(draw(3_000_000))));
        while let Some(outgoing) = forwarder.depart(Time(now)) {
            if draw(20) == 0 {
                forwarder.refused(&outgoing, draw(2) == 0);
            } else {
                forwarder.sent(&outgoing, Time(now));
            }
        }
        let pool = forwarder.pool();
        let slot = pool.allocate().expect("none is lost");
        let part = len.min(pool.largest()).min(bytes.len());
        pool.buffer(slot)[..part].copy_from_slice(&bytes[..part]);
        pool.received(slot, len, Time(now.saturating_sub(draw(100_000))));
        if draw(5) == 0 {
            pool.insert_tag(slot, 0x88a8, draw(65_536) as u16);
        }
        forwarder.arrive(slot);
    }
    let waiting: u64 = forwarder.counts().classes.iter().map(|c| c.waiting()).sum();
    assert_eq!(waiting, forwarder.waiting() as u64);
    let (free, all) = (forwarder.pool().free(), forwarder.pool().slots());
    assert_eq!(all - free, forwarder.waiting());
    let arrived: u64 = forwarder.counts().classes.iter().map(|c| c.packets).sum();
    assert_eq!(arrived, 60_000);
}
