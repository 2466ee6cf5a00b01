//! Streams by time: lists for short spans of it.

use alloc::vec;
use alloc::vec::Vec;

use super::super::bits::Bits;
use crate::Record;

/// No stream.
pub(super) const NONE: u32 = u32::MAX;

/// Finer digits of a block's number choose a list on a lower level.
const DIGIT: u32 = 6;
const LISTS: usize = 1 << DIGIT;
/// Enough for every 64-bit time: blocks have at least 2^4 ticks.
const LEVELS: usize = 10;

/// The streams and the links of the lists in which they stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    /// `link` is the next in the list.
    pub(super) records: Vec<Record>,
    /// The one before in the list, so that any stream can be taken out; [`NONE`] for the first.
    pub(super) before: Vec<u32>,
}

impl Streams {
    #[inline]
    pub(super) fn at(&self, slot: u32) -> &Record {
        &self.records[slot as usize]
    }

    /// The streams of a list from `head` on.
    #[inline]
    pub(super) fn list(&self, head: u32) -> impl Iterator<Item = u32> {
        let some = |slot: u32| (slot != NONE).then_some(slot);
        core::iter::successors(some(head), move |slot| some(self.at(*slot).link))
    }

    /// Asks the cache for a record that will be needed.
    #[inline]
    pub(super) fn prefetch(&self, slot: u32) {
        if let Some(record) = self.records.get(slot as usize) {
            // It may lie across two lines.
            laxity_ring::prefetch(&record.deadline);
            laxity_ring::prefetch(&record.generation);
        }
    }
}

/// A hierarchical timing wheel (Varghese and Lauck 1987) for keys in nanoseconds.
///
/// The finest level has a list for each *tick* of two successive *blocks* of ticks; the window
/// moves on by blocks, so a key up to a block ahead lands there and is never touched again before
/// its time comes. Blocks beyond are found by the highest 6-bit digit in which their numbers
/// differ from the window's last; their lists are dealt out when the window reaches them.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// A tick has `1 << tick` nanoseconds.
    pub(super) tick: u32,
    /// A block has `1 << block` ticks.
    block: u32,
    /// Number of the window's second block.
    last: u64,
    /// No tick of the window before this one has a list.
    hint: u64,
    /// Lists of the window, then of each coarse level.
    heads: Vec<u32>,
    window: Bits,
    coarse: [u64; LEVELS],
}

/// A list beyond the window.
pub(super) struct Coarse {
    /// Its first block.
    pub(super) start: u64,
    index: usize,
}

impl Ring {
    /// An empty ring with `1 << size` lists in its window.
    pub(super) fn new(tick: u32, size: u32) -> Ring {
        Ring {
            tick,
            block: size - 1,
            last: 1,
            hint: 0,
            heads: vec![NONE; (1 << size) + LEVELS * LISTS],
            window: Bits::new(1 << size),
            coarse: [0; LEVELS],
        }
    }

    /// Forgets all streams; the window begins with the block of `time`.
    pub(super) fn clear(&mut self, tick: u32, time: u64) {
        let size = self.block + 1;
        self.tick = tick;
        self.heads.fill(NONE);
        self.window = Bits::new(1 << size);
        self.coarse = [0; LEVELS];
        self.last = self.block_of(time) + 1;
        self.hint = (self.last - 1) << self.block;
    }

    #[inline]
    pub(super) fn tick_of(&self, key: u64) -> u64 {
        key >> self.tick
    }

    #[inline]
    pub(super) fn block_of(&self, key: u64) -> u64 {
        key >> self.tick >> self.block
    }

    #[inline]
    pub(super) fn block_of_tick(&self, tick: u64) -> u64 {
        tick >> self.block
    }

    /// Whether a key lies before the window, where there is no list for it.
    #[inline]
    pub(super) fn is_past(&self, key: u64) -> bool {
        self.block_of(key) + 1 < self.last
    }

    /// Block of the window's end.
    #[inline]
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    #[inline]
    fn mask(&self) -> u64 {
        (2 << self.block) - 1
    }

    /// Where the list for a key is.
    #[inline]
    fn index(&self, key: u64) -> usize {
        let tick = self.tick_of(key);
        let block = tick >> self.block;
        if block <= self.last { (tick & self.mask()) as usize } else { self.coarse_index(block) }
    }

