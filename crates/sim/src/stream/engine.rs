//! The engine: one server, one scheduler, integer time.

use laxity_core::{Bytes, LinkClock, Span, Time};
use laxity_dwcs::structure::Structure;
use laxity_dwcs::{Decision, Ledger, Meter, Misses, Scheduler, Service, StreamId, Tolerance};
use laxity_scenario::stream::model::{Pace, Server};

use super::arrivals::StreamArrivals;
use super::fifos::Fifos;
use crate::Control;

/// A packet of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPacket {
    /// Its number over all streams in order of arrival.
    pub seq: u64,
    /// Its class in file order.
    pub class: u32,
    /// Its stream, counted over all classes in file order.
    pub stream: u32,
    /// Its payload in bytes.
    pub bytes: u32,
    /// When it came.
    pub arrival: Time,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// By when it should have begun at first; absent for streams without deadlines.
    pub deadline: Option<Time>,
    /// When it began.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// Whether it began after its deadline.
    pub late: bool,
}

/// Why a packet was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its deadline passed.
    Late,
    /// It found its queue full.
    Overflow,
}

impl Loss {
    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Loss::Late => "deadline passed",
            Loss::Overflow => "queue full",
        }
    }
}

/// Observes what happens to packets.
pub trait StreamObserver {
    /// A packet was sent.
    fn sent(&mut self, packet: &StreamPacket, how: &Sent);
    /// A packet will not be sent.
    fn lost(&mut self, packet: &StreamPacket, deadline: Option<Time>, why: Loss);
}

/// An observer, if there is one: one type, and with it one engine a policy for all of them.
impl StreamObserver for Option<&mut dyn StreamObserver> {
    #[inline]
    fn sent(&mut self, packet: &StreamPacket, how: &Sent) {
        if let Some(observer) = self {
            observer.sent(packet, how);
        }
    }

    #[inline]
    fn lost(&mut self, packet: &StreamPacket, deadline: Option<Time>, why: Loss) {
        if let Some(observer) = self {
            observer.lost(packet, deadline, why);
        }
    }
}

/// A ledger that remembers what the last packet sent had behind it.
#[derive(Clone, Debug)]
pub struct Tap {
    /// The counts.
    pub ledger: Ledger,
    last: Service,
    /// Misses that moved the deadline of each stream's head.
    moved: Vec<u64>,
    last_moved: u64,
}

impl Tap {
    /// Counts in `ledger`.
    pub fn new(ledger: Ledger) -> Tap {
        let last = Service { delay: Span::ZERO, late: false, hidden: false };
        Tap { ledger, last, moved: Vec::new(), last_moved: 0 }
    }
}

impl Meter for Tap {
    fn join(&mut self, slot: usize, tolerance: Tolerance, fresh: bool) {
        self.moved.resize(self.moved.len().max(slot + 1), 0);
        self.ledger.join(slot, tolerance, fresh);
    }

    #[inline]
    fn served(&mut self, slot: usize, service: Service) {
        self.last = service;
        self.last_moved = std::mem::take(&mut self.moved[slot]);
        self.ledger.served(slot, service);
    }

