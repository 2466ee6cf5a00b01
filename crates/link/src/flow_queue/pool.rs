//! FIFOs that share one pool of packets.

use alloc::vec::Vec;

use crate::Packet;
use crate::edf::Full;
use crate::edf::fifos::reserved;

/// No packet.
const NONE: u32 = u32::MAX;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) packet: Packet,
    /// Time for which real-time packets had been sent when it arrived, in ns.
    pub(crate) realtime: u64,
    next: u32,
}

/// One FIFO.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fifo {
    oldest: u32,
    newest: u32,
    /// Packets in it.
    pub(crate) packets: u32,
    /// ECN marks that it owes: see [`ecn`](crate::ecn).
    pub(crate) owed: u32,
    /// Their bytes on the wire.
    pub(crate) bytes: u64,
}

impl Fifo {
    pub(crate) const EMPTY: Fifo =
        Fifo { oldest: NONE, newest: NONE, packets: 0, owed: 0, bytes: 0 };
}

/// The packets of all FIFOs. Address space is reserved once; memory is used as packets wait.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    waiting: Vec<Waiting>,
    /// Head of the list of free places.
    free: u32,
    slots: usize,
    len: usize,
}

impl Pool {
    pub(crate) fn new(slots: usize) -> Pool {
        let slots = slots.min(NONE as usize);
        Pool { waiting: reserved(slots), free: NONE, slots, len: 0 }
    }

    /// Packets in all FIFOs.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a packet to a FIFO.
    #[inline]
    pub(crate) fn push(
        &mut self,
        fifo: &mut Fifo,
        packet: Packet,
        realtime: u64,
    ) -> Result<(), Full> {
        let entry = Waiting { packet, realtime, next: NONE };
        let mut place = self.free;
        if let Some(free) = self.waiting.get_mut(place as usize) {
            self.free = core::mem::replace(free, entry).next;
        } else if self.waiting.len() < self.slots {
            place = self.waiting.len() as u32;
            self.waiting.push(entry);
        } else {
            return Err(Full);
        }
        match self.waiting.get_mut(fifo.newest as usize) {
            Some(newest) => newest.next = place,
            None => fifo.oldest = place,
        }
        fifo.newest = place;
        fifo.packets += 1;
        fifo.bytes += u64::from(packet.wire);
        self.len += 1;
        Ok(())
    }

    /// The oldest packet of a FIFO.
    #[inline]
    pub(crate) fn oldest(&self, fifo: &Fifo) -> Option<&Waiting> {
        self.waiting.get(fifo.oldest as usize)
    }

    /// Removes it.
    #[inline]
    pub(crate) fn pop(&mut self, fifo: &mut Fifo) -> Option<Packet> {
        let entry = self.waiting.get_mut(fifo.oldest as usize)?;
        let packet = entry.packet;
        let next = core::mem::replace(&mut entry.next, self.free);
        self.free = core::mem::replace(&mut fifo.oldest, next);
        fifo.packets -= 1;
        fifo.bytes -= u64::from(packet.wire);
        if next == NONE {
            fifo.newest = NONE;
        }
        self.len -= 1;
        Some(packet)
    }
}
