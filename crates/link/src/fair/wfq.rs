//! Weighted fair queueing as packetised GPS.

use alloc::{boxed::Box, vec};

use laxity_core::{Time, Weight};

use super::longest::Longest;
use super::shares::Shares;
use super::{FairQueue, Full};
use crate::Packet;
use crate::edf::FILLER;
use crate::edf::fifos::Fifos;
use crate::edf::tournament::{Tournament, Wide};

/// Packetised generalised processor sharing (Demers, Keshav, Shenker 1989; Parekh, Gallager,
/// IEEE/ACM ToN 1(3), 1993): packets in the order in which they would end in a fluid server that
/// divides the work of the aggregate by weight among the classes that are busy in it.
///
/// No packet ends later than in that server by more than the largest packet. Work is counted as
/// described at [`fair`](super).
///
/// Virtual time advances by `work / (weights of the classes busy in the fluid server)`. It is
/// brought up to date when that sum changes: at the finish tag of the class that falls idle, which
/// is exact, and at the arrival for an idle class, where it is rounded down while the work that was
/// rounded away stays on account. So the fluid server always has served exactly the work that was
/// taken from the queue, and rounding does not accumulate; a start tag is low by less than one
/// unit, which is less than `weight * 2^-59` bytes.
///
/// A packet that is removed unserved is also removed from the fluid server, except for the part
/// that the fluid server has begun. That part is lost to its class: at most one packet.
#[derive(Clone, Debug)]
pub struct Wfq {
    shares: Shares,
    packets: Fifos<Tagged>,
    /// Classes by the finish tag of their head.
    heads: Tournament<Wide>,
    /// Classes that are busy in the fluid server, by the tag at which they may fall idle: at most
    /// their last finish tag, looked at again when virtual time gets there.
    busy: Tournament<Wide>,
    /// Sum of the weights of the busy classes.
    busy_weight: u64,
    /// Finish tag of the newest packet of each class, in busy period `period`.
    last: Box<[Last]>,
    backlog: Longest,
    virtual_time: i128,
    /// Work times scale served since `virtual_time`.
    work: u128,
    /// The value of `work` at which virtual time reaches the first tag in `busy`.
    next: u128,
    period: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Last {
    finish: i128,
    period: u64,
}

#[derive(Clone, Copy, Debug)]
struct Tagged {
    finish: i128,
    packet: Packet,
}

impl Wfq {
    /// One class for each weight, room for `slots` packets in all.
    pub fn new(weights: &[Weight], slots: usize) -> Wfq {
        let classes = weights.len();
        Wfq {
            shares: Shares::new(weights, false),
            packets: Fifos::new(classes, slots, Tagged { finish: 0, packet: FILLER }),
            heads: Tournament::new(classes),
            busy: Tournament::new(classes),
            busy_weight: 0,
            last: vec![Last::default(); classes].into_boxed_slice(),
            backlog: Longest::new(classes),
            virtual_time: 0,
            work: 0,
            next: u128::MAX,
            period: 0,
        }
    }

    #[inline]
    fn is_busy(&self, class: usize) -> bool {
        self.busy.entered(class).get().is_some()
    }

    /// Sets `next` after a change of the first tag, of the busy weight or of virtual time.
    #[inline]
    fn schedule(&mut self) {
        self.next = match self.busy.winner().get() {
            // Work never reaches a saturated product: it is below 2^124.
            Some((tag, _)) => ((tag - self.virtual_time).max(0) as u128)
                .saturating_mul(u128::from(self.busy_weight)),
            None => u128::MAX,
        };
    }

    /// Advances the fluid server by the work of one packet.
    #[inline]
    fn serve(&mut self, wire: u32) {
        self.work += u128::from(wire) * u128::from(self.shares.scale());
        while self.work >= self.next {
            let Some((tag, class)) = self.busy.winner().get() else { break };
            self.work -= self.next;
            self.virtual_time = self.virtual_time.max(tag);
            let last = self.last[class].finish;
            if last > tag {
                self.busy.set(class, Wide::new(last, class));
            } else {
                self.leave(class);
            }
            self.schedule();
        }
        if self.busy_weight == 0 {
            // Only after packets were removed unserved, or costs are not exact.
            self.work = 0;
        }
    }

    fn leave(&mut self, class: usize) {
        self.busy.withdraw(class);
        self.busy_weight -= self.shares.weight(class);
    }

    /// Brings virtual time up to date, rounded down.
    #[inline]
    fn sync_virtual_time(&mut self) {
        let weight = u128::from(self.busy_weight);
        if self.work >= weight && weight > 0 {
            self.virtual_time += (self.work / weight) as i128;
            self.work %= weight;
        }
    }

