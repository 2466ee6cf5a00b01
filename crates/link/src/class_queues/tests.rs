use alloc::{vec, vec::Vec};

use laxity_core::{Bytes, FlowId, Rate, Weight};
use laxity_curve::{Blocking, Guarantee};

use super::*;
use crate::Wire;
use crate::buffer::DropReason;
use crate::config::{
    Aqm as Settings, BestEffortClass, FairQueue, Hosts, Options, QueueBy, Release,
};
use crate::flow_key;

/// 10 Mbit/s, packets of up to 1500 bytes.
fn config(classes: Vec<BestEffortClass>) -> LinkConfig {
    LinkConfig {
        rate: Rate(10_000_000),
        max_packet: Bytes(1500),
        wire: Wire::default(),
        downstream_backlog: Bytes(0),
        realtime: vec![],
        best_effort: classes,
        buffer: None,
        groups: vec![],
        fair_queue: FairQueue::Wfq,
        blocking: Blocking::Paper,
        guarantee: Guarantee::Realtime,
        release: Release::Arrival,
        aqm_seed: 3,
        options: Options::default(),
    }
}

fn class(flows: Option<FlowQueueing>, aqm: Settings) -> BestEffortClass {
    BestEffortClass { flows, aqm, ..BestEffortClass::new(Weight::ONE, None) }
}

/// Counts marks, and drops by reason.
#[derive(Default)]
struct Seen {
    marked: Vec<u64>,
    dropped: usize,
}

impl DropSink for Seen {
    fn dropped(&mut self, _: Time, _: &Packet, _: DropReason) {
        self.dropped += 1;
    }

    fn marked(&mut self, _: Time, packet: &Packet) {
        assert_eq!(packet.ecn, Ecn::Ce);
        self.marked.push(packet.seq);
    }
}

struct Driver {
    queues: ClassQueues,
    seen: Seen,
    now: u64,
    seq: u64,
}

impl Driver {
    fn new(config: &LinkConfig, slots: usize) -> Driver {
        let queues = ClassQueues::new(config, slots, false).unwrap();
        Driver { queues, seen: Seen::default(), now: 0, seq: 0 }
    }

    fn enqueue(&mut self, class: usize, key: u64, ecn: Ecn, wire: u32) -> bool {
        self.seq += 1;
        let packet = Packet::new(self.seq, Time(self.now), FlowId(class as u32), wire, wire);
        let packet = Packet { key, ecn, ..packet };
        self.queues.enqueue(Time(self.now), class, packet, &mut self.seen).is_ok()
    }

    /// Sends the next packet that its AQM lets pass, if any, at the rate of the link.
    fn send(&mut self) -> Option<Packet> {
        loop {
            let candidate = self.queues.select(Time(self.now))?;
            let drop = self.queues.judge(&candidate, Time(self.now)) == Verdict::Drop;
            let packet = self.queues.remove(&candidate, !drop);
            if !drop {
                self.now += u64::from(packet.wire) * 800;
                return Some(packet);
            }
            self.seen.dropped += 1;
        }
    }
}

const FLOWS: FlowQueueing =
    FlowQueueing { by: QueueBy::HostAndFlow, hosts: Hosts::Both, queues: 1024 };

// A flood of random ports from one host at three times the rate, beside one flow of another host.
// Fails when its flows count as so many hosts, or when an empty queue need not pay what it owes.
#[test]
fn a_flood_of_ports_from_one_host_gets_the_share_of_one_host() {
    let mut driver = Driver::new(&config(vec![class(Some(FLOWS), Settings::None)]), 4000);
    let (mut draw, mut sent, mut lost) = (1u64, [0u64; 2], [0u64; 2]);
    let host = |p: &Packet| usize::from(p.host_source() == 2);
    for step in 0..200_000 {
        for _ in 0..3 {
            draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(11);
            driver.enqueue(0, flow_key((draw >> 32) as u32, 2, 300), Ecn::NotEct, 1000);
        }
        driver.enqueue(0, flow_key(77, 1, 301), Ecn::NotEct, 1000);
        while driver.queues.len() > 3000 {
            assert!(driver.queues.push_out(None, &mut |p| lost[host(&p)] += 1));
        }
        if let Some(packet) = driver.send().filter(|_| step > 20_000) {
            sent[host(&packet)] += 1;
        }
    }
    // The flooder also shares the other host's queue now and then.
    assert!(sent[0] * 100 > (sent[0] + sent[1]) * 45, "{sent:?} {lost:?}");
}

