//! A small discrete-event path between pairs of endpoints: a queue of limited rate on the way from
//! server to client, and delays both ways. It is independent of the simulator's engine.
#![allow(dead_code)]

use std::collections::{BTreeMap, VecDeque};

use laxity_core::{Bytes, Rate, Span, Time};
use laxity_transport::{Config, Congestion, Connection, Segment};

mod codel;

pub use codel::CoDel;

pub const MS: u64 = 1_000_000;

/// The bytes that Ethernet adds to an IP packet.
pub const ETHERNET: u32 = 14;

/// Which end a segment leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum From {
    Server,
    Client,
}

/// The fate of a segment that an end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Lose,
    /// Also delivered a second time, later by this.
    Twice(Span),
    /// Later by this.
    Late(Span),
    /// With CE, if it is ECN-capable; otherwise lost.
    Mark,
}

/// Decides the fate of the `n`th segment from each end of each pair, from zero.
pub type Meddler<'a> = Box<dyn FnMut(usize, From, u64, &Segment) -> Fate + 'a>;

/// The queue before the link.
pub enum Queue {
    /// Drops what arrives when so many packets wait.
    Fifo(usize),
    CoDel(CoDel),
    /// Marks, or else drops, what waited longer.
    Step(Span),
}

/// A pair of endpoints on the path.
pub struct Pair {
    pub client: Connection,
    pub server: Connection,
    sent: [u64; 2],
    /// The timer that is scheduled.
    timer: Option<Time>,
}

/// The bytes that arrived, kept apart from the endpoint's own account.
#[derive(Default)]
pub struct Arrived {
    contiguous: u64,
    /// Starts and ends of segments beyond a gap.
    beyond: BTreeMap<u64, u64>,
}

impl Arrived {
    fn add(&mut self, segment: &Segment) {
        let end = self.beyond.entry(segment.start).or_default();
        *end = segment.range().end.max(*end);
        while let Some((&start, &end)) = self.beyond.first_key_value() {
            if start > self.contiguous {
                break;
            }
            self.contiguous = self.contiguous.max(end);
            self.beyond.remove(&start);
        }
    }

    /// Bytes from the first without gap.
    pub fn contiguous(&self) -> u64 {
        self.contiguous
    }
}

enum Event {
    Arrive { pair: usize, from: From, segment: Segment },
    Transmitted,
    Timer { pair: usize },
}

struct Waiting {
    pair: usize,
    segment: Segment,
    since: Time,
}

pub struct Path<'a> {
    pub now: Time,
    pub rate: Rate,
    pub there: Span,
    pub back: Span,
    pub queue: Queue,
    pub pairs: Vec<Pair>,
    pub meddle: Meddler<'a>,
    /// Sojourn times in the queue of packets that left it since `measure_from`, in ns.
    pub sojourn: (u64, u64),
    pub measure_from: Time,
    pub dropped: u64,
    /// Packets that the AQM marked or dropped.
    pub marked: u64,
    /// The arrivals at each client.
    pub arrived: Vec<Arrived>,
    pub events: u64,
    waiting: VecDeque<Waiting>,
    sending: Option<Waiting>,
    /// By time, then in the order of scheduling.
    scheduled: BTreeMap<(Time, u64), Event>,
    order: u64,
}

