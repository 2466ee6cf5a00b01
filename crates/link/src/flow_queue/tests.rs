use alloc::{collections::VecDeque, vec, vec::Vec};

use laxity_core::{FlowId, Time};

use super::*;
use crate::config::Hosts;
use crate::flow_key;
use pool::Pool;

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % n
    }
}

/// The flow queues with their packets.
struct Queues {
    flows: FlowQueues,
    fifos: Vec<Fifo>,
    pool: Pool,
    seq: u64,
}

impl Queues {
    fn new(by: QueueBy, hosts: Hosts, queues: u32, quantum: u32) -> Queues {
        let config = FlowQueueing { by, hosts, queues };
        let fifos = vec![Fifo::EMPTY; queues as usize];
        Queues { flows: FlowQueues::new(&config, quantum), fifos, pool: Pool::new(10_000), seq: 0 }
    }

    fn enqueue(&mut self, key: u64, wire: u32) -> usize {
        self.seq += 1;
        let packet = Packet::new(self.seq, Time::ZERO, FlowId(0), wire, wire);
        let packet = Packet { key, ..packet };
        let queue = self.flows.queue(&packet);
        self.pool.push(&mut self.fifos[queue], packet, 0).unwrap();
        self.flows.arrived(queue, &packet, &self.fifos[queue]);
        queue
    }

    /// The oldest packet of a queue leaves.
    fn pop(&mut self, queue: usize) -> Packet {
        let packet = self.pool.pop(&mut self.fifos[queue]).unwrap();
        self.flows.changed(queue, &self.fifos[queue]);
        packet
    }

    fn send(&mut self) -> Option<Packet> {
        let queue = self.flows.select(&self.fifos)?;
        assert!(self.fifos[queue].packets > 0);
        let packet = self.pop(queue);
        self.flows.charge(queue, packet.wire);
        Some(packet)
    }
}

/// DRR++ as RFC 8290 prints it: lists of flows, each with its packets.
#[derive(Default)]
struct Model {
    queues: Vec<(i64, VecDeque<u32>)>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl Model {
    fn enqueue(&mut self, flow: usize, wire: u32, quantum: u32) {
        self.queues[flow].1.push_back(wire);
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.queues[flow].0 = i64::from(quantum);
            self.new.push_back(flow);
        }
    }

    fn select(&mut self, quantum: u32) -> Option<usize> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let flow = *list.front()?;
            if self.queues[flow].0 <= 0 {
                list.pop_front();
                self.queues[flow].0 += i64::from(quantum);
                self.old.push_back(flow);
            } else if self.queues[flow].1.is_empty() {
                list.pop_front();
                if is_new && !self.old.is_empty() {
                    self.old.push_back(flow);
                }
            } else {
                return Some(flow);
            }
        }
    }
}

// Fails when a new flow does not go first, when an emptied new flow stays new, when a flow keeps its
// turn beyond its quantum, or when a drop costs deficit.
#[test]
fn the_order_is_that_of_rfc_8290() {
    const QUANTUM: u32 = 300;
    let mut rng = Rng(1);
    let mut queues = Queues::new(QueueBy::FiveTuple, Hosts::Both, 64, QUANTUM);
    let mut model = Model { queues: vec![(0, VecDeque::new()); 64], ..Model::default() };
    let (mut sent, mut waiting) = (0, 0);
    for step in 0..200_000u64 {
        // Busy and idle times take turns, with some flows much busier than others.
        let arrives = if step / 500 % 2 == 0 { 6 } else { 3 };
        if rng.below(10) < arrives && waiting < 3000 {
            let hash = (rng.below(24) * rng.below(24) / 24) as u32;
            let wire = 20 + rng.below(u64::from(QUANTUM) - 20) as u32;
            let queue = queues.enqueue(u64::from(hash), wire);
            model.enqueue(queue, wire, QUANTUM);
            waiting += 1;
            continue;
        }
        let queue = queues.flows.select(&queues.fifos);
        assert_eq!(queue, model.select(QUANTUM), "step {step}");
        let Some(queue) = queue else { continue };
        let (packet, wire) = (queues.pop(queue), model.queues[queue].1.pop_front().unwrap());
        assert_eq!(packet.wire, wire);
        waiting -= 1;
        if rng.below(8) > 0 {
            queues.flows.charge(queue, wire);
            model.queues[queue].0 -= i64::from(wire);
            sent += 1;
        }
    }
    assert!(sent > 50_000 && queues.flows.collisions() == 0, "{sent}");
}

/// Bytes sent of each of `flows`, which always wait, until `total` bytes are sent.
fn shares(queues: &mut Queues, flows: &[(u64, u32)], total: u64) -> Vec<u64> {
    let mut sent = vec![0u64; flows.len()];
    for (key, wire) in flows {
        for _ in 0..4 {
            queues.enqueue(*key, *wire);
        }
    }
    while sent.iter().sum::<u64>() < total {
        let packet = queues.send().unwrap();
        let flow = flows.iter().position(|(key, _)| *key == packet.key).unwrap();
        sent[flow] += u64::from(packet.wire);
        queues.enqueue(packet.key, packet.wire);
    }
    sent
}