    /// Removes the packet with the least tag among the first `classes` classes without advancing
    /// the fluid server. Once one of these classes is empty it is idle there too, whatever the
    /// fluid server had left to do for it, so the tags of all others keep their meaning.
    pub(crate) fn dequeue_without_service(&mut self, classes: usize) -> Option<(usize, Packet)> {
        let heads = (0..classes).filter_map(|class| self.heads.entered(class).get());
        let (_, class) = heads.min()?;
        let Tagged { packet, .. } = self.packets.pop(class)?;
        self.backlog.subtract(class, packet.wire);
        match self.packets.oldest(class).map(|next| next.finish) {
            Some(finish) => self.heads.set(class, Wide::new(finish, class)),
            None => {
                self.heads.withdraw(class);
                self.sync_virtual_time();
                self.last[class].finish = self.virtual_time;
                if self.is_busy(class) {
                    self.leave(class);
                }
                if self.busy_weight == 0 {
                    self.work = 0;
                }
                self.schedule();
            }
        }
        self.reset_when_empty();
        Some((class, packet))
    }

    fn reset_when_empty(&mut self) {
        if self.packets.len() > 0 {
            return;
        }
        // The fluid server is empty too, but for rounding of costs that are not exact.
        while let Some((_, class)) = self.busy.winner().get() {
            self.leave(class);
        }
        self.virtual_time = 0;
        self.work = 0;
        self.next = u128::MAX;
        self.period += 1;
    }
}

impl FairQueue for Wfq {
    #[inline]
    fn enqueue(&mut self, _now: Time, class: usize, packet: Packet) -> Result<(), Full> {
        if self.packets.len() >= self.packets.slots() {
            return Err(Full);
        }
        let cost = self.shares.cost(class, packet.wire);
        let busy = self.is_busy(class);
        let last = self.last[class];
        let start = if busy {
            last.finish
        } else {
            self.sync_virtual_time();
            // A class that was served ahead of the fluid server is still busy there, so the last
            // tag of an idle one is behind virtual time, but for rounding.
            let served = if last.period == self.period { last.finish } else { 0 };
            served.max(self.virtual_time)
        };
        let finish = start + cost;
        self.packets.push(class, Tagged { finish, packet })?;
        self.backlog.add(class, packet.wire, &self.shares);
        self.last[class] = Last { finish, period: self.period };
        if !busy {
            self.busy_weight += self.shares.weight(class);
            self.busy.set(class, Wide::new(finish, class));
            self.schedule();
        }
        if self.packets.fifo_len(class) == 1 {
            self.heads.set(class, Wide::new(finish, class));
        }
        Ok(())
    }

    #[inline]
    fn dequeue(&mut self, _now: Time) -> Option<(usize, Packet)> {
        let (_, class) = self.heads.winner().get()?;
        let Tagged { packet, .. } = self.packets.pop(class)?;
        self.backlog.subtract(class, packet.wire);
        match self.packets.oldest(class).map(|next| next.finish) {
            Some(finish) => self.heads.set(class, Wide::new(finish, class)),
            None => self.heads.withdraw(class),
        }
        self.serve(packet.wire);
        self.reset_when_empty();
        Some((class, packet))
    }

    #[inline]
    fn peek(&self, _now: Time) -> Option<(usize, &Packet)> {
        let (_, class) = self.heads.winner().get()?;
        Some((class, &self.packets.oldest(class)?.packet))
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
        self.packets.oldest(class).map(|tagged| &tagged.packet)
    }

    fn push_out(&mut self) -> Option<(usize, Packet)> {
        let packets = &self.packets;
        let class = self.backlog.longest(&self.shares, |class| packets.fifo_len(class) > 0)?;
        Some((class, self.drop_tail(class)?))
    }

    fn drop_tail(&mut self, class: usize) -> Option<Packet> {
        let Tagged { finish, packet } = self.packets.pop_newest(class)?;
        self.backlog.subtract(class, packet.wire);
        if self.packets.fifo_len(class) == 0 {
            self.heads.withdraw(class);
        }
        if let Some((tag, _)) = self.busy.entered(class).get() {
            self.sync_virtual_time();
            let start = finish - self.shares.cost(class, packet.wire);
            let last = start.max(self.virtual_time);
            self.last[class].finish = last;
            if last == self.virtual_time {
                self.leave(class);
                if self.busy_weight == 0 {
                    self.work = 0;
                }
            } else if tag > last {
                self.busy.set(class, Wide::new(last, class));
            }
            self.schedule();
        }
        self.reset_when_empty();
        Some(packet)
    }
}