impl<'a> Path<'a> {
    /// A path of a round-trip time `rtt`, half each way.
    pub fn new(rate: Rate, rtt: Span, queue: Queue) -> Path<'a> {
        Path {
            now: Time::ZERO,
            rate,
            there: Span(rtt.0 / 2),
            back: Span(rtt.0 - rtt.0 / 2),
            queue,
            pairs: Vec::new(),
            meddle: Box::new(|_, _, _, _| Fate::Pass),
            sojourn: (0, 0),
            measure_from: Time::ZERO,
            dropped: 0,
            marked: 0,
            arrived: Vec::new(),
            events: 0,
            waiting: VecDeque::new(),
            sending: None,
            scheduled: BTreeMap::new(),
            order: 0,
        }
    }

    pub fn connect(&mut self, config: Config, control: impl Fn() -> Box<dyn Congestion>) -> usize {
        let client = Connection::client(config, control());
        let server = Connection::server(config, control());
        self.arrived.push(Arrived::default());
        self.pairs.push(Pair { client, server, sent: [0, 0], timer: None });
        self.pairs.len() - 1
    }

    /// The mean time in the queue.
    pub fn mean_sojourn(&self) -> Span {
        Span(self.sojourn.0 / self.sojourn.1.max(1))
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.scheduled.insert((at, self.order), event);
    }

    fn arrive(&mut self, at: Time, pair: usize, from: From, segment: Segment) {
        self.schedule(at, Event::Arrive { pair, from, segment });
    }

    /// Takes what both ends of a pair send, and schedules its timer. To be called after each change
    /// from outside.
    pub fn pump(&mut self, pair: usize) {
        while let Some(segment) = self.pairs[pair].client.poll_transmit(self.now) {
            let n = self.pairs[pair].sent[1];
            self.pairs[pair].sent[1] += 1;
            let at = self.now + self.back;
            match (self.meddle)(pair, From::Client, n, &segment) {
                Fate::Lose | Fate::Mark => {}
                Fate::Pass => self.arrive(at, pair, From::Client, segment),
                Fate::Late(by) => self.arrive(at + by, pair, From::Client, segment),
                Fate::Twice(by) => {
                    self.arrive(at, pair, From::Client, segment);
                    self.arrive(at + by, pair, From::Client, segment);
                }
            }
        }
        while let Some(mut segment) = self.pairs[pair].server.poll_transmit(self.now) {
            let n = self.pairs[pair].sent[0];
            self.pairs[pair].sent[0] += 1;
            match (self.meddle)(pair, From::Server, n, &segment) {
                Fate::Lose => {}
                Fate::Mark if !segment.mark() => {}
                Fate::Pass | Fate::Mark => self.enqueue(pair, segment),
                // Beside the queue, so that it overtakes nothing and nothing waits for it.
                Fate::Late(by) => {
                    self.arrive(self.now + self.there + by, pair, From::Server, segment);
                }
                Fate::Twice(by) => {
                    self.enqueue(pair, segment);
                    self.arrive(self.now + self.there + by, pair, From::Server, segment);
                }
            }
        }
        let ends = &self.pairs[pair];
        let timers = [ends.client.poll_timeout(), ends.server.poll_timeout()];
        let next = timers.into_iter().flatten().min();
        // A later timer than the one scheduled waits until that one finds nothing due.
        if let Some(at) = next.filter(|at| ends.timer.is_none_or(|timer| *at < timer)) {
            let at = at.max(self.now);
            self.pairs[pair].timer = Some(at);
            self.schedule(at, Event::Timer { pair });
        }
    }

    fn enqueue(&mut self, pair: usize, segment: Segment) {
        let limit = if let Queue::Fifo(limit) = self.queue { limit } else { 10_000 };
        if self.waiting.len() >= limit {
            self.dropped += 1;
            return;
        }
        self.waiting.push_back(Waiting { pair, segment, since: self.now });
        if self.sending.is_none() {
            self.transmit();
        }
    }

    fn transmit(&mut self) {
        while let Some(mut next) = self.waiting.pop_front() {
            let sojourn = self.now.since(next.since);
            let more = !self.waiting.is_empty();
            let signals = match &mut self.queue {
                Queue::Fifo(_) => false,
                Queue::CoDel(codel) => codel.signals(self.now, sojourn, more),
                Queue::Step(threshold) => sojourn > *threshold,
            };
            if signals {
                self.marked += 1;
                if !next.segment.mark() {
                    self.dropped += 1;
                    continue;
                }
            }
            if self.now >= self.measure_from {
                self.sojourn = (self.sojourn.0 + sojourn.0, self.sojourn.1 + 1);
            }
            let bytes = Bytes(u64::from(next.segment.bytes() + ETHERNET));
            let end = self.now + self.rate.time_for(bytes).expect("a rate");
            self.schedule(end, Event::Transmitted);
            self.sending = Some(next);
            return;
        }
    }

    /// Handles events until `end`, or until none is left; calls `after` when something happened to a pair.
    pub fn run(&mut self, end: Time, mut after: impl FnMut(&mut Path<'a>, usize)) {
        while let Some(next) = self.scheduled.first_entry().filter(|next| next.key().0 <= end) {
            let ((at, _), event) = next.remove_entry();
            self.events += 1;
            self.now = at;
            match event {
                Event::Transmitted => {
                    let sent = self.sending.take().expect("a packet being sent");
                    let at = self.now + self.there;
                    self.arrive(at, sent.pair, From::Server, sent.segment);
                    self.transmit();
                }
                Event::Arrive { pair, from, segment } => {
                    let ends = &mut self.pairs[pair];
                    match from {
                        From::Server => {
                            self.arrived[pair].add(&segment);
                            ends.client.handle_segment(at, &segment);
                        }
                        From::Client => ends.server.handle_segment(at, &segment),
                    }
                    after(self, pair);
                    self.pump(pair);
                }
                // An earlier timer took its place.
                Event::Timer { pair } if self.pairs[pair].timer != Some(at) => {}
                Event::Timer { pair } => {
                    let ends = &mut self.pairs[pair];
                    ends.timer = None;
                    ends.client.handle_timeout(at);
                    ends.server.handle_timeout(at);
                    after(self, pair);
                    self.pump(pair);
                    assert_ne!(self.pairs[pair].timer, Some(at), "an expired timer stays");
                }
            }
        }
        self.now = end;
    }
}
