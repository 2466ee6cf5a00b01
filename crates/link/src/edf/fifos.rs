//! FIFOs that share one pool of chunks: memory is bounded by the total number of items, not by
//! FIFOs times items.

use alloc::{boxed::Box, vec, vec::Vec};

/// Items to a chunk. Large enough that a chunk is left once in many operations, small enough that
/// the two partly used chunks at the ends of each FIFO cost little.
pub(crate) const CHUNK: usize = 32;

/// No chunk.
const NONE: u32 = u32::MAX;

/// Maximum number of items in a pool; chunk numbers and lengths stay well inside `u32`.
const MAX_SLOTS: usize = 1 << 30;

/// Error: all slots of a queue are occupied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl core::fmt::Display for Full {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("every packet slot of the queue is taken; raise the buffer limit or drop first")
    }
}

impl core::error::Error for Full {}

/// An empty list that grows to `items` without being moved. Where not even address space can be
/// had, it begins without, and allocates as it grows.
pub(crate) fn reserved<T>(items: usize) -> Vec<T> {
    let mut list = Vec::new();
    let _ = list.try_reserve_exact(items);
    list
}

#[derive(Clone, Copy, Debug)]
struct Links {
    next: u32,
    prev: u32,
}

/// One FIFO. An empty one holds no chunk and has `end == CHUNK`, so that the first push takes the
/// same rare path as a push beyond the end of a chunk.
#[derive(Clone, Copy, Debug)]
struct Fifo {
    head: u32,
    tail: u32,
    /// Index of the oldest item in chunk `head`.
    first: u32,
    /// One past the newest item in chunk `tail`.
    end: u32,
    len: u32,
}

impl Fifo {
    const EMPTY: Fifo = Fifo { head: NONE, tail: NONE, first: 0, end: CHUNK as u32, len: 0 };
}

/// FIFOs that share one pool of chunks. Address space for the pool is reserved once, and memory is
/// used as chunks are: a queue that stays short costs what it holds, however long it may become.
///
/// A FIFO of `n > 0` items touches fewer than `n / CHUNK + 2` chunks, so `slots / CHUNK` chunks
/// and two more for each FIFO that can be non-empty hold any `slots` items however they spread.
#[derive(Clone, Debug)]
pub(crate) struct Fifos<T> {
    /// Those in use and those used before.
    chunks: Vec<[T; CHUNK]>,
    links: Vec<Links>,
    fifos: Box<[Fifo]>,
    /// Head of the list of unused chunks; the one used last comes first, it is still cached.
    free: u32,
    len: usize,
    slots: usize,
    max_chunks: usize,
    filler: T,
}

impl<T: Copy> Fifos<T> {
    /// `count` empty FIFOs for `slots` items together (at most 2^30). `filler` occupies unused
    /// slots and is never returned.
    pub(crate) fn new(count: usize, slots: usize, filler: T) -> Fifos<T> {
        let slots = slots.min(MAX_SLOTS);
        let chunks = slots.div_ceil(CHUNK) + 2 * count.min(slots);
        Fifos {
            chunks: reserved(chunks),
            links: reserved(chunks),
            fifos: vec![Fifo::EMPTY; count].into_boxed_slice(),
            free: NONE,
            len: 0,
            slots,
            max_chunks: chunks,
            filler,
        }
    }

    /// A chunk that no FIFO holds: one given back, or else a new one.
    #[inline]
    fn take_chunk(&mut self) -> Option<u32> {
        match self.links.get(self.free as usize) {
            Some(links) => Some(core::mem::replace(&mut self.free, links.next)),
            None => self.new_chunk(),
        }
    }

    #[cold]
    fn new_chunk(&mut self) -> Option<u32> {
        let chunk = self.chunks.len();
        if chunk >= self.max_chunks {
            return None;
        }
        self.chunks.push([self.filler; CHUNK]);
        self.links.push(Links { next: NONE, prev: NONE });
        Some(chunk as u32)
    }

