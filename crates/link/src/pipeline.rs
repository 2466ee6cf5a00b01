//! One object from arrival to departure: police, order best effort, assign, serve by deadline.
//!
//! # Lost time
//!
//! A link loses time when packets wait and it sends nothing: its thread is not run, the queue of
//! the device is stopped, its processor is stolen. Up to `below` of it admission has counted;
//! [`handle_stall`](LinkPolicy::handle_stall) says that more was lost. Best-effort deadlines were
//! computed for a link that sends all the time, so after a stall they ask for capacity that is
//! gone, and their packets would go before real-time packets until the queue drains.
//!
//! **The rule.** After a stall best effort yields: it goes only while no real-time packet waits, as
//! under `background`. At the first decision `e` at which none waits, all deadlines of best effort
//! are computed again, as if everything that waits had been released at `e`.
//!
//! **Why nothing is worse than under `background`.** Let a stall end, and compare with `background`
//! from that state on, up to the next stall. Until `e` both decide alike, packet by packet. A
//! real-time packet that arrives after `e` is in time: none waits at `e`, so the busy interval that
//! would make one late (from the last instant at which something due later starts, or the link
//! idles) begins at `e` or later and holds no lost time; best effort in it is released at `e` or
//! later and has deadlines from a history that begins at `e`, so Theorem 2 covers it, as at the
//! start of any busy period. The rule needs neither the length of the stall nor the assigner, so
//! it holds for all of them, and for a stall that is reported twice or too long.
//!
//! **What a stall costs.** However the deadlines came about, a real-time packet is late by no more
//! than all time that was lost since the link last idled: add that time to every deadline, and a
//! stall is one more piece of work within the interval that Theorem 2 looks at. So stalls do not
//! multiply. What no rule can undo is best effort that went ahead before the stall, in time that
//! real time did not need then; `background` alone never spends that.
//!
//! To lengthen the deadlines by the lost span instead would not do: residual capacity `E` grows
//! slower than the link, so best effort would give back less than was lost, and real time would
//! pay the difference.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use laxity_core::{Span, Time};
use laxity_curve::Blocking;

use crate::assign::Assigner;
use crate::buffer::DropReason;
use crate::edf::{EdfQueue, Entry};
use crate::fair::{Fair, FairQueue as _};
use crate::ingress::{Ingress, Route};
use crate::setup::{Release, Restart, Setup, SetupError};
use crate::{Departure, Drops, LinkPolicy, Packet};

/// How best effort and real time share the link: the part in which policies differ.
pub trait Discipline {
    /// The deadline of the next packet of the best-effort aggregate; see
    /// [`Assigner::assign`].
    fn assign(&mut self, release: Time, wire: u32) -> Time;

    /// Nothing waits and the wire is idle.
    fn reset(&mut self);

    /// A packet starts at `now` and no other real-time packet waits; see [`Assigner::restart`].
    fn restart(&mut self, _now: Time, _in_flight: u32, _head: Option<&Head>) -> Option<Time> {
        None
    }

    /// Whether the best-effort head goes before the real-time packets that wait. A `false` with
    /// no real-time packet waiting leaves the link idle until the next arrival.
    fn best_effort_goes(&mut self, now: Time, head: &Head, realtime: &EdfQueue) -> bool;

    /// A real-time packet conformed at `at` and now waits.
    fn released(&mut self, at: Time, entry: &Entry);

    /// A real-time packet starts.
    fn realtime_starts(&mut self, now: Time, entry: &Entry);

    /// The link idles although best effort waits.
    fn idles(&mut self) {}

    /// The link lost time; see [`LinkPolicy::handle_stall`]. Returns whether best effort yields
    /// until no real-time packet waits and then gets new deadlines, which a discipline needs whose
    /// decisions rest on what it decided before.
    fn stalled(&mut self) -> bool {
        true
    }

    /// Whether a smaller packet of another class may pass a best-effort head that was refused.
    fn may_pass(&self) -> bool {
        false
    }

    /// The earliest instant at which packets of a real-time flow conform that arrive now.
    #[inline]
    fn not_before(&self, _flow: usize) -> Time {
        Time::ZERO
    }

    /// A packet of a real-time flow is held back until it conforms.
    #[inline]
    fn held(&mut self, _flow: usize, _until: Time) {}

    /// When a best-effort packet that was refused may go although nothing arrives.
    fn next_event(&self) -> Option<Time> {
        None
    }

    /// See [`Assigner::ARRIVAL_ORDER`].
    const ARRIVAL_ORDER: bool = false;
}

/// Service by deadline, with best-effort deadlines from an [`Assigner`].
#[derive(Clone, Debug)]
pub struct ByDeadline<A>(pub A);

