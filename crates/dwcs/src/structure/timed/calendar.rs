//! Lists of streams by time.

use alloc::vec;
use alloc::vec::Vec;

use super::super::bits::Bits;
use super::chunks::{Chunks, Entry, List};

/// A digit of a block's number chooses a list of a coarse level.
const DIGIT: u32 = 6;
const LISTS: usize = 1 << DIGIT;
/// Enough for every 64-bit time: blocks have at least 2^4 ticks.
const LEVELS: usize = 10;
/// Lists beyond the window.
pub(crate) const COARSE: usize = LEVELS * LISTS;

/// A hierarchical timing wheel (Varghese and Lauck 1987) for keys in nanoseconds.
///
/// The finest level has a list for each *tick* of two successive *blocks* of ticks; the window
/// moves on by blocks, so a key up to a block ahead lands there and stays until its time comes.
/// Blocks beyond are found by the highest 6-bit digit in which their numbers differ from the
/// window's last; their lists are dealt out when the window reaches them.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// A tick has `1 << tick` nanoseconds.
    tick: u32,
    /// A block has `1 << block` ticks.
    block: u32,
    /// Number of the window's second block.
    last: u64,
    /// No tick of the window before this one has a list.
    hint: u64,
    /// Lists of the window, then of each coarse level.
    lists: Vec<List>,
    window: Bits,
    coarse: [u64; LEVELS],
}

/// A list beyond the window.
pub(crate) struct Coarse {
    /// Its first block.
    pub(crate) start: u64,
    index: usize,
}

impl Calendar {
    /// An empty calendar with `1 << size` lists in its window, which begins with the block of
    /// `time`.
    pub(crate) fn new(tick: u32, size: u32, time: u64) -> Calendar {
        let block = size - 1;
        let last = (time >> tick >> block) + 1;
        Calendar {
            tick,
            block,
            last,
            hint: (last - 1) << block,
            lists: vec![List::EMPTY; (1 << size) + COARSE],
            window: Bits::new(1 << size),
            coarse: [0; LEVELS],
        }
    }

    /// Forgets all streams.
    pub(crate) fn clear(&mut self, tick: u32, time: u64) {
        self.lists.fill(List::EMPTY);
        self.window.clear();
        self.coarse = [0; LEVELS];
        self.tick = tick;
        self.last = self.block_of(time) + 1;
        self.hint = (self.last - 1) << self.block;
    }

    /// Keys of a tick differ in so many bits.
    #[inline]
    pub(crate) fn bits(&self) -> u32 {
        self.tick
    }

    /// The first instant of a tick.
    #[inline]
    pub(crate) fn start_of(&self, tick: u64) -> u64 {
        tick << self.tick
    }

    #[inline]
    pub(crate) fn tick_of(&self, key: u64) -> u64 {
        key >> self.tick
    }

    #[inline]
    pub(crate) fn block_of_tick(&self, tick: u64) -> u64 {
        tick >> self.block
    }

    #[inline]
    pub(crate) fn block_of(&self, key: u64) -> u64 {
        self.block_of_tick(self.tick_of(key))
    }

    /// Whether a key lies before the window, where there is no list for it.
    #[inline]
    pub(crate) fn is_past(&self, key: u64) -> bool {
        self.block_of(key) + 1 < self.last
    }

    /// The window's second block.
    #[inline]
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    #[inline]
    fn mask(&self) -> u64 {
        (2 << self.block) - 1
    }

    /// Adds a stream whose key is not past.
    #[inline]
    pub(crate) fn insert(&mut self, chunks: &mut Chunks, entry: Entry) {
        let tick = self.tick_of(entry.key);
        let block = self.block_of_tick(tick);
        if block > self.last {
            return self.insert_coarse(chunks, entry, block);
        }
        let index = (tick & self.mask()) as usize;
        let list = &mut self.lists[index];
        if list.is_empty() {
            self.window.insert(index);
            self.hint = self.hint.min(tick);
        }
        chunks.push(list, entry);
    }

    #[cold]
    fn insert_coarse(&mut self, chunks: &mut Chunks, entry: Entry, block: u64) {
        let level = (block ^ self.last).ilog2() / DIGIT;
        let digit = (block >> (level * DIGIT)) as usize % LISTS;
        self.coarse[level as usize] |= 1 << digit;
        let index = (2 << self.block) + level as usize * LISTS + digit;
        chunks.push(&mut self.lists[index], entry);
    }

    /// No tick of the window before this one has a list.
    #[inline]
    pub(crate) fn bound(&self) -> u64 {
        self.hint
    }

    /// The first tick of the window that has a list.
    #[inline]
    pub(crate) fn first(&mut self) -> Option<u64> {
        let start = (self.last - 1) << self.block;
        let from = self.hint.max(start);
        let place = (from & self.mask()) as usize;
        // The window's second block may lie before its first in memory.
        let found = self.window.next(place).or_else(|| self.window.next(0))?;
        self.hint = from + ((found as u64).wrapping_sub(from) & self.mask());
        Some(self.hint)
    }

    /// The list of a tick of the window.
    #[inline]
    pub(crate) fn list(&self, tick: u64) -> List {
        self.lists[(tick & self.mask()) as usize]
    }

    /// Takes the `at`th entry out of a tick's list, which has one chunk.
    #[inline]
    pub(crate) fn remove(&mut self, chunks: &mut Chunks, tick: u64, at: usize) {
        let index = (tick & self.mask()) as usize;
        let list = &mut self.lists[index];
        chunks.remove(list, at);
        if list.is_empty() {
            self.window.remove(index);
        }
    }

    /// Empties a tick of the window.
    #[inline]
    pub(crate) fn take(&mut self, tick: u64) -> List {
        let index = (tick & self.mask()) as usize;
        self.window.remove(index);
        if tick == self.hint {
            self.hint += 1;
        }
        core::mem::replace(&mut self.lists[index], List::EMPTY)
    }

    /// The first list beyond the window.
    pub(crate) fn first_coarse(&self) -> Option<Coarse> {
        let level = self.coarse.iter().position(|lists| *lists != 0)?;
        let digit = self.coarse[level].trailing_zeros();
        let low = level as u32 * DIGIT;
        let above = self.last >> (low + DIGIT) << (low + DIGIT);
        let start = above | (u64::from(digit) << low);
        let index = (2 << self.block) + level * LISTS + digit as usize;
        Some(Coarse { start, index })
    }

    pub(crate) fn list_coarse(&self, list: &Coarse) -> List {
        self.lists[list.index]
    }

    /// Empties a list beyond the window.
    pub(crate) fn take_coarse(&mut self, list: &Coarse) -> List {
        let index = list.index - (2 << self.block);
        self.coarse[index / LISTS] &= !(1 << (index % LISTS));
        core::mem::replace(&mut self.lists[list.index], List::EMPTY)
    }

    /// Moves the window on, to end with block `target` or, if a list beyond it comes sooner, with
    /// that one's first block. The window's first block must be empty, both when it moves by
    /// more. Answers the list that was reached; its streams are to be inserted again.
    pub(crate) fn advance(&mut self, target: u64) -> List {
        match self.first_coarse().filter(|list| list.start <= target) {
            Some(list) => {
                let streams = self.take_coarse(&list);
                self.last = list.start;
                streams
            }
            None => {
                self.last = target;
                List::EMPTY
            }
        }
    }
}