    /// Items in all FIFOs.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Capacity in items.
    #[inline]
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// Number of FIFOs.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.fifos.len()
    }

    /// Maximum number of chunks; chunk numbers are below it.
    #[inline]
    pub(crate) fn max_chunks(&self) -> usize {
        self.max_chunks
    }

    /// Items in one FIFO.
    #[inline]
    pub(crate) fn fifo_len(&self, fifo: usize) -> usize {
        self.fifos[fifo].len as usize
    }

    /// Appends an item. Returns the number of the chunk that was begun for it, if one was.
    #[inline]
    pub(crate) fn push(&mut self, fifo: usize, item: T) -> Result<Option<usize>, Full> {
        self.push_with(fifo, |slot| *slot = item)
    }

    /// Appends an item that is written in place.
    #[inline]
    pub(crate) fn push_with(
        &mut self,
        fifo: usize,
        write: impl FnOnce(&mut T),
    ) -> Result<Option<usize>, Full> {
        if self.len >= self.slots {
            return Err(Full);
        }
        let mut begun = None;
        if self.fifos[fifo].end as usize == CHUNK {
            // There is one: see the bound at `Fifos`.
            let chunk = self.take_chunk().ok_or(Full)?;
            let ends = &mut self.fifos[fifo];
            self.links[chunk as usize] = Links { next: NONE, prev: ends.tail };
            if ends.len == 0 {
                ends.head = chunk;
            } else {
                self.links[ends.tail as usize].next = chunk;
            }
            ends.tail = chunk;
            ends.end = 0;
            begun = Some(chunk as usize);
        }
        let ends = &mut self.fifos[fifo];
        write(&mut self.chunks[ends.tail as usize][ends.end as usize % CHUNK]);
        ends.end += 1;
        ends.len += 1;
        self.len += 1;
        Ok(begun)
    }

    /// Removes and returns the oldest item.
    #[inline]
    pub(crate) fn pop(&mut self, fifo: usize) -> Option<T> {
        let ends = &mut self.fifos[fifo];
        if ends.len == 0 {
            return None;
        }
        let chunk = ends.head as usize;
        let item = self.chunks[chunk][ends.first as usize % CHUNK];
        ends.first += 1;
        ends.len -= 1;
        self.len -= 1;
        if ends.first as usize == CHUNK || ends.len == 0 {
            let next = self.links[chunk].next;
            self.links[chunk].next = self.free;
            self.free = chunk as u32;
            if ends.len == 0 {
                *ends = Fifo::EMPTY;
            } else {
                ends.head = next;
                ends.first = 0;
                self.links[next as usize].prev = NONE;
            }
        }
        Some(item)
    }

    /// Removes and returns the newest item.
    pub(crate) fn pop_newest(&mut self, fifo: usize) -> Option<T> {
        let ends = &mut self.fifos[fifo];
        if ends.len == 0 {
            return None;
        }
        let chunk = ends.tail as usize;
        ends.end -= 1;
        ends.len -= 1;
        self.len -= 1;
        let item = self.chunks[chunk][ends.end as usize % CHUNK];
        if ends.end == 0 || ends.len == 0 {
            let prev = self.links[chunk].prev;
            self.links[chunk].next = self.free;
            self.free = chunk as u32;
            if ends.len == 0 {
                *ends = Fifo::EMPTY;
            } else {
                ends.tail = prev;
                ends.end = CHUNK as u32;
                self.links[prev as usize].next = NONE;
            }
        }
        Some(item)
    }

    /// The oldest item.
    #[inline]
    pub(crate) fn oldest(&self, fifo: usize) -> Option<&T> {
        let ends = &self.fifos[fifo];
        self.chunks.get(ends.head as usize).map(|chunk| &chunk[ends.first as usize % CHUNK])
    }

    /// The newest item.
    #[inline]
    pub(crate) fn newest(&self, fifo: usize) -> Option<&T> {
        let ends = &self.fifos[fifo];
        let at = (ends.end as usize).wrapping_sub(1) % CHUNK;
        self.chunks.get(ends.tail as usize).map(|chunk| &chunk[at])
    }

    /// Prefetches the item `ahead` positions (at most one chunk) behind the oldest.
    #[inline]
    pub(crate) fn prefetch(&self, fifo: usize, ahead: usize) {
        let ends = &self.fifos[fifo];
        let at = ends.first as usize + ahead;
        let mut chunk = ends.head;
        if at >= CHUNK {
            let Some(links) = self.links.get(chunk as usize) else { return };
            chunk = links.next;
        }
        if let Some(chunk) = self.chunks.get(chunk as usize) {
            laxity_ring::prefetch(&chunk[at % CHUNK]);
        }
    }

    /// The chunks at the ends of a FIFO, oldest first; `None` when it is empty.
    #[inline]
    pub(crate) fn end_chunks(&self, fifo: usize) -> Option<(usize, usize)> {
        let ends = &self.fifos[fifo];
        (ends.len > 0).then_some((ends.head as usize, ends.tail as usize))
    }

    /// Number of chunks of a FIFO.
    #[inline]
    pub(crate) fn chunks_of(&self, fifo: usize) -> usize {
        let ends = &self.fifos[fifo];
        (ends.first as usize + ends.len as usize).div_ceil(CHUNK)
    }

    /// The chunk before this one, towards the oldest item. The head chunk has none.
    #[inline]
    pub(crate) fn chunk_before(&self, chunk: usize) -> Option<usize> {
        let prev = self.links[chunk].prev;
        (prev != NONE).then_some(prev as usize)
    }

    /// The waiting items of one chunk of this FIFO, oldest first.
    #[inline]
    pub(crate) fn chunk_items(&self, fifo: usize, chunk: usize) -> &[T] {
        let ends = &self.fifos[fifo];
        let from = if chunk == ends.head as usize { ends.first as usize } else { 0 };
        let to = if chunk == ends.tail as usize { ends.end as usize } else { CHUNK };
        self.chunks[chunk].get(from..to).unwrap_or(&[])
    }

    /// A position at the oldest item of a FIFO.
    #[inline]
    pub(crate) fn cursor(&self, fifo: usize) -> Cursor {
        let ends = &self.fifos[fifo];
        Cursor { chunk: ends.head, place: ends.first, left: ends.len }
    }

    /// The item at a position, which moves on to the next newer one.
    #[inline]
    pub(crate) fn advance(&self, cursor: &mut Cursor) -> Option<&T> {
        if cursor.left == 0 {
            return None;
        }
        let item = &self.chunks[cursor.chunk as usize][cursor.place as usize % CHUNK];
        cursor.left -= 1;
        cursor.place += 1;
        if cursor.place as usize == CHUNK {
            cursor.chunk = self.links[cursor.chunk as usize].next;
            cursor.place = 0;
        }
        Some(item)
    }

    /// All items of a FIFO, oldest first.
    pub(crate) fn iter(&self, fifo: usize) -> impl Iterator<Item = &T> + '_ {
        let mut cursor = self.cursor(fifo);
        core::iter::from_fn(move || self.advance(&mut cursor))
    }
}

