//! The streams of one tolerance, by deadline.

use super::super::timed::{Chunks, Entry, List, Run, Streams};
use crate::Rank;

/// Ticks that a bucket's streams may span.
pub(super) const TICKS: u64 = 64;

/// Records are prefetched when this many others precede them.
const AHEAD: usize = 4;

/// Lists for some successive ticks, the first of which has the stream that goes first at its end.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pub(super) urgency: u64,
    /// The first tick that has a list.
    first: u64,
    /// Which ticks have lists, by their numbers modulo 64.
    used: u64,
    pub(super) head: Entry,
    lists: [List; TICKS as usize],
    /// The first tick's list is in falling order from the key `greatest`.
    sorted: bool,
    greatest: u64,
    /// Streams of the first tick that came since, with keys beyond `greatest`: where gaps are
    /// equal, all that come do.
    late: List,
    /// How many streams the list had when it was put in order, and how many left it since.
    arranged: usize,
    popped: usize,
}

impl Bucket {
    pub(super) fn new(urgency: u64) -> Bucket {
        Bucket {
            urgency,
            first: 0,
            used: 0,
            head: Entry::default(),
            lists: [List::EMPTY; TICKS as usize],
            sorted: false,
            greatest: 0,
            late: List::EMPTY,
            arranged: 0,
            popped: 0,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Whether the bucket has a list for a tick.
    #[inline]
    pub(super) fn spans(&self, tick: u64) -> bool {
        if self.used == 0 || tick >= self.first {
            return self.used == 0 || tick - self.first < TICKS;
        }
        let last = self.first + (63 - u64::from(self.used_in_order().leading_zeros()));
        last - tick < TICKS
    }

    /// The used ticks from the first on.
    #[inline]
    fn used_in_order(&self) -> u64 {
        self.used.rotate_right((self.first % TICKS) as u32)
    }

    /// Adds a stream; answers whether it is the head now, or `None` when there is no place for it:
    /// no chunk is left, or a long list would have to be put in order again and again.
    #[inline]
    pub(super) fn insert(
        &mut self,
        chunks: &mut Chunks,
        tick: u64,
        entry: Entry,
        precedes: impl FnOnce(&Entry, &Entry) -> bool,
    ) -> Option<bool> {
        if self.used == 0 || tick < self.first {
            let list = &mut self.lists[(tick % TICKS) as usize];
            chunks.try_push(list, entry)?;
            if !self.late.is_empty() && !chunks.has_spare() {
                chunks.pop(list);
                return None;
            }
            self.join_late(chunks);
            (self.first, self.head) = (tick, entry);
            (self.sorted, self.greatest) = (true, entry.key);
            (self.arranged, self.popped) = (1, 1);
            self.used |= 1 << (tick % TICKS);
            return Some(true);
        }
        let list = &mut self.lists[(tick % TICKS) as usize];
        if tick > self.first {
            chunks.try_push(list, entry)?;
            self.used |= 1 << (tick % TICKS);
            return Some(false);
        }
        if precedes(&entry, &self.head) {
            chunks.try_push(list, entry)?;
            self.head = entry;
            return Some(true);
        }
        // Keys beyond those that came late, in order or not, stay out of the list.
        if entry.key > self.greatest && (self.sorted || !self.late.is_empty()) {
            chunks.try_push(&mut self.late, entry)?;
            return Some(false);
        }
        if self.sorted && self.popped < self.arranged / 4 {
            return None;
        }
        chunks.try_push(list, entry)?;
        chunks.replace_last(*list, entry, self.head);
        self.sorted = false;
        Some(false)
    }

    /// Puts those that came late to the others of the first tick. There must be a spare chunk:
    /// more are not needed, since theirs become free.
    fn join_late(&mut self, chunks: &mut Chunks) {
        let list = &mut self.lists[(self.first % TICKS) as usize];
        while let Some(entry) = chunks.pop(&mut self.late) {
            chunks.push(list, entry);
        }
    }

    /// Takes out the head and finds the next one. Keys of a tick differ in so many `bits`.
    #[inline]
    pub(super) fn pop(
        &mut self,
        rank: &Rank,
        streams: &mut Streams,
        chunks: &mut Chunks,
        scratch: &mut Run,
        bits: u32,
    ) {
        chunks.pop(&mut self.lists[(self.first % TICKS) as usize]);
        self.popped += 1;
        while self.used != 0 {
            let list = &mut self.lists[(self.first % TICKS) as usize];
            if self.sorted && list.is_empty() && !self.late.is_empty() {
                *list = core::mem::replace(&mut self.late, List::EMPTY);
                self.sorted = false;
            }
            if !self.sorted && !list.is_empty() {
                arrange(rank, streams, chunks, scratch, list, bits);
                let order = scratch.rest();
                self.sorted = true;
                if self.late.is_empty() {
                    self.greatest = order.last().map_or(0, |entry| entry.key);
                }
                (self.arranged, self.popped) = (order.len(), 0);
            }
            if let Some(last) = chunks.last(*list) {
                if streams.is_live(&last) {
                    self.head = last;
                    if let Some(next) = chunks.near_last(*list, AHEAD) {
                        streams.prefetch(next.slot);
                    }
                    streams.prefetch(last.slot);
                    return;
                }
                chunks.pop(list);
                streams.stale_entries -= 1;
                continue;
            }
            if !self.late.is_empty() {
                self.sorted = true;
                continue;
            }
            self.used &= !(1 << (self.first % TICKS));
            self.sorted = false;
            // Saturates only when no tick is used, at the last instants: then no first one is needed.
            let ahead = self.used_in_order().trailing_zeros();
            self.first = self.first.saturating_add(u64::from(ahead));
        }
    }
}

/// Puts a list in falling order, without stale entries.
fn arrange(
    rank: &Rank,
    streams: &mut Streams,
    chunks: &mut Chunks,
    scratch: &mut Run,
    list: &mut List,
    bits: u32,
) {
    scratch.load(chunks, core::mem::replace(list, List::EMPTY), bits);
    scratch.settle_ties(rank, &streams.records);
    for entry in scratch.rest().iter().take(AHEAD) {
        streams.prefetch(entry.slot);
    }
    for entry in scratch.rest().iter().rev() {
        // There is room: the list has just freed its chunks.
        chunks.push(list, *entry);
    }
}
