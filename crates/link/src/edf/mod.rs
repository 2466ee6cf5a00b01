//! Earliest deadline first over packets that arrive in deadline order within a class.
//!
//! Packets of one relative deadline become eligible in the order of their deadlines, whatever
//! flows they belong to, and best-effort deadlines are monotone (Chakraborty, Gries, Thiele,
//! RTAS 2002, Theorem 1). So each such class is a FIFO, and the packet with the earliest deadline
//! is at the head of one of them: a tournament over the heads finds it. A push costs O(1), except
//! into an empty class; a pop costs O(log classes), however many packets wait.

use alloc::{boxed::Box, vec};
use core::ops::ControlFlow;

use laxity_core::{FlowId, Time};

use crate::Packet;

pub(crate) mod fifos;
pub(crate) mod tournament;
mod work;

pub use fifos::Full;

use fifos::{Cursor, Fifos};
use tournament::{Packed, Tournament};
use work::WorkIndex;

/// Distance behind the head of a class at which packets are prefetched; the head itself and its
/// successor are cached by then.
const PREFETCH_DISTANCE: usize = 2;

/// Content of unused slots.
pub(crate) const FILLER: Packet = Packet::new(0, Time::ZERO, FlowId(0), 0, 0);

/// A packet and its absolute deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Absolute deadline for the end of transmission.
    pub deadline: Time,
    /// The packet.
    pub packet: Packet,
}

/// Packets by deadline; equal deadlines go to the lower class, and within a class to the packet
/// pushed first.
///
/// [`new`](Self::new) reserves address space for all slots; memory is used as packets wait.
///
/// A class is a FIFO also when its user breaks the rule that deadlines within it must not
/// decrease: a smaller deadline waits behind the earlier packets of its class, and comes due when
/// it is the head (raising it would promise less than was guaranteed, passing it would reorder a
/// flow). [`work_until`](Self::work_until) is exact only while the rule is kept.
///
/// Methods that take a class panic when it is not below the number given to [`new`](Self::new).
#[derive(Clone, Debug)]
pub struct EdfQueue {
    fifos: Fifos<Entry>,
    heads: Tournament<Packed>,
    work: WorkIndex,
    /// All queued work, in wire bytes.
    queued: u64,
    /// Space for [`visit_merged`](Self::visit_merged), kept so that it does not allocate.
    scratch: Merge,
}

impl EdfQueue {
    /// A queue of `classes` relative deadlines in which up to `slots` packets can wait, in any
    /// spread over the classes; at most 2^30.
    pub fn new(classes: usize, slots: usize) -> EdfQueue {
        let fifos = Fifos::new(classes, slots, Entry { deadline: Time::ZERO, packet: FILLER });
        EdfQueue {
            work: WorkIndex::new(classes, fifos.max_chunks()),
            fifos,
            heads: Tournament::new(classes),
            queued: 0,
            scratch: Merge::new(classes),
        }
    }

    /// Adds a packet at the end of its class.
    ///
    /// # Errors
    /// [`Full`] when all slots are taken; nothing has changed then.
    #[inline]
    pub fn push(&mut self, class: usize, entry: Entry) -> Result<(), Full> {
        let first = self.fifos.fifo_len(class) == 0;
        debug_assert!(
            first || self.work.newest(class) <= entry.deadline.0,
            "deadlines within class {class} must not decrease"
        );
        let Entry { deadline, packet } = entry;
        let Packet { seq, arrival, flow, bytes, wire, demoted, ecn, key } = packet;
        // Field by field: copied as a whole, a packet that was only just put together is read in
        // wider pieces than it was written, which stalls.
        let begun = self.fifos.push_with(class, |slot| {
            slot.deadline = deadline;
            slot.packet.seq = seq;
            slot.packet.arrival = arrival;
            slot.packet.flow = flow;
            slot.packet.bytes = bytes;
            slot.packet.wire = wire;
            slot.packet.demoted = demoted;
            slot.packet.ecn = ecn;
            slot.packet.key = key;
        })?;
        self.work.pushed(class, (deadline, wire), begun, &self.fifos);
        self.queued += u64::from(wire);
        if first {
            self.heads.set(class, Packed::new(deadline.0, class));
        }
        Ok(())
    }

    /// The class whose head is due first.
    #[inline]
    pub fn peek_class(&self) -> Option<usize> {
        self.heads.winner().player()
    }

    /// The packet that is due first.
    #[inline]
    pub fn peek(&self) -> Option<&Entry> {
        self.fifos.oldest(self.peek_class()?)
    }