impl<A: Assigner> Discipline for ByDeadline<A> {
    #[inline]
    fn assign(&mut self, release: Time, wire: u32) -> Time {
        self.0.assign(release, wire)
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    #[inline]
    fn restart(&mut self, now: Time, in_flight: u32, head: Option<&Head>) -> Option<Time> {
        self.0.restart(now, in_flight, head.map(|head| (head.packet.wire, head.deadline)))
    }

    #[inline]
    fn best_effort_goes(&mut self, _now: Time, head: &Head, realtime: &EdfQueue) -> bool {
        realtime.peek().is_none_or(|first| head.deadline <= first.deadline)
    }

    #[inline]
    fn released(&mut self, _at: Time, _entry: &Entry) {}

    #[inline]
    fn realtime_starts(&mut self, _now: Time, _entry: &Entry) {}

    fn stalled(&mut self) -> bool {
        A::INFO.keeps_deadlines
    }

    const ARRIVAL_ORDER: bool = A::ARRIVAL_ORDER;
}

/// The best-effort packet that is next in fair order, committed with its deadline (Figure 7 of
/// the paper).
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// As assigned.
    pub deadline: Time,
    /// The packet.
    pub packet: Packet,
}

/// Packets in fair order among which one is looked for that may pass a refused head.
const LOOKAHEAD: usize = 64;

/// The scheduler of one link.
#[derive(Debug)]
pub struct Pipeline<D> {
    ingress: Ingress,
    realtime: EdfQueue,
    /// Relative deadline and class of each real-time flow.
    flows: Box<[(Span, usize)]>,
    fair: Fair,
    /// The best-effort packets next in fair order: one, unless smaller ones may pass it.
    heads: VecDeque<Head>,
    most_heads: usize,
    release: Release,
    /// Latest release of the aggregate so far.
    released: Time,
    /// Deadlines restart before the link idles.
    restarts: bool,
    /// The residual capacity has no room for a best-effort packet that blocks, so the one in flight
    /// counts when deadlines restart.
    counts_in_flight: bool,
    /// Best effort yields to real time since a stall.
    yields: bool,
    discipline: D,
}

impl<D: Discipline> Pipeline<D> {
    /// A scheduler with empty queues.
    ///
    /// # Errors
    /// When the buffer cannot hold what the flows may send at once.
    pub fn new(setup: &Setup, discipline: D) -> Result<Pipeline<D>, SetupError> {
        let mut deadlines: Vec<Span> = setup.realtime.iter().map(|f| f.deadline).collect();
        deadlines.sort_unstable();
        deadlines.dedup();
        let class = |d: Span| deadlines.partition_point(|x| *x < d);
        let flows = setup.realtime.iter().map(|f| (f.deadline, class(f.deadline))).collect();
        let ingress = Ingress::new(setup)?;
        let classes = if D::ARRIVAL_ORDER { 1 } else { setup.best_effort.len() };
        let weights: Vec<_> = setup.best_effort.iter().map(|c| c.weight).take(classes).collect();
        let most_heads = if discipline.may_pass() { LOOKAHEAD } else { 1 };
        Ok(Pipeline {
            realtime: EdfQueue::new(deadlines.len().max(1), ingress.realtime_slots()),
            fair: Fair::new(setup.fair_queue, &weights, ingress.best_effort_slots()),
            ingress,
            flows,
            heads: VecDeque::with_capacity(most_heads),
            most_heads,
            release: setup.release,
            released: Time::ZERO,
            restarts: setup.options.restart == Restart::Sooner,
            counts_in_flight: setup.blocking == Blocking::Exact,
            yields: false,
            discipline,
        })
    }

    /// The discipline, for a look at its state.
    pub fn discipline(&self) -> &D {
        &self.discipline
    }

    /// Real-time packets that conform now and wait.
    pub fn realtime(&self) -> &EdfQueue {
        &self.realtime
    }

    /// Lets in what has come to conform by `now`, in order of conformance over all flows, so that
    /// deadlines within a class never fall.
    #[inline]
    fn release_shaped(&mut self, now: Time) {
        while let Some(entry) = self.ingress.next_conforming(now) {
            self.insert(entry.deadline, entry.packet);
        }
    }

    #[inline]
    fn insert(&mut self, conformance: Time, packet: Packet) {
        let (deadline, class) = self.flows[packet.flow.index()];
        let key = if D::ARRIVAL_ORDER { conformance } else { conformance + deadline };
        let entry = Entry { deadline: key, packet };
        self.discipline.released(conformance, &entry);
        // The ingress has counted the slot.
        let pushed = self.realtime.push(class, entry);
        debug_assert!(pushed.is_ok());
    }

    /// Commits the next packet in fair order.
    #[inline]
    fn commit(&mut self, now: Time) -> bool {
        let Some((_, packet)) = self.fair.dequeue(now) else { return false };
        self.released = match self.release {
            Release::Arrival => self.released.max(packet.arrival),
            Release::HeadOfLine => now,
        };
        let deadline = self.discipline.assign(self.released, packet.wire);
        self.heads.push_back(Head { deadline, packet });
        true
    }

