//! Fair queueing: one packet out, one in, of a class drawn by weight.
//!
//! Since classes get what they are served in the mean, they fall idle and come back all the time,
//! which is the most costly case for WFQ.

use std::hint::black_box;

use laxity_core::{FlowId, Time, Weight};
use laxity_link::Packet;
use laxity_link::config::FairQueue as Kind;
use laxity_link::fair::{Fair, FairQueue as _};

use crate::baselines::wfq_btree::WfqBtree;
use crate::{Contender, Group, Random};

/// Packets that wait, for each class.
const DEPTH: usize = 4;

pub(crate) fn groups() -> Vec<Group> {
    [3, 1000].into_iter().map(group).collect()
}

fn group(classes: usize) -> Group {
    let contender = |name: &str, kind: Kind| {
        Contender::new(format!("fair/{name}/{classes}"), move || fair_queue(kind, classes))
    };
    Group(vec![
        contender("wfq", Kind::Wfq),
        Contender::new(format!("fair/btreemap-wfq/{classes}"), move || btree_wfq(classes)),
        contender("scfq", Kind::Scfq),
        contender("wf2q+", Kind::Wf2qPlus),
    ])
}

/// 0.5, 0.2, 0.1, and so on.
fn weights(classes: usize) -> Vec<Weight> {
    (0..classes).map(|c| Weight([500_000, 200_000, 100_000][c % 3])).collect()
}

/// Arrivals: classes drawn by weight, lengths from 40 to 1500 B.
struct Arrivals {
    random: Random,
    seq: u64,
    triples: u64,
}

impl Arrivals {
    fn new(classes: usize) -> Arrivals {
        Arrivals { random: Random(1), seq: 0, triples: (classes as u64 / 3).max(1) }
    }

    #[inline]
    fn next(&mut self) -> (usize, Packet) {
        const BY_WEIGHT: [u64; 8] = [0, 0, 0, 0, 0, 1, 1, 2];
        let of_triple = BY_WEIGHT[self.random.below(8) as usize];
        let class = (3 * self.random.below(self.triples) + of_triple) as usize;
        let bytes = 40 + self.random.below(1461) as u32;
        self.seq += 1;
        let (arrival, flow) = (Time(self.seq), FlowId(class as u32));
        let packet = Packet::new(self.seq, arrival, flow, bytes, bytes);
        (class, packet)
    }
}

fn fair_queue(kind: Kind, classes: usize) -> impl FnMut(u64) {
    let mut queue = Fair::new(kind, &weights(classes), DEPTH * classes).expect("an order of tags");
    let mut arrivals = Arrivals::new(classes);
    for _ in 0..DEPTH * classes {
        let (class, packet) = arrivals.next();
        queue.enqueue(packet.arrival, class, packet).expect("as many slots as packets");
    }
    move |count| {
        for _ in 0..count {
            black_box(queue.dequeue(Time::ZERO));
            let (class, packet) = arrivals.next();
            let enqueued = queue.enqueue(packet.arrival, class, packet);
            debug_assert!(enqueued.is_ok());
        }
    }
}

fn btree_wfq(classes: usize) -> impl FnMut(u64) {
    let weights: Vec<f64> = weights(classes).iter().map(|w| f64::from(w.0) / 1e6).collect();
    let mut queue = WfqBtree::new(&weights);
    let mut arrivals = Arrivals::new(classes);
    for _ in 0..DEPTH * classes {
        let (class, packet) = arrivals.next();
        queue.enqueue(class, packet);
    }
    move |count| {
        for _ in 0..count {
            black_box(queue.dequeue());
            let (class, packet) = arrivals.next();
            queue.enqueue(class, packet);
        }
    }
}
