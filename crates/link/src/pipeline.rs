//! The scheduler of one link: police, order best effort fairly, assign deadlines, serve by EDF.
//!
//! # Lost time
//!
//! A link loses time when packets wait and it sends nothing: its thread is not run, the queue of
//! the device is stopped, its processor is stolen. Admission accounts for up to
//! `downstream_backlog` of lost time; [`handle_stall`](LinkPolicy::handle_stall) reports that more
//! was lost. Best-effort deadlines were
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
use crate::config::{LinkConfig, LinkConfigError, Release, Restart};
use crate::edf::{EdfQueue, Entry};
use crate::fair::{Fair, FairQueue as _};
use crate::ingress::{Ingress, Route};
use crate::{Departure, DropSink, LinkPolicy, Packet};

/// The rule by which best effort and real time share the link: the part in which policies differ.
pub trait Discipline {
    /// The deadline of the next packet of the best-effort aggregate; see
    /// [`Assigner::assign`].
    fn assign(&mut self, release: Time, wire: u32) -> Time;

    /// The queues are empty and the link is idle.
    fn reset(&mut self);

    /// A packet starts at `now` and no other real-time packet waits; see [`Assigner::restart`].
    fn restart(&mut self, _now: Time, _in_flight: u32, _head: Option<&Head>) -> Option<Time> {
        None
    }

    /// Whether the best-effort head is served before the queued real-time packets. A `false` with
    /// an empty real-time queue leaves the link idle until the next arrival.
    fn serves_best_effort(&mut self, now: Time, head: &Head, realtime: &EdfQueue) -> bool;

    /// A real-time packet conformed at `at` and entered the EDF queue.
    fn on_realtime_release(&mut self, at: Time, entry: &Entry);

    /// The transmission of a real-time packet starts.
    fn on_realtime_start(&mut self, now: Time, entry: &Entry);

    /// The link idles with best effort queued.
    fn on_idle(&mut self) {}

    /// The link lost time; see [`LinkPolicy::handle_stall`]. Returns whether best effort must yield
    /// until the real-time queue is empty and then gets new deadlines. Disciplines whose decisions
    /// depend on earlier decisions need that.
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

/// Number of packets in fair order that are searched for one that may pass a refused head.
const LOOKAHEAD: usize = 64;

/// The scheduler of one link.
#[derive(Debug)]
pub struct Pipeline<D> {
    ingress: Ingress,
    realtime: EdfQueue,
    /// Relative deadline and class of each real-time flow.
    flows: Box<[(Span, usize)]>,
    fair: Fair,
    /// The next best-effort packets in fair order: one, unless smaller ones may pass it.
    heads: VecDeque<Head>,
    max_heads: usize,
    release: Release,
    /// Latest release of the aggregate so far.
    released: Time,
    /// Whether deadlines may restart before the link idles.
    restarts: bool,
    /// The residual capacity leaves no room for blocking by a best-effort packet, so the packet in
    /// flight counts when deadlines restart.
    counts_in_flight: bool,
    /// Best effort yields to real time after a stall.
    yields_to_realtime: bool,
    discipline: D,
}

impl<D: Discipline> Pipeline<D> {
    /// A scheduler with empty queues.
    ///
    /// # Errors
    /// When the buffer is smaller than the backlog bound of the flows.
    pub fn new(config: &LinkConfig, discipline: D) -> Result<Pipeline<D>, LinkConfigError> {
        let mut deadlines: Vec<Span> = config.realtime.iter().map(|f| f.deadline).collect();
        deadlines.sort_unstable();
        deadlines.dedup();
        let class = |d: Span| deadlines.partition_point(|x| *x < d);
        let flows = config.realtime.iter().map(|f| (f.deadline, class(f.deadline))).collect();
        let ingress = Ingress::new(config)?;
        let classes = if D::ARRIVAL_ORDER { 1 } else { config.best_effort.len() };
        let weights: Vec<_> = config.best_effort.iter().map(|c| c.weight).take(classes).collect();
        let max_heads = if discipline.may_pass() { LOOKAHEAD } else { 1 };
        Ok(Pipeline {
            realtime: EdfQueue::new(deadlines.len().max(1), ingress.realtime_slots()),
            fair: Fair::new(config.fair_queue, &weights, ingress.best_effort_slots()),
            ingress,
            flows,
            heads: VecDeque::with_capacity(max_heads),
            max_heads,
            release: config.release,
            released: Time::ZERO,
            restarts: config.options.restart == Restart::Sooner,
            counts_in_flight: config.blocking == Blocking::Exact,
            yields_to_realtime: false,
            discipline,
        })
    }

    /// The discipline, for inspection.
    pub fn discipline(&self) -> &D {
        &self.discipline
    }

    /// The queue of conforming real-time packets.
    pub fn realtime(&self) -> &EdfQueue {
        &self.realtime
    }

    /// Moves packets that conform by `now` from the shaper to the EDF queue, in order of
    /// conformance over all flows, so that deadlines within a class never decrease.
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
        self.discipline.on_realtime_release(conformance, &entry);
        // The ingress accounts for the slot, so the push cannot fail.
        let pushed = self.realtime.push(class, entry);
        debug_assert!(pushed.is_ok());
    }

