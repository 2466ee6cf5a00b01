//! Earliest deadline first: the hold model on 64 relative deadlines.
//!
//! One operation removes the packet that is due first and adds one, of a random class, that is due
//! its class's relative deadline after that instant; so the number of packets stays. Deadlines are
//! 1 to about 96 ms, and the queue starts as it is in the long run: a class's share is
//! proportional to its deadline.

use std::hint::black_box;

use laxity_core::{FlowId, Time};
use laxity_link::Packet;
use laxity_link::edf::{EdfQueue, Entry};

use crate::baselines::deadline_queues::{Binary, DeadlineQueue, Quaternary, Radix, Tree};
use crate::{Contender, Group, Random};

const CLASSES: usize = 64;

pub(crate) fn groups() -> Vec<Group> {
    [(10_000, "10k"), (1_000_000, "1m")].into_iter().map(|(n, label)| group(n, label)).collect()
}

fn group(n: usize, label: &str) -> Group {
    Group(vec![
        Contender::new(format!("edf/64-classes/{label}"), move || edf_queue(n)),
        Contender::new(format!("edf/binary-heap/{label}"), move || deadline_queue::<Binary>(n)),
        Contender::new(format!("edf/btreemap/{label}"), move || deadline_queue::<Tree>(n)),
        Contender::new(format!("edf/4-ary-heap/{label}"), move || deadline_queue::<Quaternary>(n)),
        Contender::new(format!("edf/radix-heap/{label}"), move || deadline_queue::<Radix>(n)),
    ])
}

/// Relative deadline of each class in nanoseconds.
fn deadlines() -> [u64; CLASSES] {
    std::array::from_fn(|c| 1_000_000 + 1_511_111 * c as u64)
}

#[inline]
fn entry(seq: u64, class: usize, deadline: u64) -> Entry {
    let (arrival, flow) = (Time(seq), FlowId(class as u32));
    let packet = Packet::new(seq, arrival, flow, 1000, 1000);
    Entry { deadline: Time(deadline), packet }
}

/// `n` packets as they wait in the long run: (class, entry), by deadline within a class.
fn waiting(n: usize) -> Vec<(usize, Entry)> {
    let deadlines = deadlines();
    let sum: u64 = deadlines.iter().sum();
    let mut all = Vec::with_capacity(n);
    for (class, d) in deadlines.into_iter().enumerate() {
        let rest = n - all.len();
        let share = if class + 1 == CLASSES { rest } else { (n as u64 * d / sum) as usize };
        for i in 0..share {
            let deadline = d * (i as u64 + 1) / share as u64;
            all.push((class, entry(all.len() as u64, class, deadline)));
        }
    }
    all
}

fn edf_queue(n: usize) -> impl FnMut(u64) {
    let mut queue = EdfQueue::new(CLASSES, n);
    for (class, entry) in waiting(n) {
        queue.push(class, entry).expect("as many slots as packets");
    }
    let (deadlines, mut random, mut seq) = (deadlines(), Random(1), n as u64);
    move |count| {
        for _ in 0..count {
            let Some(first) = queue.pop() else { return };
            let first = black_box(first);
            let class = random.below(CLASSES as u64) as usize;
            seq += 1;
            let pushed = queue.push(class, entry(seq, class, first.deadline.0 + deadlines[class]));
            debug_assert!(pushed.is_ok());
        }
    }
}

fn deadline_queue<Q: DeadlineQueue + 'static>(n: usize) -> impl FnMut(u64) {
    let mut queue = Q::new();
    for (_, entry) in waiting(n) {
        queue.push(entry);
    }
    let (deadlines, mut random, mut seq) = (deadlines(), Random(1), n as u64);
    move |count| {
        for _ in 0..count {
            let Some(first) = queue.pop() else { return };
            let first = black_box(first);
            let class = random.below(CLASSES as u64) as usize;
            seq += 1;
            queue.push(entry(seq, class, first.deadline.0 + deadlines[class]));
        }
    }
}
