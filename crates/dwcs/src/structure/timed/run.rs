//! A tick's streams in order.

use alloc::vec::Vec;

use super::chunks::{Chunks, Entry, List};
use super::queue::order;
use crate::rank::urgency;
use crate::{Rank, Record};

/// Ties among more streams than this are not settled by looking at records again and again.
const FEW: usize = 32;

/// Lists beyond this are distributed by the leading bits of their keys before they are sorted.
const FEW_ENTRIES: usize = 15;
const MOST_BINS: usize = 1 << 11;

/// Entries in order, removed from the front; a few more may come in between.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    entries: Vec<Entry>,
    /// Entries before this index are removed.
    front: usize,
    /// Scratch.
    places: Vec<u32>,
}

impl Run {
    /// Makes room for `count` entries.
    pub(crate) fn grow(&mut self, count: usize) {
        self.entries.reserve(count.saturating_sub(self.entries.len()));
        self.places.reserve(MOST_BINS);
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.front = 0;
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<&Entry> {
        self.entries.get(self.front)
    }

    /// The entry after `count` others.
    #[inline]
    pub(crate) fn get(&self, count: usize) -> Option<&Entry> {
        self.entries.get(self.front + count)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.front
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.front == self.entries.len()
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let entry = *self.entries.get(self.front)?;
        self.front += 1;
        Some(entry)
    }

    /// The rest.
    #[inline]
    pub(crate) fn rest(&mut self) -> &mut [Entry] {
        &mut self.entries[self.front..]
    }

    /// Replaces what there is by a list, in order of keys. They differ in the lowest `bits` only.
    #[inline]
    pub(crate) fn load(&mut self, chunks: &mut Chunks, list: List, bits: u32) {
        self.clear();
        let count = chunks.count(list);
        if count > FEW_ENTRIES {
            self.distribute(chunks, list, count, bits);
        } else {
            chunks.visit(list, |entry| self.entries.push(*entry));
        }
        chunks.free(list);
        sort(&mut self.entries);
    }

    /// Brings a list into the order of its keys' leading bits: about one entry has the same.
    fn distribute(&mut self, chunks: &Chunks, list: List, count: usize, bits: u32) {
        let leading = count.ilog2().min(MOST_BINS.ilog2());
        let (shift, bins) = (bits.saturating_sub(leading), 1 << leading);
        let bin = |entry: &Entry| (entry.key >> shift) as usize % bins;
        self.places.clear();
        self.places.resize(bins, 0);
        let places = self.places.as_mut_slice();
        chunks.visit(list, |entry| places[bin(entry)] += 1);
        let mut before = 0;
        for place in &mut *places {
            before += core::mem::replace(place, before);
        }
        self.entries.resize(count, Entry::default());
        chunks.visit(list, |entry| {
            let place = &mut places[bin(entry)];
            self.entries[*place as usize] = *entry;
            *place += 1;
        });
    }

    /// Puts streams of equal keys in the order of streams, keys being deadlines.
    pub(crate) fn settle_ties(&mut self, rank: &Rank, records: &[Record]) {
        let run = self.rest();
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

    /// Adds an entry. Among equal keys it goes behind those for which `follows` answers yes;
    /// what `follows` cannot say, of stale entries, does not count.
    #[inline]
    pub(crate) fn insert(&mut self, entry: Entry, follows: impl Fn(&Entry) -> Option<bool>) {
        if self.entries.len() == self.entries.capacity() {
            self.entries.drain(..self.front);
            self.front = 0;
        }
        if self.entries.last().is_none_or(|last| last.key < entry.key) {
            return self.entries.push(entry);
        }
        let rest = &self.entries[self.front..];
        let mut place = rest.partition_point(|other| other.key <= entry.key);
        let ties = rest[..place].iter().enumerate().rev();
        for (at, other) in ties.take_while(|(_, other)| other.key == entry.key) {
            match follows(other) {
                Some(true) => break,
                Some(false) => place = at,
                None => {}
            }
        }
        if self.front > 0 && place <= rest.len() / 2 {
            let from = self.front;
            self.front -= 1;
            self.entries.copy_within(from..from + place, self.front);
            self.entries[self.front + place] = entry;
        } else {
            self.entries.insert(self.front + place, entry);
        }
    }
}

/// The order of streams by whole numbers in place of the keys, which are all equal: tolerance, x,
/// arrival, slot.
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

/// Sorts by keys that are nearly in order.
#[inline]
fn sort(entries: &mut [Entry]) {
    let mut moves = 4 * entries.len();
    for place in 1..entries.len() {
        let entry = entries[place];
        let mut at = place;
        while at > 0 && entries[at - 1].key > entry.key {
            entries[at] = entries[at - 1];
            at -= 1;
        }
        entries[at] = entry;
        moves = moves.saturating_sub(place - at);
        if moves == 0 {
            return entries.sort_unstable_by_key(|entry| entry.key);
        }
    }
}