    #[cold]
    fn coarse_index(&self, block: u64) -> usize {
        let level = (block ^ self.last).ilog2() / DIGIT;
        let digit = (block >> (level * DIGIT)) as usize % LISTS;
        (2 << self.block) + level as usize * LISTS + digit
    }

    /// Adds a stream whose key is not past.
    #[inline]
    pub(super) fn insert(&mut self, streams: &mut Streams, slot: u32, key: u64) {
        let index = self.index(key);
        let next = core::mem::replace(&mut self.heads[index], slot);
        streams.records[slot as usize].link = next;
        streams.before[slot as usize] = NONE;
        if next != NONE {
            streams.before[next as usize] = slot;
        } else if let Some(coarse) = index.checked_sub(2 << self.block) {
            self.coarse[coarse / LISTS] |= 1 << (coarse % LISTS);
        } else {
            self.window.insert(index);
        }
        self.hint = self.hint.min(self.tick_of(key));
    }

    /// Takes out a stream that stands in the list for `key`.
    #[inline]
    pub(super) fn remove(&mut self, streams: &mut Streams, slot: u32, key: u64) {
        let next = streams.at(slot).link;
        let before = streams.before[slot as usize];
        if next != NONE {
            streams.before[next as usize] = before;
        }
        if before != NONE {
            streams.records[before as usize].link = next;
            return;
        }
        let index = self.index(key);
        self.heads[index] = next;
        if next == NONE {
            self.emptied(index);
        }
    }

    #[inline]
    fn emptied(&mut self, index: usize) {
        if let Some(coarse) = index.checked_sub(2 << self.block) {
            self.coarse[coarse / LISTS] &= !(1 << (coarse % LISTS));
        } else {
            self.window.remove(index);
        }
    }

    /// The first tick of the window that has a list.
    #[inline]
    pub(super) fn first(&mut self) -> Option<u64> {
        let start = (self.last - 1) << self.block;
        let from = self.hint.max(start);
        let place = (from & self.mask()) as usize;
        // The window's second block may lie before its first in memory.
        let found = self.window.next(place).or_else(|| self.window.next(0))?;
        self.hint = from + ((found as u64).wrapping_sub(from) & self.mask());
        Some(self.hint)
    }

    /// The head of a tick of the window.
    #[inline]
    pub(super) fn head(&self, tick: u64) -> u32 {
        self.heads[(tick & self.mask()) as usize]
    }

    /// Empties a tick of the window; answers the head of what stood there.
    #[inline]
    pub(super) fn take(&mut self, tick: u64) -> u32 {
        let index = (tick & self.mask()) as usize;
        self.window.remove(index);
        core::mem::replace(&mut self.heads[index], NONE)
    }

    /// The first list beyond the window.
    pub(super) fn first_coarse(&self) -> Option<Coarse> {
        let level = self.coarse.iter().position(|lists| *lists != 0)?;
        let digit = self.coarse[level].trailing_zeros();
        let low = level as u32 * DIGIT;
        let above = self.last >> (low + DIGIT) << (low + DIGIT);
        let start = above | (u64::from(digit) << low);
        let index = (2 << self.block) + level * LISTS + digit as usize;
        Some(Coarse { start, index })
    }

    /// The head of a list beyond the window.
    pub(super) fn head_coarse(&self, list: &Coarse) -> u32 {
        self.heads[list.index]
    }

    /// Empties a list beyond the window; answers the head of what stood there.
    pub(super) fn take_coarse(&mut self, list: &Coarse) -> u32 {
        self.emptied(list.index);
        core::mem::replace(&mut self.heads[list.index], NONE)
    }

    /// Moves the window on, to end with block `target` or, if a list beyond it comes sooner, with
    /// that one's first block. The window's first block must be empty, both when it moves by
    /// more. Answers the head of the list that was reached; its streams are to be inserted again.
    pub(super) fn advance(&mut self, target: u64) -> u32 {
        match self.first_coarse().filter(|list| list.start <= target) {
            Some(list) => {
                let head = self.take_coarse(&list);
                self.last = list.start;
                head
            }
            None => {
                self.last = target;
                NONE
            }
        }
    }
}
