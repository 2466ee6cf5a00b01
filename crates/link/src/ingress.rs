//! Ingress: polices every packet, charges it to the buffers and routes it to its queue.

use alloc::boxed::Box;

use laxity_core::{Span, Time};

use crate::buffer::{Buffers, DropReason, Verdict};
use crate::config::{Excess, LinkConfig, LinkConfigError};
use crate::edf::{EdfQueue, Entry};
use crate::police::Gate;
use crate::{DropSink, Packet};

/// Destination of an arriving packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Route {
    /// The EDF queue: it conforms now.
    Realtime(Packet),
    /// The fair queue, in this class.
    BestEffort(usize, Packet),
    /// The shaper: a packet of this flow that conforms at this time.
    Shaped(usize, Time),
    /// None: dropped.
    Dropped,
}

/// Queues from which best-effort packets can be pushed out.
pub(crate) trait PushOut {
    /// Removes packets of `class` if it manages its queue, or else of the class that is furthest
    /// above its share; returns whether there was one.
    fn push_out(&mut self, class: Option<usize>, out: &mut dyn FnMut(Packet)) -> bool;
}

/// Policers, shapers and buffer accounts of all flows.
#[derive(Debug)]
pub struct Ingress<G> {
    flows: Box<[Flow<G>]>,
    /// Packets that do not conform yet, by the time at which they do: one class per flow, since
    /// conformance times never decrease within a flow.
    shaper: EdfQueue,
    buffers: Buffers,
    classes: usize,
    largest_best_effort: u32,
}

#[derive(Debug)]
struct Flow<G> {
    gate: G,
    excess: Excess,
    largest: u32,
    /// The longest time for which the link held back its packets. Packets may then follow each
    /// other that much faster than the envelope allows without being excess.
    grace: Span,
}

impl<G: Gate> Ingress<G> {
    pub(crate) fn new(config: &LinkConfig) -> Result<Ingress<G>, LinkConfigError> {
        if config.best_effort.is_empty() {
            return Err(LinkConfigError::NoBestEffortClass);
        }
        let buffers = Buffers::new(config)?;
        let flow = |f: &crate::config::RealtimeFlow| Flow {
            gate: G::new(f),
            excess: f.excess,
            grace: Span::ZERO,
            largest: u32::try_from(f.envelope.max_packet().0).unwrap_or(u32::MAX),
        };
        let flows: Box<[_]> = config.realtime.iter().map(flow).collect();
        Ok(Ingress {
            shaper: EdfQueue::new(flows.len().max(1), buffers.realtime_slots()),
            flows,
            buffers,
            classes: config.best_effort.len(),
            largest_best_effort: u32::try_from(config.max_packet.0).unwrap_or(u32::MAX),
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

    /// Releases the buffer space of a packet that left the queues.
    #[inline]
    pub(crate) fn release(&mut self, packet: &Packet, realtime: bool) {
        self.buffers.release(packet.flow.index(), packet.bytes, realtime);
    }

    /// The class of a best-effort or demoted packet.
    #[inline]
    pub(crate) fn class_of(&self, packet: &Packet) -> usize {
        let last = self.classes - 1;
        packet.flow.index().checked_sub(self.flows.len()).map_or(last, |class| class.min(last))
    }

    /// Polices, charges and routes a packet; a packet of a real-time flow conforms no earlier than
    /// `earliest_conformance`.
    #[inline]
    pub(crate) fn route(
        &mut self,
        now: Time,
        earliest_conformance: Time,
        packet: Packet,
        queues: &mut impl PushOut,
        drops: &mut dyn DropSink,
    ) -> Route {
        let Some(flow) = self.flows.get_mut(packet.flow.index()) else {
            return self.best_effort(now, packet, queues, drops);
        };
        if earliest_conformance > now {
            flow.grace = flow.grace.max(earliest_conformance.since(now));
        }
        let conforms = match flow.gate.conforms_at(now.max(earliest_conformance), packet.bytes) {
            Some(at) if packet.bytes <= flow.largest => at,
            _ => {
                drops.dropped(now, &packet, DropReason::Oversize);
                return Route::Dropped;
            }
        };
        if conforms > now + flow.grace && flow.excess != Excess::Delay {
            if flow.excess == Excess::Demote {
                let packet = Packet { demoted: true, ..packet };
                return self.best_effort(now, packet, queues, drops);
            }
            drops.dropped(now, &packet, DropReason::Excess);
            return Route::Dropped;
        }
        if let Err(reason) = self.make_room(now, true, &packet, queues, drops) {
            drops.dropped(now, &packet, reason);
            return Route::Dropped;
        }
        self.flows[packet.flow.index()].gate.take(conforms, packet.bytes);
        if conforms <= now {
            return Route::Realtime(packet);
        }
        let class = packet.flow.index();
        let held = self.shaper.push(class, Entry { deadline: conforms, packet });
        debug_assert!(held.is_ok(), "the buffers count slots too");
        Route::Shaped(class, conforms)
    }

    /// Charges a packet to the buffers. If space is short, packets are pushed out of the
    /// best-effort class that is furthest above its share, so a flood displaces itself.
    #[inline]
    fn make_room(
        &mut self,
        now: Time,
        realtime: bool,
        packet: &Packet,
        queues: &mut impl PushOut,
        drops: &mut dyn DropSink,
    ) -> Result<(), DropReason> {
        match self.charge(realtime, packet) {
            Verdict::Accept => Ok(()),
            verdict => self.push_out(now, realtime, packet, verdict, queues, drops),
        }
    }

    #[inline]
    fn charge(&mut self, realtime: bool, packet: &Packet) -> Verdict {
        let flow = packet.flow.index();
        match realtime {
            true => self.buffers.realtime(flow, packet.bytes),
            false => self.buffers.best_effort(flow, packet.bytes),
        }
    }

    /// Pushes packets out until the packet is accepted, or nothing more can go.
    #[cold]
    fn push_out(
        &mut self,
        now: Time,
        realtime: bool,
        packet: &Packet,
        mut verdict: Verdict,
        queues: &mut dyn PushOut,
        drops: &mut dyn DropSink,
    ) -> Result<(), DropReason> {
        loop {
            let (refusal, class) = match verdict {
                Verdict::Accept => return Ok(()),
                Verdict::Reject(reason) if realtime => return Err(reason),
                Verdict::Reject(reason) if reason.is_shared() => (reason, None),
                Verdict::Reject(reason) => (reason, Some(self.class_of(packet))),
                Verdict::PushOut => (DropReason::BufferTotal, None),
            };
            let pushed_out = queues.push_out(class, &mut |victim| {
                self.buffers.release(victim.flow.index(), victim.bytes, false);
                drops.dropped(now, &victim, DropReason::PushedOut);
            });
            if !pushed_out {
                return Err(refusal);
            }
            verdict = self.charge(realtime, packet);
        }
    }

    fn best_effort(
        &mut self,
        now: Time,
        packet: Packet,
        queues: &mut impl PushOut,
        drops: &mut dyn DropSink,
    ) -> Route {
        // A larger packet would block for longer than admission assumes.
        let verdict = if packet.bytes > self.largest_best_effort {
            Err(DropReason::Oversize)
        } else {
            self.make_room(now, false, &packet, queues, drops)
        };
        match verdict {
            Ok(()) => Route::BestEffort(self.class_of(&packet), packet),
            Err(reason) => {
                drops.dropped(now, &packet, reason);
                Route::Dropped
            }
        }
    }
}
