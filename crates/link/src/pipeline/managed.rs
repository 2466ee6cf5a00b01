//! Best effort whose packet is chosen at each decision: flow queues and AQM under the deadlines.

use laxity_core::Time;

use super::{BestEffort, Discipline, Head, Labels};
use crate::aqm::Verdict;
use crate::buffer::DropReason;
use crate::class_queues::ClassQueues;
use crate::config::{LinkConfig, LinkConfigError};
use crate::edf::{EdfQueue, Full};
use crate::ingress::{Ingress, PushOut};
use crate::police::Gate;
use crate::slot::Slot;
use crate::{Departure, DropSink, Packet};

/// After so many drops in one decision the next candidate does not pass its AQM.
const MAX_DROPS: usize = 32;

/// The classes, and the slot of the aggregate.
#[derive(Debug)]
pub struct Managed {
    pub(crate) queues: ClassQueues,
    pub(crate) slot: Slot,
}

impl Managed {
    /// Opens the slot if a packet waits.
    fn open<D: Discipline>(&mut self, now: Time, labels: &mut Labels<D>) {
        if let Some(candidate) = self.queues.select(now) {
            let packet = candidate.packet;
            self.slot.open(now, (packet.arrival, packet.wire), labels);
        }
    }

    /// Keeps the slot open exactly while there is a candidate, where upper limits may hold back all
    /// that waits. What they let go counts as released then: for the deadlines it was not there
    /// before.
    fn follow_limits<D: Discipline>(&mut self, now: Time, labels: &mut Labels<D>) {
        if !self.queues.is_limited() {
            return;
        }
        match (self.queues.select(now), self.slot.is_open()) {
            (None, true) => self.slot.close(labels),
            (Some(_), false) => {
                labels.release_all(now);
                self.open(now, labels);
            }
            _ => {}
        }
    }

    /// The candidate that may start now, before its AQM is asked. Under `allow-overtaking` the next
    /// class follows a refused one with a smaller candidate.
    fn accepted<D: Discipline>(
        &mut self,
        now: Time,
        labels: &mut Labels<D>,
        realtime: &EdfQueue,
        unasked: bool,
    ) -> Option<(crate::class_queues::Candidate, Time)> {
        let mut largest = u32::MAX;
        let mut accepted = None;
        while let Some(candidate) = self.queues.select(now) {
            let packet = candidate.packet;
            if packet.wire <= largest {
                let deadline = self.slot.offer(packet.wire, labels);
                let head = Head { deadline, packet };
                if unasked || labels.discipline.serves_best_effort(now, &head, realtime) {
                    accepted = Some((candidate, deadline));
                    break;
                }
                largest = packet.wire.saturating_sub(1);
            }
            if !labels.discipline.may_pass() {
                break;
            }
            self.queues.hide(candidate.class);
        }
        self.queues.unhide();
        accepted
    }
}

#[cfg(test)]
impl<D: Discipline> super::Pipeline<D, Managed> {
    /// For the tests of the slot.
    pub(crate) fn managed_queues(&mut self) -> &mut Managed {
        &mut self.best_effort
    }

    /// Drops the candidate as a push-out does.
    pub(crate) fn discard(&mut self, now: Time) -> Option<Packet> {
        let candidate = self.best_effort.queues.select(now)?;
        let packet = self.best_effort.queues.remove(&candidate, false);
        self.ingress.release(&packet, false);
        self.best_effort.after_push_out(now, &mut self.labels);
        Some(packet)
    }
}

impl PushOut for Managed {
    fn push_out(&mut self, class: Option<usize>, out: &mut dyn FnMut(Packet)) -> bool {
        self.queues.push_out(class, out)
    }
}

impl<D: Discipline> BestEffort<D> for Managed {
    fn new(config: &LinkConfig, slots: usize, _: &D) -> Result<Managed, LinkConfigError> {
        let queues = ClassQueues::new(config, slots, D::AFTER_REALTIME)?;
        Ok(Managed { queues, slot: Slot::default() })
    }

    fn enqueue(
        &mut self,
        now: Time,
        class: usize,
        packet: Packet,
        labels: &mut Labels<D>,
        drops: &mut dyn DropSink,
    ) -> Result<(), Full> {
        self.queues.enqueue(now, class, packet, drops)?;
        self.follow_limits(now, labels);
        if !self.slot.is_open() && !self.queues.is_limited() {
            self.open(now, labels);
        }
        Ok(())
    }

    fn next<G: Gate>(
        &mut self,
        now: Time,
        labels: &mut Labels<D>,
        realtime: &EdfQueue,
        ingress: &mut Ingress<G>,
        drops: &mut dyn DropSink,
    ) -> Option<Departure> {
        if self.queues.is_empty() {
            self.queues.forget();
            return None;
        }
        let mut dropped = 0;
        loop {
            self.follow_limits(now, labels);
            #[cfg(not(test))]
            let unasked = false;
            #[cfg(test)]
            let unasked = dropped > 0 && self.slot.variant == crate::slot::Variant::Unasked;
            let (candidate, deadline) = self.accepted(now, labels, realtime, unasked)?;
            let verdict = if dropped < MAX_DROPS {
                self.queues.judge(&candidate, now)
            } else {
                Verdict::Send
            };
            if verdict == Verdict::Drop {
                drops.dropped(now, &candidate.packet, DropReason::Aqm);
            }
            let charged = self.queues.charges_drops(candidate.class);
            if verdict != Verdict::Drop || charged {
                let packet = self.queues.remove(&candidate, true);
                self.slot.used(packet.wire, labels);
                self.open(now, labels);
                let dropped = verdict == Verdict::Drop;
                return Some(Departure { packet, deadline, realtime: false, dropped });
            }
            let packet = self.queues.remove(&candidate, false);
            ingress.release(&packet, false);
            labels.discipline.on_best_effort_dropped(now, packet.wire);
            dropped += 1;
            if self.queues.is_empty() {
                self.slot.close(labels);
                return None;
            }
        }
    }

    fn pending(&self) -> Option<(u32, Time)> {
        self.slot.pending()
    }

    fn shorten(&mut self, release: Time, deadline: Time) {
        self.slot.shorten(release, deadline);
    }

    fn relabel(&mut self, release: Time, labels: &mut Labels<D>) {
        self.slot.relabel(release, labels);
    }

    /// Once the last packet is pushed out the slot must close: what comes later was not released
    /// before.
    fn after_push_out(&mut self, now: Time, labels: &mut Labels<D>) {
        if self.queues.is_empty() {
            self.slot.close(labels);
        }
        self.follow_limits(now, labels);
    }

    fn next_event(&self) -> Option<Time> {
        self.queues.next_event()
    }

    fn on_realtime_start(&mut self, wire: u32) {
        self.queues.on_realtime_start(wire);
    }

    fn len(&self) -> usize {
        self.queues.len()
    }

    fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }
}
