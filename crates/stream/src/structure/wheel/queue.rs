//! Streams in order of a time, of which the first are wanted.

use core::cmp::Ordering;

use super::calendar::Calendar;
use super::chunks::{Chunks, Entry, List};
use super::crowd::Crowd;
use super::run::Run;
use crate::rank::urgency;
use crate::{Rank, Record};

/// Records are asked for when so many others come before.
const AHEAD: usize = 12;

/// A run is added to while it is shorter than this.
const SHORT: usize = 256;

/// Ties among more streams than this are not settled by looking at records again and again.
const FEW: usize = 32;

/// A calendar, whose tick of interest is put in order at once, and a heap for what fits neither.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) calendar: Calendar,
    /// A tick that was taken out of the calendar.
    pub(super) run: Run,
    pub(super) crowd: Crowd,
}

impl Queue {
    pub(super) fn new(rank: Rank, size: u32) -> Queue {
        Queue { calendar: Calendar::new(0, size, 0), run: Run::default(), crowd: Crowd::new(rank) }
    }

    /// Empties the run in favour of a tick's list.
    #[inline]
    pub(super) fn load(&mut self, chunks: &mut Chunks, records: &[Record], tick: u64) {
        self.run.load(chunks, self.calendar.take(tick));
        for entry in self.run.rest().iter().take(AHEAD) {
            prefetch(records, entry.slot);
        }
        // By the time this tick is over, the next one's should be here.
        chunks.prefetch_list(self.calendar.list(tick + 1));
    }

    /// Takes the first of the run.
    #[inline]
    pub(super) fn pop(&mut self, records: &[Record]) {
        self.run.pop();
        if let Some(entry) = self.run.get(AHEAD) {
            prefetch(records, entry.slot);
        }
    }

    /// Whether an entry belongs into the run rather than in the list of its tick.
    #[inline]
    pub(super) fn continues(&self, key: u64) -> bool {
        self.run.first().is_some_and(|first| {
            self.calendar.tick_of(first.key) == self.calendar.tick_of(key) && self.run.len() < SHORT
        })
    }

    /// Puts streams of equal keys in the order of streams.
    pub(super) fn settle_ties(&mut self, rank: &Rank, records: &[Record]) {
        let run = self.run.rest();
        if run.windows(2).all(|pair| pair[0].key != pair[1].key) {
            return;
        }
        for ties in run.chunk_by_mut(|a, b| a.key == b.key) {
            match ties.len() {
                1 => {}
                2..=FEW => ties.sort_unstable_by(|a, b| order(rank, records, a, b)),
                _ => settle_many(ties, records),
            }
        }
    }

    /// Puts a list that was taken out into the heap.
    pub(super) fn pour(
        &mut self,
        chunks: &mut Chunks,
        records: &mut [Record],
        mut list: List,
        ghosts: &mut usize,
    ) {
        while let Some(entry) = chunks.pop(&mut list) {
            if is_live(records, &entry) {
                self.crowd.insert(records, entry.slot, entry.key);
            } else {
                *ghosts -= 1;
            }
        }
    }

    pub(super) fn clear(&mut self, tick: u32, time: u64) {
        self.calendar.clear(tick, time);
        self.run.clear();
        self.crowd.clear();
    }
}

/// Whether the stream still is where the entry says.
#[inline]
pub(super) fn is_live(records: &[Record], entry: &Entry) -> bool {
    records[entry.slot as usize].link == entry.stamp
}

/// The order of two streams with equal deadlines.
#[inline]
pub(super) fn order(rank: &Rank, records: &[Record], a: &Entry, b: &Entry) -> Ordering {
    let stream = |entry: &Entry| (entry.slot, &records[entry.slot as usize]);
    if rank.before(stream(a), stream(b)) {
        Ordering::Less
    } else if a.slot == b.slot {
        Ordering::Equal
    } else {
        Ordering::Greater
    }
}

/// The order of streams by whole numbers in place of the keys, which are all equal.
#[cold]
fn settle_many(ties: &mut [Entry], records: &[Record]) {
    let key = ties[0].key;
    let record = |entry: &Entry| &records[entry.slot as usize];
    for entry in ties.iter_mut() {
        let window = record(entry).window;
        entry.key = (urgency(window) << 16) | u64::from(window.x);
    }
    ties.sort_unstable_by_key(|entry| (entry.key, entry.slot));
    for ties in ties.chunk_by_mut(|a, b| a.key == b.key) {
        for entry in ties.iter_mut() {
            entry.key = record(entry).arrival.0;
        }
        ties.sort_unstable_by_key(|entry| (entry.key, entry.slot));
    }
    ties.iter_mut().for_each(|entry| entry.key = key);
}

/// Asks the cache for a record that will be needed.
#[inline]
pub(super) fn prefetch(records: &[Record], slot: u32) {
    if let Some(record) = records.get(slot as usize) {
        // It may lie across two lines.
        laxity_ring::prefetch(&record.deadline);
        laxity_ring::prefetch(&record.generation);
    }
}
