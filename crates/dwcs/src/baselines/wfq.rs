//! `wfq`: fair queueing, weighted by what streams need.

use alloc::vec::Vec;

use laxity_core::{Live, OptionTable, PolicyInfo};

use crate::structure::Precedence;
use crate::{Rank, Record};

/// Packets in proportion to `(1 - x/y) / gap`, the rate that meets the stream's tolerance,
/// by self-clocked virtual time (Golestani, INFOCOM 1994). All packets weigh the same. A dropped
/// packet costs its stream nothing. Streams without deadlines have no rate and get the remaining capacity.
#[derive(Clone, Debug)]
pub struct Wfq {
    virtual_time: u128,
    tags: Vec<Tag>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tag {
    /// Virtual time at which the head starts; while nothing waits, at which the last one ended.
    start: u128,
    /// Of one packet: the inverse of the weight, in nanoseconds.
    cost: u128,
}

impl Tag {
    #[inline]
    fn finish(self) -> u128 {
        self.start.saturating_add(self.cost)
    }
}

impl Wfq {
    /// Its entry in the list of policies.
    pub const INFO: PolicyInfo = PolicyInfo {
        name: "wfq",
        summary: "self-clocked fair queueing of packets, weighted by the rate that the tolerance asks for",
        source: "Golestani, INFOCOM 1994",
        keeps_deadlines: false,
        live: &[Live::MediaServer],
        options: &[],
        table: OptionTable::None,
    };
}

impl Precedence for Wfq {
    const NAME: &'static str = Wfq::INFO.name;

    fn new(_: Rank) -> Wfq {
        Wfq { virtual_time: 0, tags: Vec::new() }
    }

    fn joined(&mut self, slot: u32, record: &Record) {
        let slot = slot as usize;
        if self.tags.len() <= slot {
            self.tags.resize(slot + 1, Tag::default());
        }
        let (x, y) = (u128::from(record.tolerance.x()), u128::from(record.tolerance.y()));
        // x = y would give rate 0: one packet a window instead; a stream without a window has the
        // full rate.
        let needed = (y - x).max(1);
        let cost = match record.has_deadlines() {
            true => u128::from(record.gap.0) * y.max(1) / needed,
            false => u128::MAX,
        };
        self.tags[slot] = Tag { start: self.virtual_time, cost };
    }

    #[inline]
    fn woken(&mut self, slot: u32) {
        let tag = &mut self.tags[slot as usize];
        tag.start = tag.start.max(self.virtual_time);
    }

    #[inline]
    fn served(&mut self, slot: u32) {
        let tag = &mut self.tags[slot as usize];
        // A stream without a rate is out of time: it must not carry others' time away with it.
        if tag.cost < u128::MAX {
            tag.start = tag.finish();
            self.virtual_time = self.virtual_time.max(tag.start);
        }
    }

    #[inline]
    fn before(&self, (slot_a, a): (u32, &Record), (slot_b, b): (u32, &Record)) -> bool {
        let finish = |slot: u32| self.tags[slot as usize].finish();
        (finish(slot_a), a.arrival, slot_a) < (finish(slot_b), b.arrival, slot_b)
    }
}