    /// Takes the next packet from the fair queue and assigns its deadline.
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

    /// Ends the yielding after a stall: the real-time queue is empty, and all best-effort deadlines
    /// are assigned again.
    #[cold]
    fn restart_after_stall(&mut self, now: Time) {
        self.yields_to_realtime = false;
        self.discipline.reset();
        self.released = self.released.max(now);
        for head in &mut self.heads {
            head.deadline = self.discipline.assign(self.released, head.packet.wire);
        }
    }

    /// The transmission of `wire` bytes starts; deadlines may restart if the real-time queue is
    /// empty.
    #[inline]
    fn starts(&mut self, now: Time, wire: u32) {
        if !self.restarts || !self.realtime.is_empty() || self.yields_to_realtime {
            return;
        }
        let in_flight = if self.counts_in_flight { wire } else { 0 };
        let Some(earlier) = self.discipline.restart(now, in_flight, self.heads.front()) else {
            return;
        };
        if let Some(head) = self.heads.front_mut() {
            head.deadline = earlier;
        }
        // The packets behind it count as released now as well.
        self.released = self.released.max(now);
    }

    /// Index of the best-effort packet to serve now, if any.
    #[inline]
    fn best_effort(&mut self, now: Time) -> Option<usize> {
        if self.yields_to_realtime {
            if !self.realtime.is_empty() {
                return None;
            }
            self.restart_after_stall(now);
        }
        let head = self.heads.front()?;
        if self.discipline.serves_best_effort(now, head, &self.realtime) {
            return Some(0);
        }
        if self.max_heads > 1 { self.passing_candidate(now) } else { None }
    }

    /// Index of the first packet in fair order that may pass the refused head: first of its class,
    /// smaller than every packet refused before it, and accepted by the discipline.
    fn passing_candidate(&mut self, now: Time) -> Option<usize> {
        let mut largest = self.heads.front()?.packet.wire.checked_sub(1)?;
        for i in 1..self.max_heads {
            if i == self.heads.len() && !self.commit(now) {
                return None;
            }
            let packet = self.heads[i].packet;
            let class = |p: &Packet| self.ingress.class_of(p);
            let first = self.heads.iter().take(i).all(|h| class(&h.packet) != class(&packet));
            if first && packet.wire <= largest {
                let head = &self.heads[i];
                if self.discipline.serves_best_effort(now, head, &self.realtime) {
                    return Some(i);
                }
                largest = packet.wire.checked_sub(1)?;
            }
        }
        None
    }
}

impl<D: Discipline> LinkPolicy for Pipeline<D> {
    fn enqueue(&mut self, now: Time, packet: Packet, drops: &mut dyn DropSink) {
        self.release_shaped(now);
        let earliest_conformance = self.discipline.earliest_conformance(packet.flow.index());
        match self.ingress.route(now, earliest_conformance, packet, &mut self.fair, drops) {
            Route::Realtime(packet) => self.insert(now, packet),
            Route::Shaped(flow, until) => self.discipline.on_shaped(flow, until),
            Route::BestEffort(class, packet) => {
                let class = if D::ARRIVAL_ORDER { 0 } else { class };
                if self.fair.enqueue(now, class, packet).is_err() {
                    self.ingress.release(&packet, false);
                    drops.dropped(now, &packet, DropReason::BufferSlots);
                } else if self.heads.is_empty() {
                    self.commit(now);
                }
            }
            Route::Dropped => {}
        }
    }

    fn handle_stall(&mut self) {
        self.yields_to_realtime |= self.discipline.on_stall();
    }

    fn dequeue(&mut self, now: Time, _: &mut dyn DropSink) -> Option<Departure> {
        self.release_shaped(now);
        if let Some(Head { deadline, packet }) =
            self.best_effort(now).and_then(|place| self.heads.remove(place))
        {
            if self.heads.is_empty() {
                self.commit(now);
            }
            self.starts(now, packet.wire);
            self.ingress.release(&packet, false);
            return Some(Departure { packet, deadline, realtime: false, dropped: false });
        }
        let Some(entry) = self.realtime.pop() else {
            if self.heads.is_empty() {
                self.discipline.reset();
            } else {
                self.discipline.on_idle();
            }
            return None;
        };
        self.discipline.on_realtime_start(now, &entry);
        self.starts(now, entry.packet.wire);
        self.ingress.release(&entry.packet, true);
        let (relative, _) = self.flows[entry.packet.flow.index()];
        let key = entry.deadline;
        let deadline = if D::ARRIVAL_ORDER { key + relative } else { key };
        Some(Departure { packet: entry.packet, deadline, realtime: true, dropped: false })
    }

    fn next_event(&self) -> Option<Time> {
        let retry = self.discipline.next_event().filter(|_| !self.heads.is_empty());
        self.ingress.next_event().into_iter().chain(retry).min()
    }

    fn waiting(&self) -> usize {
        self.realtime.len() + self.fair.len() + self.heads.len() + self.ingress.shaped()
    }
}
