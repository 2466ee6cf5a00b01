//! Streams in order of a time, of which the first are wanted.

use core::cmp::Ordering;

use super::calendar::Calendar;
use super::chunks::{Entry, List};
use super::overflow::OverflowHeap;
use super::run::Run;
use super::{Size, Streams};
use crate::{Rank, Record};

/// Records are prefetched when this many others precede them.
const AHEAD: usize = 12;

/// A run is added to while it is shorter than this.
const SHORT: usize = 256;

/// A calendar, whose tick of interest is put in order at once, and a heap for what fits neither.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) calendar: Calendar,
    /// A tick that was removed from the calendar.
    pub(crate) run: Run,
    pub(crate) overflow: OverflowHeap,
}

impl Queue {
    pub(crate) fn new(rank: Rank) -> Queue {
        Queue {
            calendar: Calendar::new(0, 6, 0),
            run: Run::default(),
            overflow: OverflowHeap::new(rank),
        }
    }

    /// Makes room; the queue is empty afterwards.
    pub(crate) fn grow(&mut self, size: Size) {
        self.calendar = Calendar::new(size.tick, size.lists, size.now.0);
        self.run.clear();
        self.run.grow(size.entries);
        self.overflow.clear();
        self.overflow.grow(size.streams);
    }

    pub(crate) fn clear(&mut self, tick: u32, time: u64) {
        self.calendar.clear(tick, time);
        self.run.clear();
        self.overflow.clear();
    }

    /// Empties the run in favour of a tick's list.
    #[inline]
    pub(crate) fn load(&mut self, streams: &mut Streams, tick: u64) {
        let list = self.calendar.take(tick);
        self.run.load(&mut streams.chunks, list, self.calendar.bits());
        for entry in self.run.rest().iter().take(AHEAD) {
            streams.prefetch(entry.slot);
        }
        // Prefetch, so that the next tick's entries are cached when this tick is over.
        streams.chunks.prefetch_list(self.calendar.list(tick + 1));
    }

    /// Takes the first of the run.
    #[inline]
    pub(crate) fn pop(&mut self, streams: &Streams) {
        self.run.pop();
        if let Some(entry) = self.run.get(AHEAD) {
            streams.prefetch(entry.slot);
        }
    }

    /// Whether an entry belongs into the run rather than in the list of its tick.
    #[inline]
    pub(crate) fn continues(&self, key: u64) -> bool {
        self.run.first().is_some_and(|first| {
            self.calendar.tick_of(first.key) == self.calendar.tick_of(key) && self.run.len() < SHORT
        })
    }

    /// Puts a removed list into the heap.
    pub(crate) fn pour(&mut self, streams: &mut Streams, mut list: List) {
        while let Some(entry) = streams.chunks.pop(&mut list) {
            if streams.is_live(&entry) {
                self.overflow.insert(&mut streams.records, entry.slot, entry.key);
            } else {
                streams.stale_entries -= 1;
            }
        }
    }

    /// Moves the calendar's window on, to end with block `target` or before, and puts in it what
    /// it reached.
    pub(crate) fn advance(&mut self, streams: &mut Streams, target: u64) {
        let mut list = self.calendar.advance(target);
        while let Some(entry) = streams.chunks.pop(&mut list) {
            self.calendar.insert(&mut streams.chunks, entry);
        }
    }
}

/// The order of two streams with equal deadlines.
#[inline]
pub(crate) fn order(rank: &Rank, records: &[Record], a: &Entry, b: &Entry) -> Ordering {
    let stream = |entry: &Entry| (entry.slot, &records[entry.slot as usize]);
    if rank.before(stream(a), stream(b)) {
        Ordering::Less
    } else if a.slot == b.slot {
        Ordering::Equal
    } else {
        Ordering::Greater
    }
}