// Fails when the newest packets are pushed out, when more than half of a queue is, when more than 64
// are, or when another queue is chosen than the longest.
#[test]
fn push_out_takes_the_oldest_half_of_the_fattest_flow_of_the_longest_class() {
    let classes = vec![class(Some(FLOWS), Settings::None), class(Some(FLOWS), Settings::CODEL)];
    let mut driver = Driver::new(&config(classes), 1000);
    for flow in 0..5 {
        for _ in 0..10 + 10 * flow {
            assert!(driver.enqueue(0, flow_key(flow, 9, 9), Ecn::NotEct, 100));
            assert!(driver.enqueue(1, flow_key(flow, 9, 9), Ecn::NotEct, 110));
        }
    }
    let mut out = vec![];
    assert!(driver.queues.push_out(None, &mut |p| out.push(p)));
    assert_eq!(out.len(), 25);
    assert!(out.iter().all(|p| p.flow == FlowId(1) && p.flow_hash() == 4));
    assert!(out.windows(2).all(|w| w[0].seq < w[1].seq) && out[0].seq < 240);
    out.clear();
    assert!(driver.queues.push_out(Some(0), &mut |p| out.push(p)));
    assert!(out.iter().all(|p| p.flow == FlowId(0) && p.flow_hash() == 4));
    for _ in 0..400 {
        driver.enqueue(0, 8, Ecn::NotEct, 100);
    }
    out.clear();
    assert!(driver.queues.push_out(None, &mut |p| out.push(p)));
    assert_eq!(out.len(), 64);
    let mut left = driver.queues.len();
    while driver.queues.push_out(None, &mut |_| left -= 1) {}
    assert_eq!((left, driver.queues.len()), (0, 0));
    assert!(driver.queues.select(Time::ZERO).is_none());
}

// One flow with 20 packets, beside 30 flows of another host with 6 each. Fails when the flows of a
// host are not counted together.
#[test]
fn push_out_begins_with_the_host_that_has_the_most() {
    let mut driver = Driver::new(&config(vec![class(Some(FLOWS), Settings::None)]), 1000);
    let fill = |driver: &mut Driver, count: u32| {
        for _ in 0..count {
            for flow in 0..30 {
                driver.enqueue(0, flow_key(flow, 2, 40 + flow as u16), Ecn::NotEct, 1000);
            }
        }
    };
    for _ in 0..20 {
        driver.enqueue(0, flow_key(99, 1, 30), Ecn::NotEct, 1000);
    }
    fill(&mut driver, 6);
    // Each flow has used its first quantum then.
    for _ in 0..31 {
        driver.send();
    }
    driver.queues.select(Time::ZERO);
    fill(&mut driver, 1);
    let mut out = vec![];
    assert!(driver.queues.push_out(None, &mut |p| out.push(p.host_source())));
    assert!(!out.is_empty() && out.iter().all(|host| *host == 2), "{out:?}");
}

// Fails when the pool grows beyond its slots, or a place is lost.
#[test]
fn no_more_packets_wait_than_there_are_slots() {
    let mut driver = Driver::new(&config(vec![class(Some(FLOWS), Settings::CODEL)]), 100);
    for round in 0..50 {
        let mut kept = 0;
        for i in 0..150 {
            kept += usize::from(driver.enqueue(0, i * 7 + round, Ecn::NotEct, 200));
        }
        assert_eq!((kept, driver.queues.len()), (100, 100));
        while driver.send().is_some() {}
        assert!(driver.queues.is_empty());
    }
}

// A class without flow queues refuses new packets at its limit, as without any AQM.
#[test]
fn a_class_that_is_not_managed_pushes_out_nothing_of_itself() {
    let plain = BestEffortClass::new(Weight::ONE, None);
    let classes = vec![plain, class(None, Settings::CODEL)];
    let mut driver = Driver::new(&config(classes), 100);
    driver.enqueue(0, 0, Ecn::NotEct, 100);
    driver.enqueue(1, 0, Ecn::NotEct, 100);
    assert!(!driver.queues.push_out(Some(0), &mut |_| ()));
    assert!(driver.queues.push_out(Some(1), &mut |_| ()));
}

