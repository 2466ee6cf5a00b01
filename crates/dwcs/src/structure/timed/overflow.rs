//! The overflow heap of a calendar queue: streams that have no place in the calendar.

use alloc::vec::Vec;

use crate::rank::urgency;
use crate::{Rank, Record};

/// Marks the link of a stream in an [`OverflowHeap`]; the rest of the link is its place there.
pub(crate) const IN_OVERFLOW: u32 = 1 << 31;

/// Children of an entry: together they fill a cache line.
const ARITY: usize = 4;

/// The fields that decide nearly always, so that records are rarely looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    pub(crate) key: u64,
    /// The leading 32 of the tolerance's 33 bits.
    tolerance: u32,
    pub(crate) slot: u32,
}

/// Streams in order of their keys and, among equal ones, in the order of streams. Each knows its
/// place, so any can be removed.
#[derive(Clone, Debug)]
pub(crate) struct OverflowHeap {
    rank: Rank,
    members: Vec<Member>,
}

impl OverflowHeap {
    pub(crate) fn new(rank: Rank) -> OverflowHeap {
        OverflowHeap { rank, members: Vec::new() }
    }

    /// Makes room for `count` streams.
    pub(crate) fn grow(&mut self, count: usize) {
        self.members.reserve(count.saturating_sub(self.members.len()));
    }

    pub(crate) fn clear(&mut self) {
        self.members.clear();
    }

    #[inline]
    pub(crate) fn top(&self) -> Option<&Member> {
        self.members.first()
    }

    pub(crate) fn insert(&mut self, records: &mut [Record], slot: u32, key: u64) {
        let tolerance = (urgency(records[slot as usize].window) >> 1) as u32;
        let member = Member { key, tolerance, slot };
        self.members.push(member);
        self.rise(records, self.members.len() - 1, member);
    }

    /// Removes a stream whose record is unchanged since its insertion.
    pub(crate) fn remove(&mut self, records: &mut [Record], slot: u32) {
        let place = (records[slot as usize].link & !IN_OVERFLOW) as usize;
        let Some(last) = self.members.pop() else { return };
        if place == self.members.len() {
            return;
        }
        if place > 0 && self.before(records, &last, &self.members[(place - 1) / ARITY]) {
            self.rise(records, place, last);
        } else {
            self.sink(records, place, last);
        }
    }

    #[inline]
    fn before(&self, records: &[Record], a: &Member, b: &Member) -> bool {
        if (a.key, a.tolerance) != (b.key, b.tolerance) {
            return (a.key, a.tolerance) < (b.key, b.tolerance);
        }
        let stream = |member: &Member| (member.slot, &records[member.slot as usize]);
        self.rank.before(stream(a), stream(b))
    }

    fn rise(&mut self, records: &mut [Record], mut place: usize, member: Member) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            let above = self.members[parent];
            if !self.before(records, &member, &above) {
                break;
            }
            self.set(records, place, above);
            place = parent;
        }
        self.set(records, place, member);
    }

    fn sink(&mut self, records: &mut [Record], mut place: usize, member: Member) {
        loop {
            let first = ARITY * place + 1;
            let Some(mut least) = self.members.get(first).copied() else { break };
            let mut child = first;
            for other in first + 1..(first + ARITY).min(self.members.len()) {
                if self.before(records, &self.members[other], &least) {
                    (child, least) = (other, self.members[other]);
                }
            }
            if !self.before(records, &least, &member) {
                break;
            }
            self.set(records, place, least);
            place = child;
        }
        self.set(records, place, member);
    }

    #[inline]
    fn set(&mut self, records: &mut [Record], place: usize, member: Member) {
        self.members[place] = member;
        records[member.slot as usize].link = IN_OVERFLOW | place as u32;
    }
}
