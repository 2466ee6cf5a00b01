//! State shared by the queues of a structure.

use alloc::vec::Vec;

use super::chunks::{Chunks, Entry, List};
use super::overflow::IN_OVERFLOW;
use crate::Record;

/// Records, the chunks in which lists keep entries, and which entries count.
///
/// A stream's link is the stamp of its entry. Storing a stream under another stamp turns the
/// entries that it still has into *stale entries*: they are dropped when they are met.
#[derive(Clone, Debug)]
pub struct Streams {
    pub(crate) records: Vec<Record>,
    pub(crate) chunks: Chunks,
    /// The last stamp assigned.
    stamp: u32,
    /// Entries of streams that are elsewhere now.
    pub(crate) stale_entries: usize,
}

impl Streams {
    pub(crate) fn new() -> Streams {
        Streams { records: Vec::new(), chunks: Chunks::new(0, 0), stamp: 0, stale_entries: 0 }
    }

    /// Whether no stamp may be assigned until there are no stale entries.
    #[inline]
    pub(crate) fn is_worn(&self) -> bool {
        self.stamp >= IN_OVERFLOW / 2
    }

    /// Entries are void: starts again.
    pub(crate) fn clear(&mut self) {
        self.chunks.clear();
        self.stamp = 0;
        self.stale_entries = 0;
    }

    /// Stores a record; all entries of its stream are stale entries from now on.
    #[inline]
    pub(crate) fn store(&mut self, slot: u32, mut record: Record) {
        self.stamp += 1;
        record.link = self.stamp;
        self.records[slot as usize] = record;
    }

    /// Gives a stream a new stamp.
    pub(crate) fn renew(&mut self, slot: u32) {
        self.stamp += 1;
        self.records[slot as usize].link = self.stamp;
    }

    #[inline]
    pub(crate) fn at(&self, slot: u32) -> &Record {
        &self.records[slot as usize]
    }

    /// The entry of a stream in a queue where its key is `key`.
    #[inline]
    pub(crate) fn entry(&self, slot: u32, key: u64) -> Entry {
        Entry { key, slot, stamp: self.at(slot).link }
    }

    /// Whether the stream still is where the entry says. Mostly there are no stale entries, and the record
    /// need not be looked at.
    #[inline]
    pub(crate) fn is_live(&self, entry: &Entry) -> bool {
        self.stale_entries == 0 || self.at(entry.slot).link == entry.stamp
    }

    /// Asks the cache for a record that will be needed.
    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        if let Some(record) = self.records.get(slot as usize) {
            // It may lie across two lines.
            laxity_ring::prefetch(&record.deadline);
            laxity_ring::prefetch(&record.generation);
        }
    }

    /// Drops the entries of a list that holds nothing but stale entries.
    pub(crate) fn bury(&mut self, mut list: List) {
        while self.chunks.pop(&mut list).is_some() {
            self.stale_entries -= 1;
        }
    }
}
