//! Queues and small helpers that several tests share.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::VecDeque;

use laxity_core::{Span, Time};
use laxity_stream::structure::Structure;
use laxity_stream::{
    Attributes, Decision, Dropped, Late, Meter, Options, Overdue, Queues, Scheduler, StreamId,
    Tolerance,
};

/// Streams that are always backlogged; heads are numbered by arrival time (k-th head at k), so
/// that "first come" means the lowest number.
#[derive(Clone, Debug, Default)]
pub struct Endless {
    pub heads: Vec<u64>,
    pub dropped: Vec<u64>,
}

impl Endless {
    pub fn new(streams: usize) -> Endless {
        Endless { heads: vec![0; streams], dropped: vec![0; streams] }
    }

    fn skip(&mut self, stream: StreamId, count: u64) -> Option<Time> {
        let head = &mut self.heads[stream.slot()];
        *head += count;
        Some(Time(*head))
    }
}

impl Queues for Endless {
    fn serve(&mut self, stream: StreamId) -> Option<Time> {
        self.skip(stream, 1)
    }

    fn drop_head(&mut self, stream: StreamId) -> Option<Time> {
        self.dropped[stream.slot()] += 1;
        self.skip(stream, 1)
    }

    fn drop_heads(&mut self, stream: StreamId, which: Overdue) -> Dropped {
        self.dropped[stream.slot()] += which.at_most;
        Dropped { count: which.at_most, next: self.skip(stream, which.at_most) }
    }
}

/// Real queues of arrival times, and what was taken from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fifos {
    pub queues: Vec<VecDeque<Time>>,
    /// Slot and arrival.
    pub served: Vec<(usize, Time)>,
    pub dropped: Vec<(usize, Time)>,
}

impl Fifos {
    pub fn push(&mut self, slot: usize, arrival: Time) {
        if self.queues.len() <= slot {
            self.queues.resize(slot + 1, VecDeque::new());
        }
        self.queues[slot].push_back(arrival);
    }

    pub fn waiting(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    fn take(&mut self, slot: usize) -> (Time, Option<Time>) {
        let queue = &mut self.queues[slot];
        let head = queue.pop_front().expect("the scheduler knows when a queue is empty");
        (head, queue.front().copied())
    }
}

impl Queues for Fifos {
    fn serve(&mut self, stream: StreamId) -> Option<Time> {
        let (head, next) = self.take(stream.slot());
        self.served.push((stream.slot(), head));
        next
    }

    fn drop_head(&mut self, stream: StreamId) -> Option<Time> {
        let (head, next) = self.take(stream.slot());
        self.dropped.push((stream.slot(), head));
        next
    }
}

pub fn stream(tolerance: &str, gap: u64) -> Attributes {
    Attributes::new(tolerance.parse().expect("a tolerance"), Span(gap))
}

pub fn sent_late(tolerance: &str, gap: u64) -> Attributes {
    Attributes { late: Late::Send, ..stream(tolerance, gap) }
}

pub fn priority(tolerance: &str) -> Attributes {
    Attributes { gap: None, ..stream(tolerance, 1) }
}

pub fn tolerance(x: u64, y: u64) -> Tolerance {
    Tolerance::new(x, y).expect("a tolerance")
}

/// A scheduler whose streams are all backlogged from time 0.
pub fn backlogged<S: Structure, M: Meter>(
    options: &Options,
    streams: &[Attributes],
    meter: M,
) -> (Scheduler<S, M>, Endless) {
    let mut scheduler = Scheduler::<S, M>::with_meter(options, meter).expect("a known order");
    for attributes in streams {
        let id = scheduler.join(Time::ZERO, attributes).expect("good attributes");
        scheduler.arrive(Time::ZERO, id).expect("it just joined");
    }
    (scheduler, Endless::new(streams.len()))
}

/// One decision per unit of time; which stream was served at each.
pub fn unit_service<S: Structure, M: Meter>(
    scheduler: &mut Scheduler<S, M>,
    queues: &mut impl Queues,
    times: std::ops::Range<u64>,
) -> Vec<Option<usize>> {
    let serve = |now| match scheduler.next(Time(now), queues) {
        Decision::Serve { stream, .. } => Some(stream.slot()),
        Decision::Wait(_) | Decision::Idle => None,
    };
    times.map(serve).collect()
}
