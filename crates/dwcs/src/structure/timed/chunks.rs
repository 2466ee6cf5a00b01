//! Lists of entries in chunks, so that they are read as arrays are.

use alloc::vec;
use alloc::vec::Vec;

/// No chunk.
pub(crate) const NONE: u32 = u32::MAX;

/// A stream in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The key that orders the queue, in nanoseconds.
    pub(crate) key: u64,
    pub(crate) slot: u32,
    /// The stream has moved elsewhere when its record bears another stamp.
    pub(crate) stamp: u32,
}

/// With what else is in a chunk, 256 bytes.
const ENTRIES: usize = 15;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk {
    /// The next chunk of the list, all of whose entries are in use.
    next: u32,
    entries: [Entry; ENTRIES],
}

/// A list: its first chunk, and how many entries that one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    chunk: u32,
    count: u32,
}

impl List {
    pub(crate) const EMPTY: List = List { chunk: NONE, count: 0 };

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.chunk == NONE
    }
}

/// All chunks, in lists or free.
#[derive(Clone, Debug)]
pub(crate) struct Chunks {
    chunks: Vec<Chunk>,
    free: u32,
}

impl Chunks {
    /// Room for `entries` in `lists` lists, whatever the lists' lengths. With less, lists may have
    /// to do without a chunk.
    pub(crate) fn new(entries: usize, lists: usize) -> Chunks {
        let count = entries / ENTRIES + lists.min(entries) + 1;
        let chunk = Chunk { next: NONE, entries: [Entry::default(); ENTRIES] };
        let mut chunks = Chunks { chunks: vec![chunk; count], free: NONE };
        chunks.clear();
        chunks
    }

    /// Frees all.
    pub(crate) fn clear(&mut self) {
        for (chunk, next) in self.chunks.iter_mut().zip(1..) {
            chunk.next = next;
        }
        if let Some(last) = self.chunks.last_mut() {
            last.next = NONE;
        }
        self.free = 0;
    }

    /// Adds an entry. There must be room.
    #[inline]
    pub(crate) fn push(&mut self, list: &mut List, entry: Entry) {
        let pushed = self.try_push(list, entry);
        debug_assert!(pushed.is_some(), "chunks for all entries were allocated");
    }

    /// Adds an entry, `None` when there is no chunk left.
    #[inline]
    pub(crate) fn try_push(&mut self, list: &mut List, entry: Entry) -> Option<()> {
        if list.count == 0 || list.count as usize == ENTRIES {
            let chunk = self.free;
            let fresh = self.chunks.get_mut(chunk as usize)?;
            self.free = fresh.next;
            fresh.next = list.chunk;
            *list = List { chunk, count: 0 };
        }
        self.chunks[list.chunk as usize].entries[list.count as usize] = entry;
        list.count += 1;
        Some(())
    }

    /// Whether any chunk is free.
    #[inline]
    pub(crate) fn has_spare(&self) -> bool {
        self.free != NONE
    }

    /// The entry that came last.
    #[inline]
    pub(crate) fn last(&self, list: List) -> Option<Entry> {
        self.near_last(list, 0)
    }

    /// The entry that came `count` before the last, at most a chunk away.
    #[inline]
    pub(crate) fn near_last(&self, list: List, count: usize) -> Option<Entry> {
        let chunk = self.chunks.get(list.chunk as usize)?;
        let place = list.count as usize;
        if count < place {
            return chunk.entries.get(place - 1 - count).copied();
        }
        let next = self.chunks.get(chunk.next as usize)?;
        next.entries.get(ENTRIES + place - 1 - count).copied()
    }

