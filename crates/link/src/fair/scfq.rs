//! Self-clocked fair queueing.

use alloc::{boxed::Box, vec};

use laxity_core::{Time, Weight};

use super::longest::Longest;
use super::shares::Shares;
use super::{FairQueue, Full};
use crate::Packet;
use crate::edf::FILLER;
use crate::edf::fifos::Fifos;
use crate::edf::tournament::{Tournament, Wide};

/// Self-clocked fair queueing (Golestani, INFOCOM 1994): virtual time is the finish tag of the
/// packet served last.
///
/// Between any two classes that both wait throughout an interval, the work served for the weight
/// differs by at most `L_i / w_i + L_j / w_j`, `L` a class's largest packet. A class may be served
/// later than under [`Wfq`](super::Wfq) by one packet of every other class.
///
/// While a class waits, no tag in it is below virtual time, so a packet's start tag is the finish
/// tag of the one before it. Tags of heads suffice.
#[derive(Clone, Debug)]
pub struct Scfq {
    shares: Shares,
    packets: Fifos<Packet>,
    /// Finish tags of the heads.
    finish: Box<[i128]>,
    heads: Tournament<Wide>,
    backlog: Longest,
    virtual_time: i128,
}

impl Scfq {
    /// One class for each weight, room for `slots` packets in all.
    pub fn new(weights: &[Weight], slots: usize) -> Scfq {
        let classes = weights.len();
        Scfq {
            shares: Shares::new(weights, false),
            packets: Fifos::new(classes, slots, FILLER),
            finish: vec![0; classes].into_boxed_slice(),
            heads: Tournament::new(classes),
            backlog: Longest::new(classes),
            virtual_time: 0,
        }
    }

    #[inline]
    fn enter(&mut self, class: usize, start: i128, wire: u32) {
        let finish = start + self.shares.cost(class, wire);
        self.finish[class] = finish;
        self.heads.set(class, Wide::new(finish, class));
    }

    fn reset_when_empty(&mut self) {
        if self.packets.len() == 0 {
            self.virtual_time = 0;
        }
    }
}

impl FairQueue for Scfq {
    #[inline]
    fn enqueue(&mut self, _now: Time, class: usize, packet: Packet) -> Result<(), Full> {
        self.packets.push(class, packet)?;
        self.backlog.add(class, packet.wire, &self.shares);
        if self.packets.fifo_len(class) == 1 {
            self.enter(class, self.virtual_time, packet.wire);
        }
        Ok(())
    }

    #[inline]
    fn dequeue(&mut self, _now: Time) -> Option<(usize, Packet)> {
        let (finish, class) = self.heads.winner().get()?;
        let packet = self.packets.pop(class)?;
        self.backlog.subtract(class, packet.wire);
        self.virtual_time = finish;
        match self.packets.oldest(class).map(|next| next.wire) {
            Some(wire) => self.enter(class, finish, wire),
            None => {
                self.heads.withdraw(class);
                self.reset_when_empty();
            }
        }
        Some((class, packet))
    }

    #[inline]
    fn peek(&self, _now: Time) -> Option<(usize, &Packet)> {
        let (_, class) = self.heads.winner().get()?;
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
            self.heads.withdraw(class);
            self.reset_when_empty();
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The order does not depend on it, but the bound of the numbers does. Fails without the reset.
    #[test]
    fn virtual_time_returns_to_zero_when_the_queue_is_empty() {
        let mut queue = Scfq::new(&[Weight::ONE], 4);
        for dropped in [false, true] {
            for _ in 0..2 {
                queue.enqueue(Time::ZERO, 0, Packet { wire: 1000, ..FILLER }).unwrap();
            }
            queue.dequeue(Time::ZERO);
            assert!(queue.virtual_time > 0);
            if dropped {
                queue.drop_tail(0);
            } else {
                queue.dequeue(Time::ZERO);
            }
            assert_eq!(queue.virtual_time, 0);
        }
    }
}