    #[inline]
    fn missed(&mut self, slot: usize, misses: Misses) {
        if !misses.dropped {
            self.moved[slot] += misses.count;
        }
        self.ledger.missed(slot, misses);
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEnding {
    /// Nanoseconds during which the server sent, up to the end of the run.
    pub busy: u64,
    /// The last instant looked at.
    pub time: Time,
    /// Whether the run came to its end.
    pub complete: bool,
}

/// When the server is free again.
enum Clock {
    Link { clock: LinkClock, overhead: u64 },
    Fixed(Span),
}

impl Clock {
    fn new(server: &Server) -> Option<Clock> {
        let overhead = server.overhead.0;
        match server.pace {
            Pace::Rate(rate) => LinkClock::new(rate).map(|clock| Clock::Link { clock, overhead }),
            Pace::Service(span) => Some(Clock::Fixed(span)),
        }
    }

    #[inline]
    fn send(&mut self, now: Time, payload: u32) -> Time {
        match self {
            Clock::Link { clock, overhead } => {
                clock.transmit(now, Bytes(u64::from(payload) + *overhead))
            }
            Clock::Fixed(service) => now + *service,
        }
    }
}

/// How many packets pass between two looks at the control.
pub(super) const STRIDE: u64 = 4096;

/// The parameters that are constant throughout a run.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// Every stream, as the scheduler knows it.
    pub streams: &'a [StreamId],
    /// Time between deadlines of each class.
    pub gaps: &'a [Option<Span>],
    /// The server.
    pub server: &'a Server,
    /// The last instant at which a packet may begin, so that one due then can be on time.
    pub end: Time,
}

/// Offers `arrivals` to `scheduler`. Packets that wait at the end and are due by then are missed, others
/// that wait are neither met nor missed.
///
/// Packets that come at the instant of a decision, or while one is being sent, are there when it
/// is taken.
pub fn run<S: Structure, O: StreamObserver>(
    scheduler: &mut Scheduler<S, Tap>,
    setting: &Setting<'_>,
    mut arrivals: StreamArrivals,
    fifos: &mut Fifos<'_, O>,
    control: &Control,
) -> StreamEnding {
    let Setting { streams, gaps, server, end } = *setting;
    let mut ending = StreamEnding { busy: 0, time: Time::ZERO, complete: true };
    let Some(mut clock) = Clock::new(server) else {
        return StreamEnding { complete: false, ..ending };
    };
    let arrive = |scheduler: &mut Scheduler<S, Tap>, time, stream: u32| {
        let known = scheduler.arrive(time, streams[stream as usize]);
        debug_assert!(known.is_ok());
    };
    for stream in 0..streams.len() as u32 {
        if fifos.is_backlogged(stream) {
            arrive(scheduler, Time::ZERO, stream);
        }
    }
    let (mut now, mut reported, mut decisions) = (Time::ZERO, Time::ZERO, 0u64);
    let mut came = 0u64;
    while now <= end {
        let last = now == end;
        while arrivals.next_time().is_some_and(|time| time <= now) {
            let Some(arrival) = arrivals.next() else { break };
            if fifos.push(arrival.time, arrival.stream) {
                arrive(scheduler, arrival.time, arrival.stream);
            }
            came += 1;
            if came % STRIDE == 0 && control.stopped() {
                break;
            }
        }
        fifos.at(now);
        now = match scheduler.next(now, fifos) {
            Decision::Serve { deadline, .. } => {
                let Some(packet) = fifos.take_popped() else { break };
                let finish = clock.send(now, packet.bytes);
                ending.busy += finish.min(end).since(now).0;
                let meter = scheduler.meter();
                let late = meter.last.late || meter.last.hidden;
                // The deadline of a packet that is not dropped moved with each miss.
                let deadline = gaps[packet.class as usize].map(|gap| {
                    Time(deadline.0.saturating_sub(gap.0.saturating_mul(meter.last_moved)))
                });
                fifos.observer().sent(&packet, &Sent { deadline, start: now, end: finish, late });
                finish
            }
            Decision::Wait(until) => {
                arrivals.next_time().map_or(until, |time| time.min(until)).max(Time(now.0 + 1))
            }
            Decision::Idle => arrivals.next_time().unwrap_or(end),
        };
        if last {
            ending.complete = !control.stopped();
            break;
        }
        decisions += 1;
        if decisions % STRIDE == 0 || fifos.broken_off() || came >= STRIDE {
            came = 0;
            control.advance(now.min(end).since(reported));
            reported = now.min(end);
            if control.stopped() {
                ending.complete = false;
                break;
            }
        }
    }
    ending.time = now.min(end);
    // No packet begins after the end, so a deadline at that very instant has passed.
    let after = ending.time + Span(u64::from(ending.complete));
    fifos.at(after);
    scheduler.check(after, fifos);
    ending.complete &= !fifos.broken_off();
    control.advance(ending.time.since(reported));
    ending
}
