//! A heap for streams that the wheel cannot tell apart by time.

use alloc::vec::Vec;

use super::ring::{NONE, Streams};
use crate::rank::urgency;
use crate::{Rank, Record};

/// Marks, in [`Streams::before`], a stream that stands in the crowd; its `link` is its place.
pub(super) const CROWD: u32 = NONE - 1;

/// Children of an entry: together they fill a cache line.
const ARITY: usize = 4;

/// What decides nearly always, so that records are rarely looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) deadline: u64,
    /// The leading 32 of the tolerance's 33 bits.
    tolerance: u32,
    pub(super) slot: u32,
}

/// Streams in the complete order. Those whose deadlines share a tick with many others, lie before
/// the wheel's window, or do not exist.
#[derive(Clone, Debug)]
pub(super) struct Crowd {
    rank: Rank,
    entries: Vec<Entry>,
}

impl Crowd {
    pub(super) fn new(rank: Rank) -> Crowd {
        Crowd { rank, entries: Vec::new() }
    }

    /// Makes room for `count` streams.
    pub(super) fn grow(&mut self, count: usize) {
        self.entries.reserve(count.saturating_sub(self.entries.len()));
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    #[inline]
    pub(super) fn top(&self) -> Option<Entry> {
        self.entries.first().copied()
    }

    pub(super) fn insert(&mut self, streams: &mut Streams, slot: u32) {
        let Record { deadline, window, .. } = *streams.at(slot);
        let tolerance = (urgency(window) >> 1) as u32;
        let entry = Entry { deadline: deadline.0, tolerance, slot };
        streams.before[slot as usize] = CROWD;
        self.entries.push(entry);
        self.rise(streams, self.entries.len() - 1, entry);
    }

    /// Takes out a stream whose record is as it was when it came.
    pub(super) fn remove(&mut self, streams: &mut Streams, slot: u32) {
        let place = streams.at(slot).link as usize;
        let Some(last) = self.entries.pop() else { return };
        if place == self.entries.len() {
            return;
        }
        if place > 0 && self.before(streams, &last, &self.entries[(place - 1) / ARITY]) {
            self.rise(streams, place, last);
        } else {
            self.sink(streams, place, last);
        }
    }

    #[inline]
    fn before(&self, streams: &Streams, a: &Entry, b: &Entry) -> bool {
        if (a.deadline, a.tolerance) != (b.deadline, b.tolerance) {
            return (a.deadline, a.tolerance) < (b.deadline, b.tolerance);
        }
        self.rank.before((a.slot, streams.at(a.slot)), (b.slot, streams.at(b.slot)))
    }

    fn rise(&mut self, streams: &mut Streams, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            let above = self.entries[parent];
            if !self.before(streams, &entry, &above) {
                break;
            }
            self.set(streams, place, above);
            place = parent;
        }
        self.set(streams, place, entry);
    }

    fn sink(&mut self, streams: &mut Streams, mut place: usize, entry: Entry) {
        loop {
            let first = ARITY * place + 1;
            let Some(mut least) = self.entries.get(first).copied() else { break };
            let mut child = first;
            for other in first + 1..(first + ARITY).min(self.entries.len()) {
                if self.before(streams, &self.entries[other], &least) {
                    (child, least) = (other, self.entries[other]);
                }
            }
            if !self.before(streams, &least, &entry) {
                break;
            }
            self.set(streams, place, least);
            place = child;
        }
        self.set(streams, place, entry);
    }

    #[inline]
    fn set(&mut self, streams: &mut Streams, place: usize, entry: Entry) {
        self.entries[place] = entry;
        streams.records[entry.slot as usize].link = place as u32;
    }
}
