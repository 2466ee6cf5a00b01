//! The rules in which policies differ.

use laxity_core::Time;

use crate::Packet;
use crate::assign::Assigner;
use crate::edf::{EdfQueue, Entry};

/// The rule by which best effort and real time share the link: the part in which policies differ.
pub trait Discipline {
    /// The deadline of the next packet of the best-effort aggregate; see
    /// [`Assigner::assign`].
    fn assign(&mut self, release: Time, wire: u32) -> Time;

    /// A longer deadline for the best-effort packet assigned last; see [`Assigner::raise`].
    fn raise(&mut self, release: Time, from: u32, wire: u32) -> Time {
        self.assign(release, wire - from)
    }

    /// Fewer bytes of it are sent; see [`Assigner::settle`].
    fn settle(&mut self, _release: Time, _from: u32, _wire: u32) {}

    /// The queues are empty and the link is idle.
    fn reset(&mut self);

    /// A packet starts at `now` and no other real-time packet waits; see [`Assigner::restart`].
    fn restart(&mut self, _now: Time, _in_flight: u32, _head: Option<(u32, Time)>) -> Option<Time> {
        None
    }

    /// Whether the best-effort head is served before the queued real-time packets. A `false` with
    /// an empty real-time queue leaves the link idle until the next arrival.
    fn serves_best_effort(&mut self, now: Time, head: &Head, realtime: &EdfQueue) -> bool;

    /// A real-time packet conformed at `at` and entered the EDF queue.
    fn on_realtime_release(&mut self, at: Time, entry: &Entry);

    /// The transmission of a real-time packet starts.
    fn on_realtime_start(&mut self, now: Time, entry: &Entry);

    /// The best-effort packet that was to be served, of `wire` bytes, was dropped by its AQM instead.
    fn on_best_effort_dropped(&mut self, _now: Time, _wire: u32) {}

    /// The link idles with best effort queued.
    fn on_idle(&mut self) {}

    /// The link lost time; see [`LinkPolicy::handle_stall`](crate::LinkPolicy::handle_stall).
    /// Returns whether best effort must yield until the real-time queue is empty and then gets new
    /// deadlines. Disciplines whose decisions depend on earlier decisions need that.
    fn on_stall(&mut self) -> bool {
        true
    }

    /// Whether a smaller packet of another class may pass a best-effort head that was refused.
    fn may_pass(&self) -> bool {
        false
    }

    /// The earliest time at which a packet of a real-time flow that arrives now may conform.
    #[inline]
    fn earliest_conformance(&self, _flow: usize) -> Time {
        Time::ZERO
    }

    /// A packet of a real-time flow entered the shaper until it conforms.
    #[inline]
    fn on_shaped(&mut self, _flow: usize, _until: Time) {}

    /// Time at which a refused best-effort packet may be served without a further arrival.
    fn next_event(&self) -> Option<Time> {
        None
    }

    /// See [`Assigner::ARRIVAL_ORDER`].
    const ARRIVAL_ORDER: bool = false;

    /// See [`Assigner::AFTER_REALTIME`].
    const AFTER_REALTIME: bool = false;
}

/// Service by deadline, with best-effort deadlines from an [`Assigner`].
#[derive(Clone, Debug)]
pub struct ByDeadline<A>(pub A);

impl<A: Assigner> Discipline for ByDeadline<A> {
    #[inline]
    fn assign(&mut self, release: Time, wire: u32) -> Time {
        self.0.assign(release, wire)
    }

    #[inline]
    fn raise(&mut self, release: Time, from: u32, wire: u32) -> Time {
        self.0.raise(release, from, wire)
    }

    #[inline]
    fn settle(&mut self, release: Time, from: u32, wire: u32) {
        self.0.settle(release, from, wire);
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    #[inline]
    fn restart(&mut self, now: Time, in_flight: u32, head: Option<(u32, Time)>) -> Option<Time> {
        self.0.restart(now, in_flight, head)
    }

    #[inline]
    fn serves_best_effort(&mut self, _now: Time, head: &Head, realtime: &EdfQueue) -> bool {
        realtime.peek().is_none_or(|first| head.deadline <= first.deadline)
    }

    #[inline]
    fn on_realtime_release(&mut self, _at: Time, _entry: &Entry) {}

    #[inline]
    fn on_realtime_start(&mut self, _now: Time, _entry: &Entry) {}

    fn on_stall(&mut self) -> bool {
        A::INFO.keeps_deadlines
    }

    const ARRIVAL_ORDER: bool = A::ARRIVAL_ORDER;
    const AFTER_REALTIME: bool = A::AFTER_REALTIME;
}

/// The best-effort packet that is next: committed with its deadline (Figure 7 of the paper), or a
/// candidate with the deadline of the slot (`slot.rs`).
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// As assigned.
    pub deadline: Time,
    /// The packet.
    pub packet: Packet,
}
