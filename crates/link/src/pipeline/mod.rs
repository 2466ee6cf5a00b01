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
//!
//! # Two kinds of best effort
//!
//! Where no class has flow queues or AQM and none has a curve, the next packet is [`Committed`] with
//! its deadline as soon as its predecessor starts. Otherwise it is chosen at each decision:
//! [`Managed`].
//!
//! # With and without service curves
//!
//! [`Served`] has the deadlines of flows with service curves. A link without such flows has
//! `NoCurves` in its place: code that knows no curves, so that its packets do not pay for them.

mod committed;
mod discipline;
mod labels;
mod managed;
mod served;

use alloc::boxed::Box;
use alloc::vec::Vec;

use laxity_core::{Span, Time};

pub use committed::Committed;
pub use discipline::{ByDeadline, Discipline, Head};
pub(crate) use labels::Labels;
pub use managed::Managed;
pub use served::Served;
pub(crate) use served::{Curves, NoCurves};

use crate::buffer::DropReason;
use crate::config::{LinkConfig, LinkConfigError, RealtimeFlow};
use crate::edf::{EdfQueue, Entry, Full};
use crate::ingress::{Ingress, PushOut, Route};
use crate::police::Gate;
use crate::{Departure, DropSink, LinkPolicy, Packet};

/// The queues of best effort, and the choice among them.
pub(crate) trait BestEffort<D: Discipline>: PushOut + Sized {
    /// Empty queues for `slots` packets.
    fn new(config: &LinkConfig, slots: usize, discipline: &D) -> Result<Self, LinkConfigError>;

    /// Adds a packet.
    fn enqueue(
        &mut self,
        now: Time,
        class: usize,
        packet: Packet,
        labels: &mut Labels<D>,
        drops: &mut dyn DropSink,
    ) -> Result<(), Full>;

    /// Removes the packet to serve now, if one goes before the queued real-time packets.
    fn next<G: Gate>(
        &mut self,
        now: Time,
        labels: &mut Labels<D>,
        realtime: &EdfQueue,
        ingress: &mut Ingress<G>,
        drops: &mut dyn DropSink,
    ) -> Option<Departure>;

    /// Size and deadline of what waits with a deadline.
    fn pending(&self) -> Option<(u32, Time)>;

    /// Gives it an earlier deadline, for which it counts as released at `release`.
    fn shorten(&mut self, release: Time, deadline: Time);

    /// Assigns all deadlines again.
    fn relabel(&mut self, release: Time, labels: &mut Labels<D>);

    /// Packets may have been pushed out.
    fn after_push_out(&mut self, _now: Time, _labels: &mut Labels<D>) {}

    /// When a packet may go that an upper limit holds back now.
    fn next_event(&self) -> Option<Time> {
        None
    }

    /// A real-time packet of `wire` bytes starts.
    fn on_realtime_start(&mut self, _wire: u32) {}

    /// Number of packets.
    fn len(&self) -> usize;

    /// Whether no packet waits.
    fn is_empty(&self) -> bool;
}

/// The scheduler of one link.
#[derive(Debug)]
pub struct Pipeline<D, B = Committed, S: Curves = Served> {
    ingress: Ingress<S::Gate>,
    realtime: EdfQueue,
    /// Relative deadline and class of each real-time flow.
    flows: Box<[(Span, usize)]>,
    /// The flows with service curves, whose classes follow those of the relative deadlines.
    served: S,
    best_effort: B,
    labels: Labels<D>,
}

impl<D: Discipline> Pipeline<D> {
    /// A scheduler with empty queues, which commits the next best-effort packet in advance and
    /// knows no flow queues or AQM.
    ///
    /// # Errors
    /// When the buffer is smaller than the backlog bound of the flows, a flow has a service curve
    /// beyond the arithmetic, or best effort is ordered by fair service curves.
    pub fn new(config: &LinkConfig, discipline: D) -> Result<Pipeline<D>, LinkConfigError> {
        Pipeline::build(config, discipline)
    }
}

impl<D: Discipline> Pipeline<D, Managed> {
    /// A scheduler with empty queues, whose classes have flow queues and AQM as configured.
    ///
    /// # Errors
    /// When the buffer is smaller than the backlog bound of the flows, a number of flow queues is
    /// no power of two or out of range, a flow has a service curve beyond the arithmetic, or the
    /// groups of best effort make no tree.
    pub fn managed(config: &LinkConfig, discipline: D) -> Result<Self, LinkConfigError> {
        Pipeline::build(config, discipline)
    }
}

#[allow(private_bounds)]
impl<D: Discipline, B: BestEffort<D>, S: Curves> Pipeline<D, B, S> {
    /// A scheduler with empty queues of these kinds; [`NoCurves`] where no flow has a service curve.
    pub(crate) fn build(config: &LinkConfig, discipline: D) -> Result<Self, LinkConfigError> {
        let ingress = Ingress::new(config)?;
        let best_effort = B::new(config, ingress.best_effort_slots(), &discipline)?;
        let relative = config.realtime.iter().filter(|f| f.service.is_none());
        let mut deadlines: Vec<Span> = relative.map(|f| f.deadline).collect();
        deadlines.sort_unstable();
        deadlines.dedup();
        let mut classes = deadlines.len();
        let class = |f: &RealtimeFlow| match f.service {
            None => (f.deadline, deadlines.partition_point(|x| *x < f.deadline)),
            Some(_) => {
                classes += 1;
                (f.deadline, classes - 1)
            }
        };
        let flows = config.realtime.iter().map(class).collect();
        Ok(Pipeline {
            realtime: EdfQueue::new(classes.max(1), ingress.realtime_slots()),
            flows,
            served: S::new(config, deadlines.len())?,
            ingress,
            best_effort,
            labels: Labels::new(config, discipline),
        })
    }
}

