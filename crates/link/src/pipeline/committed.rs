//! Best effort whose next packet is committed with its deadline when its predecessor starts.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use laxity_core::Time;

use super::{BestEffort, Discipline, Head, Labels};
use crate::config::{FairQueue, LinkConfig, LinkConfigError};
use crate::edf::{EdfQueue, Full};
use crate::fair::{Fair, FairQueue as _};
use crate::ingress::{Ingress, PushOut};
use crate::police::Gate;
use crate::{Departure, DropSink, Packet};

/// Number of packets in fair order that are searched for one that may pass a refused head.
const LOOKAHEAD: usize = 64;

/// The fair queue, and the packets taken from it.
#[derive(Debug)]
pub struct Committed {
    fair: Fair,
    /// The next best-effort packets in fair order: one, unless smaller ones may pass it.
    heads: VecDeque<Head>,
    max_heads: usize,
    /// Everything is one class.
    one_class: bool,
}

impl Committed {
    /// Takes the next packet from the fair queue and assigns its deadline.
    #[inline]
    fn commit<D: Discipline>(&mut self, now: Time, labels: &mut Labels<D>) -> bool {
        let Some((_, packet)) = self.fair.dequeue(now) else { return false };
        let release = labels.release(now, packet.arrival);
        let deadline = labels.discipline.assign(release, packet.wire);
        self.heads.push_back(Head { deadline, packet });
        true
    }

    /// Index of the first packet in fair order that may pass the refused head: first of its class,
    /// smaller than every packet refused before it, and accepted by the discipline.
    fn passing_candidate<D: Discipline, G: Gate>(
        &mut self,
        now: Time,
        labels: &mut Labels<D>,
        realtime: &EdfQueue,
        ingress: &Ingress<G>,
    ) -> Option<usize> {
        let mut largest = self.heads.front()?.packet.wire.checked_sub(1)?;
        for i in 1..self.max_heads {
            if i == self.heads.len() && !self.commit(now, labels) {
                return None;
            }
            let packet = self.heads[i].packet;
            let class = |p: &Packet| ingress.class_of(p);
            let first = self.heads.iter().take(i).all(|h| class(&h.packet) != class(&packet));
            if first && packet.wire <= largest {
                let head = &self.heads[i];
                if labels.discipline.serves_best_effort(now, head, realtime) {
                    return Some(i);
                }
                largest = packet.wire.checked_sub(1)?;
            }
        }
        None
    }
}

impl PushOut for Committed {
    /// The newest packet of the class.
    fn push_out(&mut self, class: Option<usize>, out: &mut dyn FnMut(Packet)) -> bool {
        if class.is_some() {
            return false;
        }
        self.fair.push_out().map(|(_, packet)| out(packet)).is_some()
    }
}

impl<D: Discipline> BestEffort<D> for Committed {
    fn new(
        config: &LinkConfig,
        slots: usize,
        discipline: &D,
    ) -> Result<Committed, LinkConfigError> {
        // Among one class no order differs.
        let kind = if D::ARRIVAL_ORDER { FairQueue::default() } else { config.fair_queue };
        let classes = if D::ARRIVAL_ORDER { 1 } else { config.best_effort.len() };
        let weights: Vec<_> = config.best_effort.iter().map(|c| c.weight).take(classes).collect();
        let max_heads = if discipline.may_pass() { LOOKAHEAD } else { 1 };
        Ok(Committed {
            fair: Fair::new(kind, &weights, slots)?,
            heads: VecDeque::with_capacity(max_heads),
            max_heads,
            one_class: D::ARRIVAL_ORDER,
        })
    }

    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        class: usize,
        packet: Packet,
        labels: &mut Labels<D>,
        _: &mut dyn DropSink,
    ) -> Result<(), Full> {
        let class = if self.one_class { 0 } else { class };
        self.fair.enqueue(now, class, packet)?;
        if self.heads.is_empty() {
            self.commit(now, labels);
        }
        Ok(())
    }

    #[inline]
    fn next<G: Gate>(
        &mut self,
        now: Time,
        labels: &mut Labels<D>,
        realtime: &EdfQueue,
        ingress: &mut Ingress<G>,
        _: &mut dyn DropSink,
    ) -> Option<Departure> {
        let head = self.heads.front()?;
        let place = if labels.discipline.serves_best_effort(now, head, realtime) {
            0
        } else if self.max_heads > 1 {
            self.passing_candidate(now, labels, realtime, ingress)?
        } else {
            return None;
        };
        let Head { deadline, packet } = self.heads.remove(place)?;
        if self.heads.is_empty() {
            self.commit(now, labels);
        }
        Some(Departure { packet, deadline, realtime: false, dropped: false })
    }

    #[inline]
    fn pending(&self) -> Option<(u32, Time)> {
        self.heads.front().map(|head| (head.packet.wire, head.deadline))
    }

    #[inline]
    fn shorten(&mut self, _: Time, deadline: Time) {
        if let Some(head) = self.heads.front_mut() {
            head.deadline = deadline;
        }
    }

    fn relabel(&mut self, release: Time, labels: &mut Labels<D>) {
        for head in &mut self.heads {
            head.deadline = labels.discipline.assign(release, head.packet.wire);
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.fair.len() + self.heads.len()
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }
}