    /// Removes the packet that is due first.
    #[inline]
    pub fn pop(&mut self) -> Option<Entry> {
        self.pop_class().map(|(_, entry)| entry)
    }

    /// Removes the packet that is due first, with its class.
    #[inline]
    pub fn pop_class(&mut self) -> Option<(usize, Entry)> {
        let class = self.heads.winner().player()?;
        let entry = self.fifos.pop(class)?;
        let head = match self.fifos.oldest(class) {
            Some(next) => Packed::new(next.deadline.0, class),
            None => <Packed as tournament::Match>::NOBODY,
        };
        self.fifos.prefetch(class, PREFETCH_DISTANCE);
        self.heads.set(class, head);
        self.work.popped(class, entry.packet.wire);
        self.queued -= u64::from(entry.packet.wire);
        Some((class, entry))
    }

    /// Number of queued packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.fifos.len()
    }

    /// Whether the queue is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Capacity in packets.
    pub fn slots(&self) -> usize {
        self.fifos.slots()
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.fifos.count()
    }

    /// Number of queued packets of one class.
    #[inline]
    pub fn class_len(&self, class: usize) -> usize {
        self.fifos.fifo_len(class)
    }

    /// The packet of a class that is due first.
    #[inline]
    pub fn class_head(&self, class: usize) -> Option<&Entry> {
        self.fifos.oldest(class)
    }

    /// The packet of a class that is due last.
    #[inline]
    pub fn class_tail(&self, class: usize) -> Option<&Entry> {
        self.fifos.newest(class)
    }

    /// The packets of a class from the one due first to the one due last.
    pub fn iter_class(&self, class: usize) -> impl Iterator<Item = &Entry> + '_ {
        self.fifos.iter(class)
    }

    /// Queued work of all classes, in wire bytes.
    #[inline]
    pub fn queued_work(&self) -> u64 {
        self.queued
    }

    /// Queued work of one class, in wire bytes.
    #[inline]
    pub fn class_work(&self, class: usize) -> u64 {
        self.work.queued(class)
    }

    /// Queued work of one class due by `deadline`, in wire bytes. O(log n).
    #[inline]
    pub fn work_until(&self, class: usize, deadline: Time) -> u64 {
        self.work.until(class, deadline, &self.fifos).0
    }

    /// All packets in the order in which [`pop`](Self::pop) would return them, in O(log classes)
    /// each. Allocates; [`visit_merged`](Self::visit_merged) does not.
    pub fn iter_merged(&self) -> impl Iterator<Item = &Entry> + '_ {
        let mut merge = Merge::new(self.classes());
        merge.start(&self.fifos, &self.heads);
        core::iter::from_fn(move || merge.next(&self.fifos).map(|(_, entry)| entry))
    }

    /// Calls `visit` for all packets with their classes in the order in which [`pop`](Self::pop)
    /// would return them, until it breaks.
    pub fn visit_merged<B>(
        &mut self,
        mut visit: impl FnMut(usize, &Entry) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        self.scratch.start(&self.fifos, &self.heads);
        while let Some((class, entry)) = self.scratch.next(&self.fifos) {
            visit(class, entry)?;
        }
        ControlFlow::Continue(())
    }
}

/// A merging iteration over all classes.
#[derive(Clone, Debug)]
struct Merge {
    heads: Tournament<Packed>,
    cursors: Box<[Cursor]>,
}

impl Merge {
    fn new(classes: usize) -> Merge {
        Merge {
            heads: Tournament::new(classes),
            cursors: vec![Cursor::END; classes].into_boxed_slice(),
        }
    }

    fn start(&mut self, fifos: &Fifos<Entry>, heads: &Tournament<Packed>) {
        self.heads.copy_from(heads);
        for (class, cursor) in self.cursors.iter_mut().enumerate() {
            *cursor = fifos.cursor(class);
        }
    }

    fn next<'a>(&mut self, fifos: &'a Fifos<Entry>) -> Option<(usize, &'a Entry)> {
        let class = self.heads.winner().player()?;
        let cursor = &mut self.cursors[class];
        let entry = fifos.advance(cursor)?;
        match fifos.advance(&mut cursor.clone()) {
            Some(next) => self.heads.set(class, Packed::new(next.deadline.0, class)),
            None => self.heads.withdraw(class),
        }
        Some((class, entry))
    }
}

#[cfg(test)]
mod tests;
