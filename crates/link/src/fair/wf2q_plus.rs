//! Worst-case fair weighted fair queueing, plus.

use alloc::{boxed::Box, vec};

use laxity_core::{Time, Weight};

use super::longest::Longest;
use super::shares::Shares;
use super::{FairQueue, Full};
use crate::Packet;
use crate::edf::FILLER;
use crate::edf::fifos::Fifos;
use crate::edf::tournament::{Tournament, Wide};

/// WF2Q+ (Bennett and Zhang, IEEE/ACM ToN 5(5), 1997): the smallest finish tag among the packets
/// that have started in the reference server.
///
/// Virtual time advances by the work served over the sum of all weights, and is never below the
/// least start tag of a waiting class. A class that waits throughout an interval in which the
/// aggregate gets `W` bytes gets at least `W w_i / sum(w) - a_i`, with the smallest worst-case
/// fair index there is: `a_i = L_i + (L_max - L_i) w_i / sum(w)`. Unlike under
/// [`Wfq`](super::Wfq), a class never runs ahead of its share by more than one packet either.
#[derive(Clone, Debug)]
pub struct Wf2qPlus {
    shares: Shares,
    packets: Fifos<Packet>,
    classes: Box<[Class]>,
    /// Heads with a start tag of at most `virtual_time`, by finish tag.
    eligible: Tournament<Wide>,
    /// The other heads, by start tag.
    later: Tournament<Wide>,
    backlog: Longest,
    virtual_time: i128,
    /// Number of the busy period; tags of earlier ones count as zero.
    period: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    /// Tags of the head, or of the last packet served when the class is empty.
    start: i128,
    finish: i128,
    period: u64,
}

impl Wf2qPlus {
    /// One class for each weight, room for `slots` packets in all.
    pub fn new(weights: &[Weight], slots: usize) -> Wf2qPlus {
        let classes = weights.len();
        Wf2qPlus {
            shares: Shares::new(weights, true),
            packets: Fifos::new(classes, slots, FILLER),
            classes: vec![Class::default(); classes].into_boxed_slice(),
            eligible: Tournament::new(classes),
            later: Tournament::new(classes),
            backlog: Longest::new(classes),
            virtual_time: 0,
            period: 0,
        }
    }

    #[inline]
    fn enter(&mut self, class: usize, start: i128, wire: u32) {
        let finish = start + self.shares.cost(class, wire);
        self.classes[class] = Class { start, finish, period: self.period };
        if start <= self.virtual_time {
            self.eligible.set(class, Wide::new(finish, class));
        } else {
            self.later.set(class, Wide::new(start, class));
        }
    }

    /// Restores that virtual time is at least the least start tag, and that `eligible` holds all
    /// heads that have started. Each head is moved at most once.
    #[inline]
    fn promote(&mut self) {
        if self.packets.len() == 0 {
            self.virtual_time = 0;
            self.period += 1;
            return;
        }
        while let Some((start, class)) = self.later.winner().get() {
            if start > self.virtual_time {
                if self.eligible.winner().get().is_some() {
                    return;
                }
                self.virtual_time = start;
            }
            self.later.withdraw(class);
            self.eligible.set(class, Wide::new(self.classes[class].finish, class));
        }
    }
}

impl FairQueue for Wf2qPlus {
    #[inline]
    fn enqueue(&mut self, _now: Time, class: usize, packet: Packet) -> Result<(), Full> {
        self.packets.push(class, packet)?;
        self.backlog.add(class, packet.wire, &self.shares);
        if self.packets.fifo_len(class) == 1 {
            let last = &self.classes[class];
            let served = if last.period == self.period { last.finish } else { 0 };
            self.enter(class, served.max(self.virtual_time), packet.wire);
            self.promote();
        }
        Ok(())
    }

    #[inline]
    fn dequeue(&mut self, _now: Time) -> Option<(usize, Packet)> {
        let (finish, class) = self.eligible.winner().get()?;
        let packet = self.packets.pop(class)?;
        self.backlog.subtract(class, packet.wire);
        self.virtual_time += self.shares.common_cost(packet.wire);
        match self.packets.oldest(class).map(|next| next.wire) {
            Some(wire) => {
                if finish > self.virtual_time {
                    self.eligible.withdraw(class);
                }
                self.enter(class, finish, wire);
            }
            None => self.eligible.withdraw(class),
        }
        self.promote();
        Some((class, packet))
    }

    #[inline]
    fn peek(&self, _now: Time) -> Option<(usize, &Packet)> {
        let (_, class) = self.eligible.winner().get()?;
        Some((class, self.packets.oldest(class)?))
    }

    #[inline]
    fn len(&self) -> usize {
        self.packets.len()
    }

    fn class_len(&self, class: usize) -> usize {
        self.packets.fifo_len(class)
    }

    fn class_bytes(&self, class: usize) -> u64 {
        self.backlog.bytes(class)
    }

    fn class_head(&self, class: usize) -> Option<&Packet> {
        self.packets.oldest(class)
    }

    fn push_out(&mut self) -> Option<(usize, Packet)> {
        let packets = &self.packets;
        let class = self.backlog.longest(&self.shares, |class| packets.fifo_len(class) > 0)?;
        Some((class, self.drop_tail(class)?))
    }

    fn drop_tail(&mut self, class: usize) -> Option<Packet> {
        let packet = self.packets.pop_newest(class)?;
        self.backlog.subtract(class, packet.wire);
        if self.packets.fifo_len(class) == 0 {
            // The head itself, never served: its cost is taken back.
            self.classes[class].finish = self.classes[class].start;
            self.eligible.withdraw(class);
            self.later.withdraw(class);
            self.promote();
        }
        Some(packet)
    }
}
