//! After set-up the hot paths do not allocate: a counting allocator sees every call.

#[path = "../../core/tests/allocations/mod.rs"]
mod allocations;

use std::ops::ControlFlow;

use laxity_bench::Random;
use laxity_bench::workload::{Link, access_link, arrivals};
use laxity_core::{Bytes, FlowId, LinkClock, Time, Weight};
use laxity_link::config::{Aqm, Buffer, FairQueue as Kind, FlowQueueing, LinkConfig, QueueBy};
use laxity_link::ecn::Ecn;
use laxity_link::edf::{EdfQueue, Entry};
use laxity_link::fair::{Fair, FairQueue as _};
use laxity_link::registry::{self, POLICIES, Visitor};
use laxity_link::{LinkPolicy, Packet};
use laxity_traffic::Arrival;

/// Fails when `work` allocates, reallocates or frees.
fn without_allocating(name: &str, work: impl FnOnce()) {
    let before = allocations::calls();
    work();
    let calls = allocations::calls() - before;
    assert_eq!(calls, 0, "{name} called the allocator {calls} times");
}

fn packet(seq: u64, random: &mut Random) -> Packet {
    let wire = 64 + random.below(1400) as u32;
    Packet::new(seq, Time(seq), FlowId(0), wire, wire)
}

/// Fills beyond the last slot, drains, and goes on at random.
fn edf() {
    const CLASSES: usize = 64;
    let mut queue = EdfQueue::new(CLASSES, 5000);
    let mut random = Random(1);
    without_allocating("EDF", || {
        for round in 0..5u64 {
            for seq in 0..20_000 {
                let now = round * 20_000 + seq;
                let class = random.below(CLASSES as u64) as usize;
                if random.below(10) < 4 + 2 * (round % 2) {
                    let deadline = Time(now + 1000 * class as u64);
                    let _ = queue.push(class, Entry { deadline, packet: packet(now, &mut random) });
                } else {
                    queue.pop();
                }
                queue.work_until(class, Time(now + 500));
            }
            let _ = queue.visit_merged(|_, _| ControlFlow::<()>::Continue(()));
        }
    });
    assert!(queue.len() > 100);
}

fn fair(kind: Kind) {
    const CLASSES: usize = 100;
    let weights: Vec<Weight> = (0..CLASSES as u32).map(|c| Weight(1 + c * 7919)).collect();
    let mut queue = Fair::new(kind, &weights, 3000).unwrap();
    let mut random = Random(2);
    without_allocating("fair queue", || {
        for seq in 0..50_000 {
            let class = random.below(CLASSES as u64) as usize;
            let filling = (seq / 10_000) % 2 == 0;
            match random.below(10) {
                0..=6 if filling => drop(queue.enqueue(Time(seq), class, packet(seq, &mut random))),
                7 => drop(queue.push_out()),
                8 => drop(queue.drop_tail(class)),
                _ => drop(queue.dequeue(Time(seq))),
            }
        }
    });
}

/// The whole way of a packet under every policy, floods and refusals included.
fn pipelines() {
    struct Play(LinkConfig, Vec<Arrival>);
    impl Visitor for Play {
        type Output = ();
        fn visit<P: LinkPolicy + Send + 'static>(self, policy: P) {
            let Play(setup, arrivals) = self;
            let mut link = Link::new(&setup, policy);
            let mut sent = 0;
            without_allocating("pipeline", || {
                for arrival in &arrivals {
                    sent += link.play(*arrival, &mut |_| ());
                }
            });
            assert!(sent > 1000);
        }
    }
    let scenario = access_link();
    let mut setup = scenario.setup();
    // Small enough for push-out.
    setup.buffer = Some(Buffer { total: Bytes(400_000), best_effort: Bytes(20_000) });
    let mut arrivals = arrivals(&scenario, 10);
    for packet in arrivals.iter_mut().skip(20_000) {
        // A time in which everything comes at twice the speed: shaping, floods, refusals.
        packet.time = Time(packet.time.0 / 2 + 1_000_000_000);
    }
    arrivals.sort_by_key(|a| a.time);
    for policy in POLICIES {
        let play = Play(setup.clone(), arrivals.clone());
        registry::visit(policy.name, &setup, play).expect("the access link suits every policy");
    }
}

/// The same with flow queues and AQM, flows of many keys and ECN-capable packets among them.
fn flow_queues() {
    struct Play(LinkConfig, Vec<Arrival>);
    impl Visitor for Play {
        type Output = ();
        fn visit<P: LinkPolicy + Send + 'static>(self, mut policy: P) {
            let Play(setup, arrivals) = self;
            let mut clock = LinkClock::new(setup.rate).expect("a link has a rate");
            let (mut sent, mut signals, mut last) = (0, 0, Time::ZERO);
            without_allocating("flow queues", || {
                let mut drops = |_: Time, _: &Packet, _| signals += 1;
                for (seq, arrival) in (0u64..).zip(&arrivals) {
                    while clock.free_at() < arrival.time {
                        let now = clock.free_at().max(last);
                        let Some(departure) = policy.dequeue(now, &mut drops) else { break };
                        clock.transmit(now, Bytes(u64::from(departure.packet.wire)));
                        sent += 1;
                    }
                    last = arrival.time;
                    let wire = setup.wire.of(arrival.bytes);
                    let packet = Packet::new(seq, arrival.time, arrival.flow, arrival.bytes, wire);
                    let key = seq.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 5000 * 0x1_0003_0001;
                    let ecn = Ecn::of_traffic_class(seq as u8);
                    policy.enqueue(arrival.time, Packet { key, ecn, ..packet }, &mut drops);
                }
            });
            assert!(sent > 1000 && signals > 100, "{sent} {signals}");
        }
    }
    let scenario = access_link();
    let mut setup = scenario.setup();
    setup.buffer = Some(Buffer { total: Bytes(400_000), best_effort: Bytes(60_000) });
    let flows = FlowQueueing { by: QueueBy::HostAndFlow, queues: 256, ..FlowQueueing::default() };
    for (class, aqm) in setup.best_effort.iter_mut().zip([Aqm::CODEL, Aqm::PIE, Aqm::L4S]) {
        (class.flows, class.aqm) = (Some(flows), aqm);
    }
    let mut arrivals = arrivals(&scenario, 10);
    for packet in &mut arrivals {
        packet.time = Time(packet.time.0 / 2);
    }
    for policy in POLICIES {
        let play = Play(setup.clone(), arrivals.clone());
        registry::visit(policy.name, &setup, play).expect("the access link suits every policy");
    }
}

#[test]
fn hot_paths_do_not_allocate() {
    edf();
    pipelines();
    flow_queues();
    for kind in [Kind::Wfq, Kind::Scfq, Kind::Wf2qPlus] {
        fair(kind);
    }
    // The counter itself works.
    let before = allocations::calls();
    drop(std::hint::black_box(Box::new(1)));
    assert!(allocations::calls() >= before + 2);
}