// Fails when a flow that lacks many rounds is visited too early or too late: packets are larger than
// the quantum, by different factors.
#[test]
fn flows_share_alike_whatever_the_size_of_their_packets() {
    let mut queues = Queues::new(QueueBy::FiveTuple, Hosts::Both, 64, 300);
    let flows = [(1, 1514), (2, 64), (3, 9000), (4, 300), (5, 1000)];
    let sent = shares(&mut queues, &flows, 10_000_000);
    for bytes in &sent {
        assert!(bytes.abs_diff(2_000_000) < 20_000, "{sent:?}");
    }
}

// Fails when the flows of a host are counted at the wrong end, when the greater of the two counts
// does not decide, when the remainder of the division is lost, or a flow stays counted.
#[test]
fn hosts_share_alike_whatever_the_number_of_their_flows() {
    let part = |sent: &[u64], of: core::ops::Range<usize>| {
        sent[of].iter().sum::<u64>() * 1000 / sent.iter().sum::<u64>()
    };
    // Host 1 has one flow, host 2 has 9, host 3 has 40, to destinations of their own.
    let mut flows = vec![(flow_key(1, 1, 101), 1514)];
    flows.extend((0..9).map(|i| (flow_key(10 + i, 2, 110 + i as u16), 1514)));
    flows.extend((0..40).map(|i| (flow_key(100 + i, 3, 200 + i as u16), 1514)));
    for hosts in [Hosts::Both, Hosts::Source] {
        let mut queues = Queues::new(QueueBy::HostAndFlow, hosts, 1024, 1514);
        // Twice, since flows become idle and begin again in between.
        for _ in 0..2 {
            let sent = shares(&mut queues, &flows, 60_000_000);
            for host in [0..1, 1..10, 10..50] {
                assert!(part(&sent, host).abs_diff(333) <= 10, "{hosts:?} {sent:?}");
            }
            while queues.send().is_some() {}
        }
    }
    // Destinations alone: each flow has its own.
    let mut queues = Queues::new(QueueBy::HostAndFlow, Hosts::Destination, 1024, 1514);
    let sent = shares(&mut queues, &flows, 60_000_000);
    assert!(part(&sent, 0..1).abs_diff(20) <= 2, "{sent:?}");
    // One source with 10 flows to one destination, beside one flow each of ten sources to another:
    // both destinations have 10, so all are alike; with one more end they are not.
    let mut flows: Vec<_> = (0..10).map(|i| (flow_key(i, 1, 7), 1514)).collect();
    flows.extend((0..10).map(|i| (flow_key(50 + i, 20 + i as u16, 8), 1514)));
    flows.push((flow_key(90, 40, 9), 1514));
    let mut queues = Queues::new(QueueBy::HostAndFlow, Hosts::Both, 1024, 1514);
    let sent = shares(&mut queues, &flows, 60_000_000);
    for group in [0..10, 10..20, 20..21] {
        assert!(part(&sent, group).abs_diff(333) <= 10, "{sent:?}");
    }
}

// A host with 1000 flows has 1.5 bytes of quantum for each, so without skipping each would be
// visited a thousand times for a packet. Fails when rounds are visited in which no flow can send.
#[test]
fn a_packet_takes_few_visits_however_many_flows_a_host_has() {
    let mut queues = Queues::new(QueueBy::HostAndFlow, Hosts::Both, 4096, 1514);
    let mut flows: Vec<_> = (0..1000).map(|i| (flow_key(i, 3, 200), 1514)).collect();
    flows.push((flow_key(5000, 4, 201), 1514));
    let sent = shares(&mut queues, &flows, 60_000_000);
    let packets = sent.iter().sum::<u64>() / 1514;
    assert!(queues.flows.visits < 4 * packets, "{} for {packets}", queues.flows.visits);
}

// Fails when a flow does not get its own queue back, or one in use is given away while another of
// the set is idle.
#[test]
fn flows_collide_only_when_their_set_is_full() {
    let mut table = Table::new(64);
    let mut used = [false; 64];
    // Nine flows of one set: the ninth shares.
    for i in 0..9u32 {
        let hash = 3 + 8 * i * 7919;
        let queue = table.queue(hash, |queue| !used[queue]);
        assert_eq!(queue / 8, 3);
        assert_eq!(used[queue], i == 8, "{i}");
        used[queue] = true;
        assert_eq!(table.queue(hash, |_| false), queue);
    }
    assert!(table.collisions >= 1);
    // Of 400 flows in 1024 queues hardly any shares.
    let mut rng = Rng(5);
    let (mut table, mut used) = (Table::new(1024), vec![false; 1024]);
    let mut shared = 0;
    for _ in 0..400 {
        let hash = (rng.below(1 << 31) << 1 | rng.below(2)) as u32;
        let queue = table.queue(hash, |queue| !used[queue]);
        shared += u32::from(used[queue]);
        used[queue] = true;
    }
    assert!(shared <= 6, "{shared}");
}