    /// Ends what a stall began: no real-time packet waits, and all deadlines are computed again.
    #[cold]
    fn begin_anew(&mut self, now: Time) {
        self.yields = false;
        self.discipline.reset();
        self.released = self.released.max(now);
        for head in &mut self.heads {
            head.deadline = self.discipline.assign(self.released, head.packet.wire);
        }
    }

    /// A packet of `wire` bytes starts; if no other real-time packet waits, deadlines may restart.
    #[inline]
    fn starts(&mut self, now: Time, wire: u32) {
        if !self.restarts || !self.realtime.is_empty() || self.yields {
            return;
        }
        let in_flight = if self.counts_in_flight { wire } else { 0 };
        let Some(earlier) = self.discipline.restart(now, in_flight, self.heads.front()) else {
            return;
        };
        if let Some(head) = self.heads.front_mut() {
            head.deadline = earlier;
        }
        // What waits behind it counts as released now as well.
        self.released = self.released.max(now);
    }

    /// The place of the best-effort packet that goes now, if one does.
    #[inline]
    fn best_effort(&mut self, now: Time) -> Option<usize> {
        if self.yields {
            if !self.realtime.is_empty() {
                return None;
            }
            self.begin_anew(now);
        }
        let head = self.heads.front()?;
        if self.discipline.best_effort_goes(now, head, &self.realtime) {
            return Some(0);
        }
        if self.most_heads > 1 { self.passing(now) } else { None }
    }

    /// The first packet in fair order, no larger than any that was refused and the first of its
    /// class, that goes although the head does not.
    fn passing(&mut self, now: Time) -> Option<usize> {
        let mut largest = self.heads.front()?.packet.wire.checked_sub(1)?;
        for i in 1..self.most_heads {
            if i == self.heads.len() && !self.commit(now) {
                return None;
            }
            let packet = self.heads[i].packet;
            let class = |p: &Packet| self.ingress.class_of(p);
            let first = self.heads.iter().take(i).all(|h| class(&h.packet) != class(&packet));
            if first && packet.wire <= largest {
                let head = &self.heads[i];
                if self.discipline.best_effort_goes(now, head, &self.realtime) {
                    return Some(i);
                }
                largest = packet.wire.checked_sub(1)?;
            }
        }
        None
    }
}

impl<D: Discipline> LinkPolicy for Pipeline<D> {
    fn enqueue(&mut self, now: Time, packet: Packet, drops: &mut dyn Drops) {
        self.release_shaped(now);
        let not_before = self.discipline.not_before(packet.flow.index());
        match self.ingress.route(now, not_before, packet, &mut self.fair, drops) {
            Route::Realtime(packet) => self.insert(now, packet),
            Route::Held(flow, until) => self.discipline.held(flow, until),
            Route::BestEffort(class, packet) => {
                let class = if D::ARRIVAL_ORDER { 0 } else { class };
                if self.fair.enqueue(now, class, packet).is_err() {
                    self.ingress.left(&packet, false);
                    drops.dropped(now, &packet, DropReason::BufferSlots);
                } else if self.heads.is_empty() {
                    self.commit(now);
                }
            }
            Route::Done => {}
        }
    }

    fn handle_stall(&mut self) {
        self.yields |= self.discipline.stalled();
    }

    fn dequeue(&mut self, now: Time) -> Option<Departure> {
        self.release_shaped(now);
        if let Some(Head { deadline, packet }) =
            self.best_effort(now).and_then(|place| self.heads.remove(place))
        {
            if self.heads.is_empty() {
                self.commit(now);
            }
            self.starts(now, packet.wire);
            self.ingress.left(&packet, false);
            return Some(Departure { packet, deadline, realtime: false });
        }
        let Some(entry) = self.realtime.pop() else {
            if self.heads.is_empty() {
                self.discipline.reset();
            } else {
                self.discipline.idles();
            }
            return None;
        };
        self.discipline.realtime_starts(now, &entry);
        self.starts(now, entry.packet.wire);
        self.ingress.left(&entry.packet, true);
        let (relative, _) = self.flows[entry.packet.flow.index()];
        let key = entry.deadline;
        let deadline = if D::ARRIVAL_ORDER { key + relative } else { key };
        Some(Departure { packet: entry.packet, deadline, realtime: true })
    }

    fn next_event(&self) -> Option<Time> {
        let retry = self.discipline.next_event().filter(|_| !self.heads.is_empty());
        self.ingress.next_event().into_iter().chain(retry).min()
    }

    fn waiting(&self) -> usize {
        self.realtime.len() + self.fair.len() + self.heads.len() + self.ingress.shaped()
    }
}