    /// Makes `last` and `before` the two that came last, in place of those that did.
    #[inline]
    pub(crate) fn replace_last(&mut self, list: List, before: Entry, last: Entry) {
        let Some(chunk) = self.chunks.get_mut(list.chunk as usize) else { return };
        let end = list.count as usize - 1;
        chunk.entries[end] = last;
        if end > 0 {
            chunk.entries[end - 1] = before;
        } else {
            let next = chunk.next as usize;
            self.chunks[next].entries[ENTRIES - 1] = before;
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self, list: &mut List) -> Option<Entry> {
        if list.chunk == NONE {
            return None;
        }
        let chunk = &mut self.chunks[list.chunk as usize];
        list.count -= 1;
        let entry = chunk.entries[list.count as usize];
        if list.count == 0 {
            let freed = list.chunk;
            let next = core::mem::replace(&mut chunk.next, self.free);
            self.free = freed;
            *list = List { chunk: next, count: if next == NONE { 0 } else { ENTRIES as u32 } };
            if let Some(next) = self.chunks.get(next as usize) {
                self.prefetch(next.next);
            }
        }
        Some(entry)
    }

    /// How many entries a list has.
    #[inline]
    pub(crate) fn count(&self, list: List) -> usize {
        let (mut count, mut at) = (list.count as usize, list.chunk);
        while let Some(chunk) = self.chunks.get(at as usize).filter(|chunk| chunk.next != NONE) {
            count += ENTRIES;
            at = chunk.next;
        }
        count
    }

    /// Shows all entries of a list.
    #[inline]
    pub(crate) fn visit(&self, mut list: List, mut visitor: impl FnMut(&Entry)) {
        while let Some(chunk) = self.chunks.get(list.chunk as usize) {
            self.prefetch(chunk.next);
            chunk.entries[..list.count as usize].iter().for_each(&mut visitor);
            list = List { chunk: chunk.next, count: ENTRIES as u32 };
        }
    }

    /// Frees the chunks of a list.
    #[inline]
    pub(crate) fn free(&mut self, list: List) {
        let mut at = list.chunk;
        while let Some(chunk) = self.chunks.get_mut(at as usize) {
            let next = core::mem::replace(&mut chunk.next, self.free);
            self.free = at;
            at = next;
        }
    }

    /// The entries of a list that has one chunk.
    #[inline]
    pub(crate) fn short(&self, list: List) -> Option<&[Entry]> {
        let chunk = self.chunks.get(list.chunk as usize)?;
        (chunk.next == NONE).then(|| &chunk.entries[..list.count as usize])
    }

    /// Takes an entry out of a list that has one chunk.
    #[inline]
    pub(crate) fn remove(&mut self, list: &mut List, at: usize) {
        let chunk = list.chunk as usize;
        if let Some(last) = self.pop(list) {
            if let Some(entry) = self.chunks[chunk].entries[..list.count as usize].get_mut(at) {
                *entry = last;
            }
        }
    }

    /// Whether a list has more than `count` entries, for small counts.
    pub(crate) fn exceeds(&self, list: List, count: usize) -> bool {
        self.iter(list).nth(count).is_some()
    }

    pub(crate) fn iter(&self, list: List) -> impl Iterator<Item = &Entry> {
        let chunks = core::iter::successors(Some(list), |list| {
            let next = self.chunks.get(list.chunk as usize)?.next;
            Some(List { chunk: next, count: ENTRIES as u32 })
        });
        let chunks = chunks.map_while(|list| {
            Some(&self.chunks.get(list.chunk as usize)?.entries[..list.count as usize])
        });
        chunks.flatten()
    }

    #[inline]
    pub(crate) fn prefetch(&self, chunk: u32) {
        if let Some(chunk) = self.chunks.get(chunk as usize) {
            laxity_ring::prefetch(chunk);
            for at in [3, 7, 11] {
                laxity_ring::prefetch(&chunk.entries[at]);
            }
        }
    }

    #[inline]
    pub(crate) fn prefetch_list(&self, list: List) {
        self.prefetch(list.chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A decision reads a stream's record of 40 bytes and one of these. Fails when a
    /// field grows.
    #[test]
    fn an_entry_has_sixteen_bytes_and_a_chunk_four_lines() {
        assert_eq!((size_of::<Entry>(), size_of::<Chunk>()), (16, 256));
    }

    fn entry(slot: u32) -> Entry {
        Entry { key: u64::from(slot), slot, stamp: 0 }
    }

    /// Fails when a chunk is lost or used twice: tried without setting `free` in `free`, and with
    /// one chunk too few in `new`.
    #[test]
    fn chunks_for_all_entries_suffice_and_go_round() {
        let (entries, lists) = (100, 8);
        let mut chunks = Chunks::new(entries, lists);
        let mut real = [List::EMPTY; 8];
        let mut slow: [Vec<Entry>; 8] = Default::default();
        let mut state = 1u64;
        let mut below = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % bound
        };
        for round in 0..20_000u32 {
            let at = below(lists);
            match below(40) {
                0 => {
                    let mut all = vec![];
                    chunks.visit(real[at], |entry| all.push(*entry));
                    all.sort_by_key(|entry| entry.slot);
                    assert_eq!((all.len(), all), (chunks.count(real[at]), slow[at].clone()));
                    chunks.free(core::mem::replace(&mut real[at], List::EMPTY));
                    slow[at].clear();
                }
                1..15 => assert_eq!(chunks.pop(&mut real[at]), slow[at].pop()),
                _ if slow.iter().map(Vec::len).sum::<usize>() < entries => {
                    assert!(chunks.try_push(&mut real[at], entry(round)).is_some());
                    slow[at].push(entry(round));
                }
                _ => {}
            }
            let back = below(15);
            let near = slow[at].len().checked_sub(back + 1).map(|place| slow[at][place]);
            assert_eq!(chunks.near_last(real[at], back), near);
            assert_eq!(chunks.exceeds(real[at], back), slow[at].len() > back);
        }
        // Without room it says so.
        while chunks.try_push(&mut real[0], entry(0)).is_some() {}
        assert!(!chunks.has_spare());
    }
}