/// Keeps 40 packets of a flow waiting for `count` packets; returns how many were marked and dropped.
fn standing_queue(aqm: Settings, flows: Option<FlowQueueing>, ecn: Ecn, count: u64) -> [usize; 2] {
    let mut driver = Driver::new(&config(vec![class(flows, aqm)]), 1000);
    for _ in 0..count {
        while driver.queues.len() < 40 {
            driver.enqueue(0, 5, ecn, 1500);
        }
        driver.send();
    }
    [driver.seen.marked.len(), driver.seen.dropped]
}

// Fails when ECN-capable packets are dropped where they can be marked, when others are marked, when
// a mark that is owed is lost or given twice, or when an AQM does not signal at all.
#[test]
fn signals_are_marks_where_packets_can_carry_them() {
    for flows in [None, Some(FLOWS)] {
        for aqm in [Settings::CODEL, Settings::PIE, Settings::L4S] {
            let [marked, dropped] = standing_queue(aqm, flows, Ecn::NotEct, 4000);
            assert!(marked == 0 && dropped > 20, "{aqm:?}: {marked} {dropped}");
            let [marks, lost] = standing_queue(aqm, flows, Ecn::Ect0, 1000);
            assert!(marks > 10, "{aqm:?}: {marks} {lost}");
            if let Settings::Codel { .. } = aqm {
                assert!(lost == 0 && marks < 200, "{marks} {lost}");
            }
        }
    }
    // With 48 ms of queue ECT(1) is marked in each packet, from the second on.
    let [marked, dropped] = standing_queue(Settings::L4S, Some(FLOWS), Ecn::Ect1, 1000);
    assert!(marked >= 900 && dropped == 0, "{marked} {dropped}");
}

// Both wait all the time: the classic queue gets a tenth. Fails when either starves.
#[test]
fn the_classic_queue_gets_a_tenth_beside_the_low_latency_queue() {
    let mut order = DualOrder::default();
    let mut fifos = [Fifo::EMPTY; 2];
    (fifos[0].packets, fifos[1].packets) = (9, 9);
    let mut sent = [0u64; 2];
    for i in 0..10_000u32 {
        let queue = order.select(&fifos).unwrap();
        let wire = 100 + i % 1400;
        sent[queue] += u64::from(wire);
        order.charge(queue, wire, 9);
    }
    assert!(sent[0].abs_diff((sent[0] + sent[1]) / 10) < 3000, "{sent:?}");
}

// Classes of weights 3 and 1 whose candidates are dropped now and then. Fails when a drop costs its
// class, or a class is charged for another's packet.
#[test]
fn classes_share_by_weight_though_one_loses_packets() {
    for kind in [FairQueue::Wfq, FairQueue::Scfq] {
        let weighted = |w: u32| BestEffortClass {
            weight: Weight(w * 1_000_000),
            ..class(Some(FLOWS), Settings::CODEL)
        };
        let mut config = config(vec![weighted(3), weighted(1)]);
        config.fair_queue = kind;
        let mut driver = Driver::new(&config, 1000);
        let mut sent = [0u64; 2];
        for step in 0..20_000u64 {
            for class in 0..2 {
                while driver.queues.classes[class].packets < 10 {
                    driver.enqueue(class, step % 7, Ecn::NotEct, 100 + (step * 37 % 1400) as u32);
                }
            }
            let candidate = driver.queues.select(Time::ZERO).unwrap();
            let charged = candidate.class == 0 || step % 3 > 0;
            let packet = driver.queues.remove(&candidate, charged);
            if charged {
                sent[candidate.class] += u64::from(packet.wire);
            }
        }
        let part = sent[0] * 1000 / (sent[0] + sent[1]);
        assert!(part.abs_diff(750) < 5, "{kind:?} {sent:?}");
    }
}

// Fails when a size of 0 means that a class has no candidate: what is behind it then waits forever.
#[test]
fn packets_without_length_are_sent() {
    for flows in [None, Some(FlowQueueing::default())] {
        let mut driver = Driver::new(&config(vec![class(flows, Settings::CODEL)]), 8);
        for wire in [0, 100, 0] {
            assert!(driver.enqueue(0, 7, Ecn::NotEct, wire));
        }
        let mut sent = vec![];
        while let Some(candidate) = driver.queues.select(Time::ZERO) {
            sent.push(driver.queues.remove(&candidate, true).seq);
        }
        assert_eq!((sent, driver.queues.len()), (vec![1, 2, 3], 0));
    }
}
