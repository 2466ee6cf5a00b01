//! The order among best-effort classes: weighted fair queueing.
//!
//! The paper (Chakraborty, Gries, Thiele, RTAS 2002, Figure 7) says only that WFQ orders the
//! best-effort classes before their packets get deadlines. Three well-known forms are offered:
//! [`Wfq`] (packetised GPS), [`Scfq`] (self-clocked) and [`Wf2qPlus`] (worst-case fair). Beside
//! weights there are service curves, of classes and groups (`fsc`, Fair Service Curve).
//!
//! # The clock of the reference server
//!
//! The capacity left to best effort varies, since real-time packets are served first when they
//! must. A textbook WFQ whose fluid server runs at the link's rate then runs ahead of the real
//! service: its fluid queues empty while the real ones are full, and a class that becomes busy is
//! put behind everyone by an unbounded amount (Goyal, Vin, Cheng, "Start-time Fair Queueing", 1996,
//! section 1.2). So the reference server here is driven by work, not by time: it serves one byte
//! whenever a byte of the best-effort aggregate is taken from the queue. On that axis the aggregate
//! is a server of constant rate 1 whatever the real-time flows do, arrivals during a packet count
//! as arriving at its end, and the classical theorems hold without change: for [`Wfq`] that no
//! packet ends later than in GPS by more than one largest packet (Parekh and Gallager 1993, Theorem
//! 1), all amounts counted in bytes of the aggregate. It needs neither the link's rate nor a clock,
//! which is why the instants passed in are not used.
//!
//! # Numbers
//!
//! Virtual time is counted in units of `1/scale` byte per unit of weight, in 128-bit integers.
//! `scale` is at most 2^60 and a multiple of every weight when their least common multiple allows
//! it, so that a packet's cost `bytes * scale / weight` is exact; otherwise costs are exact to one
//! part in 2^28. A tag is a sum of costs of packets of one busy period, at most 2^60 for each byte.
//! A busy period of 2^64 bytes (46 years at 100 Gbit/s) stays below 2^124. Everything returns to
//! zero when the queue becomes empty.

use laxity_core::{Time, Weight};

use crate::config::LinkConfigError;
use crate::{Packet, config};

mod fsc;
mod late;
mod late_order;
mod longest;
mod scfq;
mod shares;
mod wf2q_plus;
mod wfq;

pub use crate::edf::Full;
pub use fsc::{ClassShare, class_shares};
pub(crate) use late_order::LateOrder;
pub use scfq::Scfq;
pub use wf2q_plus::Wf2qPlus;
pub use wfq::Wfq;

/// Chooses among classes of packets by their weights; first come, first served within a class.
///
/// Methods that take a class panic when it is not below the number of weights.
pub trait FairQueue {
    /// Adds a packet at the end of its class.
    ///
    /// # Errors
    /// [`Full`] when all slots are taken; nothing has changed then.
    fn enqueue(&mut self, now: Time, class: usize, packet: Packet) -> Result<(), Full>;

    /// Chooses and removes the next packet in fair order.
    fn dequeue(&mut self, now: Time) -> Option<(usize, Packet)>;

    /// The packet that [`dequeue`](Self::dequeue) would return.
    fn peek(&self, now: Time) -> Option<(usize, &Packet)>;

    /// Number of queued packets.
    fn len(&self) -> usize;

    /// Whether the queue is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of queued packets of one class.
    fn class_len(&self, class: usize) -> usize;

    /// Queued work of one class, in wire bytes.
    fn class_bytes(&self, class: usize) -> u64;

    /// The oldest packet of one class.
    fn class_head(&self, class: usize) -> Option<&Packet>;

    /// Removes the newest packet of the class with the longest queue relative to its weight, to
    /// make room.
    fn push_out(&mut self) -> Option<(usize, Packet)>;

    /// Removes the newest packet of one class.
    fn drop_tail(&mut self, class: usize) -> Option<Packet>;
}

/// One of the fair queues, chosen at construction and dispatched without indirection.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Fair {
    Wfq(Wfq),
    Scfq(Scfq),
    Wf2qPlus(Wf2qPlus),
}

impl Fair {
    /// A fair queue with one class for each weight and room for `slots` packets in all. All memory
    /// is allocated here.
    ///
    /// # Errors
    /// [`LinkConfigError::ChosenLate`] for an order that is no queue, because it chooses packets
    /// when they leave.
    pub fn new(
        kind: config::FairQueue,
        weights: &[Weight],
        slots: usize,
    ) -> Result<Fair, LinkConfigError> {
        Ok(match kind {
            config::FairQueue::Wfq => Fair::Wfq(Wfq::new(weights, slots)),
            config::FairQueue::Scfq => Fair::Scfq(Scfq::new(weights, slots)),
            config::FairQueue::Wf2qPlus => Fair::Wf2qPlus(Wf2qPlus::new(weights, slots)),
            config::FairQueue::Fsc(_) => return Err(LinkConfigError::ChosenLate),
        })
    }
}

macro_rules! each {
    ($self:ident, $queue:ident => $result:expr) => {
        match $self {
            Fair::Wfq($queue) => $result,
            Fair::Scfq($queue) => $result,
            Fair::Wf2qPlus($queue) => $result,
        }
    };
}

impl FairQueue for Fair {
    #[inline]
    fn enqueue(&mut self, now: Time, class: usize, packet: Packet) -> Result<(), Full> {
        each!(self, queue => queue.enqueue(now, class, packet))
    }

    #[inline]
    fn dequeue(&mut self, now: Time) -> Option<(usize, Packet)> {
        each!(self, queue => queue.dequeue(now))
    }

    #[inline]
    fn peek(&self, now: Time) -> Option<(usize, &Packet)> {
        each!(self, queue => queue.peek(now))
    }

    #[inline]
    fn len(&self) -> usize {
        each!(self, queue => queue.len())
    }

    fn class_len(&self, class: usize) -> usize {
        each!(self, queue => queue.class_len(class))
    }

    fn class_bytes(&self, class: usize) -> u64 {
        each!(self, queue => queue.class_bytes(class))
    }

    fn class_head(&self, class: usize) -> Option<&Packet> {
        each!(self, queue => queue.class_head(class))
    }

    fn push_out(&mut self) -> Option<(usize, Packet)> {
        each!(self, queue => queue.push_out())
    }

    fn drop_tail(&mut self, class: usize) -> Option<Packet> {
        each!(self, queue => queue.drop_tail(class))
    }
}

#[cfg(test)]
mod tests;