/// A position in a FIFO; valid until the FIFO changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    chunk: u32,
    place: u32,
    left: u32,
}

impl Cursor {
    /// At the end of everything.
    pub(crate) const END: Cursor = Cursor { chunk: NONE, place: 0, left: 0 };
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{collections::VecDeque, vec::Vec};
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push(usize),
        Pop(usize),
        PopNewest(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        // Runs of one kind, long enough to cross chunks and to fill and drain the pool.
        let run = (0..3u8, 0..5usize, 1..80usize);
        proptest::collection::vec(run, 1..60).prop_map(|runs| {
            let step = |(kind, fifo, n)| {
                core::iter::repeat_n(
                    match kind {
                        0 => Step::Push(fifo),
                        1 => Step::Pop(fifo),
                        _ => Step::PopNewest(fifo),
                    },
                    n,
                )
            };
            runs.into_iter().flat_map(step).collect()
        })
    }

    proptest! {
        // Fails when a freed chunk is not returned: the pool then runs dry before `slots`.
        #[test]
        fn matches_a_deque_per_fifo(steps in steps(), slots in 0..200usize) {
            let mut fast = Fifos::new(5, slots, 0u32);
            let mut slow: Vec<VecDeque<u32>> = vec![VecDeque::new(); 5];
            for (n, step) in steps.into_iter().enumerate() {
                let total: usize = slow.iter().map(VecDeque::len).sum();
                match step {
                    Step::Push(f) => {
                        let fits = total < slots;
                        prop_assert_eq!(fast.push(f, n as u32).is_ok(), fits);
                        if fits {
                            slow[f].push_back(n as u32);
                        }
                    }
                    Step::Pop(f) => prop_assert_eq!(fast.pop(f), slow[f].pop_front()),
                    Step::PopNewest(f) => prop_assert_eq!(fast.pop_newest(f), slow[f].pop_back()),
                }
                prop_assert_eq!(fast.len(), slow.iter().map(VecDeque::len).sum::<usize>());
                for (f, slow) in slow.iter().enumerate() {
                    fast.prefetch(f, n % CHUNK);
                    prop_assert_eq!(fast.fifo_len(f), slow.len());
                    prop_assert_eq!(fast.oldest(f), slow.front());
                    prop_assert_eq!(fast.newest(f), slow.back());
                }
                if n % 64 == 0 {
                    for (f, slow) in slow.iter().enumerate() {
                        prop_assert!(fast.iter(f).eq(slow.iter()));
                    }
                }
            }
        }
    }

    // Fails when the pool gets one extra chunk for each FIFO instead of two.
    #[test]
    fn the_worst_spread_of_items_fits() {
        // Every FIFO straddles chunks as badly as it can: one item in its first and last chunk.
        let (count, slots) = (7, 7 * (CHUNK + 2));
        let mut fifos = Fifos::new(count, slots, 0);
        for f in 0..count {
            for i in 0..CHUNK + 2 {
                fifos.push(f, i).unwrap();
            }
        }
        for f in 0..count {
            for _ in 0..CHUNK - 1 {
                fifos.pop(f);
            }
        }
        for f in 0..count {
            for i in 0..CHUNK - 1 {
                fifos.push(f, i).unwrap();
            }
        }
        assert_eq!(fifos.push(0, 0), Err(Full));
    }
}
