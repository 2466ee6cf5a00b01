//! Queues and small helpers that several tests share.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::VecDeque;

use laxity_core::{Span, Time};
use laxity_dwcs::structure::Structure;
use laxity_dwcs::{
    Attributes, Decision, Dropped, Late, Ledger, Measures, Meter, Options, Overdue, Queues,
    Scheduler, StreamId, Tolerance,
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

/// Real queues of arrival times, and the packets removed from them.
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

/// Random numbers that are the same everywhere (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// `(x, y)` of streams with unit service and the gap `q` that need at most the whole server; every
/// second set needs exactly that where a last stream can make it so. `longest` is at most 8.
pub fn admitted(random: &mut Random, q: u64, longest: u64) -> Vec<(u64, u64)> {
    const WHOLE: u64 = 840; // every y up to 8 divides it
    let need = |x: u64, y: u64| (y - x) * WHOLE / y;
    let mut left = q * WHOLE;
    let mut set = vec![];
    for _ in 0..5 * q + 10 {
        let y = 1 + random.below(longest);
        let x = random.below(y + 1);
        if need(x, y) <= left {
            left -= need(x, y);
            set.push((x, y));
        }
    }
    if random.below(2) == 0 {
        let all = (1..=longest).flat_map(|y| (0..y).map(move |x| (x, y)));
        set.extend(all.into_iter().find(|(x, y)| need(*x, *y) == left));
    }
    set
}

/// When the packets of a stream come.
pub enum Arrivals {
    /// One each gap from this instant on.
    Each(u64),
    /// Always enough from this instant on.
    Backlog(u64),
    /// At these instants.
    At(Vec<u64>),
}

/// Runs streams with packets of `service` until `horizon`; returns all events.
pub fn simulate<S: Structure>(
    options: &Options,
    streams: &[(Attributes, Arrivals)],
    service: impl Fn(usize) -> u64,
    horizon: u64,
) -> Measures {
    let mut total = Measures::default();
    let each = simulate_each::<S>(options, streams, service, horizon);
    each.iter().for_each(|measures| total.merge(measures));
    total
}

/// The counts of each.
pub fn simulate_each<S: Structure>(
    options: &Options,
    streams: &[(Attributes, Arrivals)],
    service: impl Fn(usize) -> u64,
    horizon: u64,
) -> Vec<Measures> {
    let ledger = Ledger::new().with_history();
    let mut scheduler = Scheduler::<S, Ledger>::with_meter(options, ledger).expect("an order");
    let mut queues = Fifos::default();
    let mut coming = vec![];
    let mut ids = vec![];
    for (attributes, arrivals) in streams {
        let id = scheduler.join(Time::ZERO, attributes).expect("joins");
        ids.push(id);
        let gap = attributes.gap.map_or(1, |gap| gap.0) as usize;
        match arrivals {
            Arrivals::Each(start) => {
                coming.extend((*start..horizon).step_by(gap).map(|at| (at, id)));
            }
            Arrivals::Backlog(start) => {
                let packets = horizon / service(id.slot()) + horizon / gap as u64 + 1;
                coming.extend((0..packets).map(|_| (*start, id)));
            }
            Arrivals::At(times) => coming.extend(times.iter().map(|at| (*at, id))),
        }
    }
    coming.sort_by_key(|(at, _)| *at);
    let mut coming = coming.into_iter().peekable();
    let mut now = 0;
    while now < horizon {
        while let Some((at, id)) = coming.next_if(|(at, _)| *at <= now) {
            queues.push(id.slot(), Time(at));
            scheduler.arrive(Time(at), id).expect("is there");
        }
        let next = coming.peek().map_or(horizon, |(at, _)| *at);
        now = match scheduler.next(Time(now), &mut queues) {
            Decision::Serve { stream, .. } => now + service(stream.slot()),
            Decision::Wait(until) => until.0.min(next),
            Decision::Idle => next,
        };
    }
    scheduler.check(Time(now), &mut queues);
    ids.into_iter().map(|id| scheduler.meter().of(id)).collect()
}
