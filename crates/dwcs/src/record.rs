//! The state of a stream that decisions read.

use laxity_core::{Span, Time};

use crate::{Attributes, Late, Tolerance, Window};

/// The state of one stream: all that a decision reads of it, in 40 bytes. Statistics live
/// elsewhere ([`Meter`](crate::Meter)), packets too ([`Queues`](crate::Queues)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Latest start of service of the head packet; while nothing waits, that of the last packet.
    /// [`Time::MAX`] when the stream has no deadlines.
    pub deadline: Time,
    /// Time between deadlines; `u64::MAX` when the stream has none.
    pub gap: Span,
    /// When the head packet arrived.
    pub arrival: Time,
    /// The current window, x'/y'.
    pub window: Window,
    /// The original window, x/y.
    pub tolerance: Tolerance,
    /// For the structure's own use; the scheduler stores what it loaded.
    pub link: u32,
    pub(crate) generation: u16,
    flags: u8,
}

const OCCUPIED: u8 = 1;
const WAITING: u8 = 2;
const DROPPABLE: u8 = 4;
const TAGGED: u8 = 8;
const LATE: u8 = 16;

impl Record {
    /// A place that no stream holds.
    pub const VACANT: Record = Record {
        deadline: Time::MAX,
        gap: Span(u64::MAX),
        arrival: Time::ZERO,
        window: Window { x: 0, y: 0 },
        tolerance: match Tolerance::new(0, 0) {
            Ok(none) => none,
            Err(_) => unreachable!(),
        },
        link: 0,
        generation: 0,
        flags: 0,
    };

    /// A stream with a fresh window that joins at `now`, with nothing waiting.
    pub(crate) fn new(attributes: &Attributes, now: Time, generation: u16) -> Record {
        let mut record = Record { generation, deadline: now, ..Record::VACANT };
        record.flags = OCCUPIED;
        record.set_attributes(attributes);
        record
    }

    /// The record after the stream left: the next stream in this slot has another generation.
    pub(crate) fn vacated(self) -> Record {
        let generation = self.generation.wrapping_add(1);
        Record { generation, link: self.link, ..Record::VACANT }
    }

    /// Takes on attributes with a fresh window; the deadline stays.
    pub(crate) fn set_attributes(&mut self, attributes: &Attributes) {
        self.gap = attributes.gap.unwrap_or(Span(u64::MAX));
        self.tolerance = attributes.tolerance;
        self.window = Window::fresh(attributes.tolerance);
        self.set(TAGGED, false);
        self.set(DROPPABLE, attributes.late == Late::Drop);
    }

    /// The stream's attributes.
    pub fn attributes(&self) -> Attributes {
        Attributes {
            tolerance: self.tolerance,
            gap: self.has_deadlines().then_some(self.gap),
            late: if self.droppable() { Late::Drop } else { Late::Send },
        }
    }

    /// Whether a stream holds this place.
    #[inline]
    pub fn occupied(&self) -> bool {
        self.flags & OCCUPIED != 0
    }

    /// Whether the stream has a packet and competes.
    #[inline]
    pub fn waiting(&self) -> bool {
        self.flags & WAITING != 0
    }

    /// Whether late packets are dropped.
    #[inline]
    pub fn droppable(&self) -> bool {
        self.flags & DROPPABLE != 0
    }

    /// Whether the stream missed beyond its tolerance and has not been served since
    /// ([`RuleC::Tag`](crate::RuleC::Tag)).
    #[inline]
    pub fn tagged(&self) -> bool {
        self.flags & TAGGED != 0
    }

    /// Whether the head packet has missed a deadline and still waits.
    #[inline]
    pub fn late(&self) -> bool {
        self.flags & LATE != 0
    }

    /// Whether its packets are due at any time at all.
    #[inline]
    pub fn has_deadlines(&self) -> bool {
        self.gap.0 != u64::MAX
    }

    #[inline]
    pub(crate) fn set_tagged(&mut self, value: bool) {
        self.set(TAGGED, value);
    }

    #[inline]
    pub(crate) fn set_late(&mut self, value: bool) {
        self.set(LATE, value);
    }

    /// The packet that arrived at `arrival` becomes the head, due one gap after the deadline
    /// before it or after its arrival, whichever is later; with `None` nothing waits any more.
    ///
    /// One formula serves backlogged and idle streams: a packet that came while others waited
    /// came before their deadlines or missed them with them, so it is due a gap after the last
    /// one; one that found the queue empty is never due earlier than a gap after it came.
    #[inline]
    pub(crate) fn advance(&mut self, arrival: Option<Time>, align: bool) {
        self.set(WAITING, arrival.is_some());
        self.set(LATE, false);
        if let Some(arrival) = arrival {
            self.arrival = arrival;
            if arrival > self.deadline {
                self.deadline = if align { self.aligned(arrival) } else { arrival };
            }
            self.deadline += self.gap;
        }
    }

    /// The first multiple of the gap from `at` on.
    #[cold]
    pub(crate) fn aligned(&self, at: Time) -> Time {
        if !self.has_deadlines() {
            return at;
        }
        Time(at.0.checked_next_multiple_of(self.gap.0).unwrap_or(u64::MAX))
    }

    #[inline]
    fn set(&mut self, flag: u8, value: bool) {
        self.flags = if value { self.flags | flag } else { self.flags & !flag };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a field grows: tried with a `generation` of 32 bits.
    #[test]
    fn a_record_has_forty_bytes() {
        assert_eq!(size_of::<Record>(), 40);
    }
}