impl<D: Discipline, B, S: Curves> Pipeline<D, B, S> {
    /// The discipline, for inspection.
    pub fn discipline(&self) -> &D {
        &self.labels.discipline
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
        let key = if D::ARRIVAL_ORDER {
            conformance
        } else if self.served.has(class) {
            let first = self.realtime.class_len(class) == 0;
            self.served.deadline(class, conformance, packet.wire, first)
        } else {
            conformance + deadline
        };
        let entry = Entry { deadline: key, packet };
        self.labels.discipline.on_realtime_release(conformance, &entry);
        // The ingress accounts for the slot, so the push cannot fail.
        let pushed = self.realtime.push(class, entry);
        debug_assert!(pushed.is_ok());
    }
}

#[allow(private_bounds)]
impl<D: Discipline, B: BestEffort<D>, S: Curves> Pipeline<D, B, S> {
    /// Ends the yielding after a stall: the real-time queue is empty, and all best-effort deadlines
    /// are assigned again.
    #[cold]
    fn restart_after_stall(&mut self, now: Time) {
        self.labels.yields_to_realtime = false;
        self.labels.discipline.reset();
        let release = self.labels.release_all(now);
        self.best_effort.relabel(release, &mut self.labels);
    }

    /// The transmission of `wire` bytes starts; deadlines may restart if the real-time queue is
    /// empty.
    #[inline]
    fn starts(&mut self, now: Time, wire: u32) {
        let labels = &mut self.labels;
        if !labels.restarts || !self.realtime.is_empty() || labels.yields_to_realtime {
            return;
        }
        let (in_flight, pending) = (labels.in_flight(wire), self.best_effort.pending());
        let Some(earlier) = labels.discipline.restart(now, in_flight, pending) else { return };
        // The packets behind it count as released now as well.
        let release = labels.release_all(now);
        self.best_effort.shorten(release, earlier);
    }

    /// The best-effort packet to serve now, if any.
    #[inline]
    fn best_effort(&mut self, now: Time, drops: &mut dyn DropSink) -> Option<Departure> {
        if self.labels.yields_to_realtime {
            if !self.realtime.is_empty() {
                return None;
            }
            self.restart_after_stall(now);
        }
        let (labels, ingress) = (&mut self.labels, &mut self.ingress);
        self.best_effort.next(now, labels, &self.realtime, ingress, drops)
    }
}

#[allow(private_bounds)]
impl<D: Discipline, B: BestEffort<D>, S: Curves> LinkPolicy for Pipeline<D, B, S> {
    fn enqueue(&mut self, now: Time, packet: Packet, drops: &mut dyn DropSink) {
        self.release_shaped(now);
        let flow = packet.flow.index();
        let earliest_conformance = self.labels.discipline.earliest_conformance(flow);
        let queues = &mut self.best_effort;
        let route = self.ingress.route(now, earliest_conformance, packet, queues, drops);
        queues.after_push_out(now, &mut self.labels);
        match route {
            Route::Realtime(packet) => self.insert(now, packet),
            Route::Shaped(flow, until) => self.labels.discipline.on_shaped(flow, until),
            Route::BestEffort(class, packet) => {
                if queues.enqueue(now, class, packet, &mut self.labels, drops).is_err() {
                    self.ingress.release(&packet, false);
                    drops.dropped(now, &packet, DropReason::BufferSlots);
                }
            }
            Route::Dropped => {}
        }
    }

    fn handle_stall(&mut self) {
        self.labels.yields_to_realtime |= self.labels.discipline.on_stall();
    }

    fn dequeue(&mut self, now: Time, drops: &mut dyn DropSink) -> Option<Departure> {
        self.release_shaped(now);
        self.served.completed();
        if let Some(departure) = self.best_effort(now, drops) {
            self.starts(now, departure.packet.wire);
            self.ingress.release(&departure.packet, false);
            return Some(departure);
        }
        let Some((class, entry)) = self.realtime.pop_class() else {
            // What an upper limit holds back has no deadline yet.
            if self.best_effort.pending().is_none() {
                self.labels.discipline.reset();
                self.served.reset();
            } else {
                self.labels.discipline.on_idle();
            }
            return None;
        };
        self.labels.discipline.on_realtime_start(now, &entry);
        self.best_effort.on_realtime_start(entry.packet.wire);
        // The next packet of a flow with a service curve continues the one on the wire, so a new
        // history of best effort may not begin beside it.
        if !self.served.starts(class) {
            self.starts(now, entry.packet.wire);
        }
        self.ingress.release(&entry.packet, true);
        let deadline = match D::ARRIVAL_ORDER {
            true => entry.deadline + self.flows[entry.packet.flow.index()].0,
            false => entry.deadline,
        };
        Some(Departure { packet: entry.packet, deadline, realtime: true, dropped: false })
    }

    fn next_event(&self) -> Option<Time> {
        let retry = self.labels.discipline.next_event().filter(|_| !self.best_effort.is_empty());
        let limits = self.best_effort.next_event();
        self.ingress.next_event().into_iter().chain(retry).chain(limits).min()
    }

    fn waiting(&self) -> usize {
        self.realtime.len() + self.best_effort.len() + self.ingress.shaped()
    }
}
