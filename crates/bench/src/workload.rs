//! The paper's access link as the benchmarks drive it: its packets, and what its best-effort
//! aggregate asks of an assigner.

use laxity_core::{Bytes, LinkClock, Span, Time};
use laxity_link::assign::{Assigner, Background};
use laxity_link::buffer::DropReason;
use laxity_link::config::LinkConfig;
use laxity_link::edf::{EdfQueue, Entry};
use laxity_link::pipeline::{ByDeadline, Discipline, Head, Pipeline};
use laxity_link::{Departure, DropSink, LinkPolicy, Packet};
use laxity_scenario::link::model::Scenario;
use laxity_sim::link::Traffic;
use laxity_traffic::Arrival;

/// A call of the assigner.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    /// A deadline for a packet.
    Assign {
        /// Its release.
        release: Time,
        /// Its bytes on the wire.
        wire: u32,
    },
    /// To forget: the link is idle.
    Reset,
}

/// The scenario of the paper's Tables 3 and 4.
pub fn access_link() -> Scenario {
    let text = include_str!("../../../scenarios/access-link.toml");
    Scenario::parse(text, "access-link.toml").expect("a scenario of the repository is valid")
}

/// Its arrivals over `seconds`.
pub fn arrivals(scenario: &Scenario, seconds: u64) -> Vec<Arrival> {
    Traffic::generate(scenario, 1, Span(seconds * 1_000_000_000), &[]).collect()
}

/// Ignores what is dropped.
pub struct Forget;

impl DropSink for Forget {
    fn dropped(&mut self, _: Time, _: &Packet, _: DropReason) {}
}

/// A link that sends what a policy chooses; arrivals come one by one.
pub struct Link<P> {
    /// The policy.
    pub policy: P,
    clock: LinkClock,
    setup: LinkConfig,
    seq: u64,
    idle: bool,
}

impl<P: LinkPolicy> Link<P> {
    /// An idle link.
    pub fn new(setup: &LinkConfig, policy: P) -> Link<P> {
        let clock = LinkClock::new(setup.rate).expect("a link has a rate");
        Link { policy, clock, setup: setup.clone(), seq: 0, idle: true }
    }

    /// Sends all that leaves before `arrival`, then lets it in; returns how many left.
    #[inline]
    pub fn play(&mut self, arrival: Arrival, seen: &mut impl FnMut(Departure)) -> u64 {
        let now = arrival.time;
        let mut sent = 0;
        while !self.idle && self.clock.free_at() < now {
            sent += u64::from(self.decide(self.clock.free_at(), seen));
        }
        let (flow, bytes) = (arrival.flow, arrival.bytes);
        let packet = Packet::new(self.seq, now, flow, bytes, self.setup.wire.of(bytes));
        self.seq += 1;
        self.policy.enqueue(now, packet, &mut Forget);
        if self.idle {
            sent += u64::from(self.decide(now, seen));
        }
        sent
    }

    /// Decides once on the free link; whether it sent.
    #[inline]
    pub fn decide(&mut self, now: Time, seen: &mut impl FnMut(Departure)) -> bool {
        match self.policy.dequeue(now, &mut Forget) {
            Some(departure) => {
                self.clock.transmit(now, Bytes(u64::from(departure.packet.wire)));
                seen(departure);
                self.idle = false;
                true
            }
            None => {
                self.idle = true;
                false
            }
        }
    }

    /// When the link is free.
    pub fn free_at(&self) -> Time {
        self.clock.free_at()
    }
}

/// The calls of the assigner during `seconds` of the access link's traffic.
pub fn calls(scenario: &Scenario, seconds: u64) -> Vec<Call> {
    struct Recorder {
        inner: ByDeadline<Background>,
        calls: Vec<Call>,
    }
    impl Discipline for Recorder {
        fn assign(&mut self, release: Time, wire: u32) -> Time {
            self.calls.push(Call::Assign { release, wire });
            Time::ZERO
        }
        fn reset(&mut self) {
            if !matches!(self.calls.last(), Some(Call::Reset) | None) {
                self.calls.push(Call::Reset);
            }
        }
        fn serves_best_effort(&mut self, now: Time, head: &Head, realtime: &EdfQueue) -> bool {
            self.inner.serves_best_effort(now, head, realtime)
        }
        fn on_realtime_release(&mut self, _: Time, _: &Entry) {}
        fn on_realtime_start(&mut self, _: Time, _: &Entry) {}
    }
    let setup = scenario.setup();
    let recorder = Recorder { inner: ByDeadline(Background), calls: Vec::new() };
    let pipeline = Pipeline::new(&setup, recorder).expect("the access link fits its buffers");
    let mut link = Link::new(&setup, pipeline);
    for arrival in arrivals(scenario, seconds) {
        link.play(arrival, &mut |_| ());
    }
    link.policy.discipline().calls.clone()
}

/// Does `count` assignments, the calls over and over; the wrap is a reset.
#[inline]
pub fn assign<A: Assigner>(assigner: &mut A, calls: &[Call], at: &mut usize, count: u64) -> u64 {
    let (mut done, mut sum) = (0, 0u64);
    while done < count {
        match calls[*at] {
            Call::Assign { release, wire } => {
                sum = sum.wrapping_add(assigner.assign(release, wire).0);
                done += 1;
            }
            Call::Reset => assigner.reset(),
        }
        *at += 1;
        if *at == calls.len() {
            *at = 0;
            assigner.reset();
        }
    }
    sum
}
