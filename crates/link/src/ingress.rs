//! The way in: every packet is policed, counted against the buffers, and sent on its way.

use alloc::boxed::Box;

use laxity_core::{Span, Time};

use crate::buffer::{Buffers, DropReason, Verdict};
use crate::edf::{EdfQueue, Entry};
use crate::fair::{Fair, FairQueue};
use crate::police::Policer;
use crate::setup::{Excess, Setup, SetupError};
use crate::{Drops, Packet};

/// Where an arriving packet goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Route {
    /// It conforms now.
    Realtime(Packet),
    /// Into the fair queue, in this class.
    BestEffort(usize, Packet),
    /// A packet of this flow is held back in the shaper until then.
    Held(usize, Time),
    /// Dropped.
    Done,
}

/// Who can give up a place.
pub(crate) trait PushOut {
    /// Removes the newest packet of the best-effort class that is furthest above its share.
    fn push_out(&mut self) -> Option<Packet>;
}

impl PushOut for Fair {
    fn push_out(&mut self) -> Option<Packet> {
        FairQueue::push_out(self).map(|(_, packet)| packet)
    }
}

/// Policers, shapers and buffer accounts of all flows.
#[derive(Debug)]
pub(crate) struct Ingress {
    flows: Box<[Flow]>,
    /// Packets that do not conform yet, by the instant from which they do: one class a flow, since
    /// conformance never falls within a flow.
    shaper: EdfQueue,
    buffers: Buffers,
    classes: usize,
    largest_best_effort: u32,
}

#[derive(Debug)]
struct Flow {
    policer: Policer,
    excess: Excess,
    largest: u32,
    /// The longest time for which its packets were held back for the link's sake. They may come
    /// after each other faster than the envelope allows by as much, which is no excess.
    grace: Span,
}

impl Ingress {
    pub(crate) fn new(setup: &Setup) -> Result<Ingress, SetupError> {
        if setup.best_effort.is_empty() {
            return Err(SetupError::NoBestEffortClass);
        }
        let buffers = Buffers::new(setup)?;
        let flow = |f: &crate::setup::RealtimeFlow| Flow {
            policer: Policer::new(&f.envelope),
            excess: f.excess,
            grace: Span::ZERO,
            largest: u32::try_from(f.envelope.max_packet().0).unwrap_or(u32::MAX),
        };
        let flows: Box<[_]> = setup.realtime.iter().map(flow).collect();
        Ok(Ingress {
            shaper: EdfQueue::new(flows.len().max(1), buffers.realtime_slots()),
            flows,
            buffers,
            classes: setup.best_effort.len(),
            largest_best_effort: u32::try_from(setup.max_packet.0).unwrap_or(u32::MAX),
        })
    }

    pub(crate) fn realtime_slots(&self) -> usize {
        self.buffers.realtime_slots()
    }

    pub(crate) fn best_effort_slots(&self) -> usize {
        self.buffers.best_effort_slots()
    }

    pub(crate) fn shaped(&self) -> usize {
        self.shaper.len()
    }

    pub(crate) fn next_event(&self) -> Option<Time> {
        self.shaper.peek().map(|e| e.deadline)
    }

    /// Takes the next shaped packet that conforms by `now`; its `deadline` is the instant of
    /// conformance.
    #[inline]
    pub(crate) fn next_conforming(&mut self, now: Time) -> Option<Entry> {
        if self.shaper.peek()?.deadline > now {
            return None;
        }
        self.shaper.pop()
    }

    /// A packet left the queues.
    #[inline]
    pub(crate) fn left(&mut self, packet: &Packet, realtime: bool) {
        self.buffers.release(packet.flow.index(), packet.bytes, realtime);
    }

    /// The class in which a best-effort or demoted packet waits.
    #[inline]
    pub(crate) fn class_of(&self, packet: &Packet) -> usize {
        let last = self.classes - 1;
        packet.flow.index().checked_sub(self.flows.len()).map_or(last, |class| class.min(last))
    }

    /// Sends a packet on its way; one of a real-time flow conforms at `not_before` at the earliest.
    #[inline]
    pub(crate) fn route(
        &mut self,
        now: Time,
        not_before: Time,
        packet: Packet,
        queues: &mut impl PushOut,
        drops: &mut dyn Drops,
    ) -> Route {
        let Some(flow) = self.flows.get_mut(packet.flow.index()) else {
            return self.best_effort(now, packet, queues, drops);
        };
        if not_before > now {
            flow.grace = flow.grace.max(not_before.since(now));
        }
        let conforms = match flow.policer.conforms_at(now.max(not_before), packet.bytes) {
            Some(at) if packet.bytes <= flow.largest => at,
            _ => {
                drops.dropped(now, &packet, DropReason::Oversize);
                return Route::Done;
            }
        };
        if conforms > now + flow.grace && flow.excess != Excess::Delay {
            if flow.excess == Excess::Demote {
                let packet = Packet { demoted: true, ..packet };
                return self.best_effort(now, packet, queues, drops);
            }
            drops.dropped(now, &packet, DropReason::Excess);
            return Route::Done;
        }
        if let Err(reason) = self.make_room(now, true, &packet, queues, drops) {
            drops.dropped(now, &packet, reason);
            return Route::Done;
        }
        self.flows[packet.flow.index()].policer.take(conforms, packet.bytes);
        if conforms <= now {
            return Route::Realtime(packet);
        }
        let class = packet.flow.index();
        let held = self.shaper.push(class, Entry { deadline: conforms, packet });
        debug_assert!(held.is_ok(), "the buffers count slots too");
        Route::Held(class, conforms)
    }

    /// Counts a packet in. What is short of room is taken from the best-effort class that is
    /// furthest above its share, so a flood pays for itself.
    #[inline]
    fn make_room(
        &mut self,
        now: Time,
        realtime: bool,
        packet: &Packet,
        queues: &mut impl PushOut,
        drops: &mut dyn Drops,
    ) -> Result<(), DropReason> {
        let flow = packet.flow.index();
        loop {
            let verdict = match realtime {
                true => self.buffers.realtime(flow, packet.bytes),
                false => self.buffers.best_effort(flow, packet.bytes),
            };
            let refusal = match verdict {
                Verdict::Accept => return Ok(()),
                Verdict::Reject(reason) if realtime || !reason.is_shared() => return Err(reason),
                Verdict::Reject(reason) => reason,
                Verdict::PushOut => DropReason::BufferTotal,
            };
            let Some(victim) = queues.push_out() else { return Err(refusal) };
            self.left(&victim, false);
            drops.dropped(now, &victim, DropReason::PushedOut);
        }
    }

    fn best_effort(
        &mut self,
        now: Time,
        packet: Packet,
        queues: &mut impl PushOut,
        drops: &mut dyn Drops,
    ) -> Route {
        // A larger one would block longer than admission counted with.
        let verdict = if packet.bytes > self.largest_best_effort {
            Err(DropReason::Oversize)
        } else {
            self.make_room(now, false, &packet, queues, drops)
        };
        match verdict {
            Ok(()) => Route::BestEffort(self.class_of(&packet), packet),
            Err(reason) => {
                drops.dropped(now, &packet, reason);
                Route::Done
            }
        }
    }
}
