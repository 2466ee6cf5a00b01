//! The streams of one tolerance, by deadline.

use super::super::timed::{Chunks, Entry, List, Run, Streams};
use crate::Rank;

/// Ticks that a bucket's streams may span.
pub(super) const TICKS: u64 = 64;

/// Records are asked for when so many others come before.
const AHEAD: usize = 4;

/// Lists for some successive ticks, the first of which has the stream that goes first at its end.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pub(super) urgency: u64,
    /// The first tick that has a list.
    first: u64,
    /// Which ticks have lists, by their numbers modulo 64.
    used: u64,
    /// The first tick's list is in falling order.
    sorted: bool,
    pub(super) head: Entry,
    lists: [List; TICKS as usize],
}

impl Bucket {
    pub(super) fn new(urgency: u64) -> Bucket {
        Bucket {
            urgency,
            first: 0,
            used: 0,
            sorted: false,
            head: Entry::default(),
            lists: [List::EMPTY; TICKS as usize],
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
        let last = self.first + 63 - u64::from(self.used_in_order().leading_zeros());
        last - tick < TICKS
    }

    /// The used ticks from the first on.
    #[inline]
    fn used_in_order(&self) -> u64 {
        self.used.rotate_right((self.first % TICKS) as u32)
    }

    /// Adds a stream; answers whether it is the head now, or `None` when there is no chunk for it.
    #[inline]
    pub(super) fn insert(
        &mut self,
        chunks: &mut Chunks,
        tick: u64,
        entry: Entry,
        precedes: impl FnOnce(&Entry, &Entry) -> bool,
    ) -> Option<bool> {
        let list = &mut self.lists[(tick % TICKS) as usize];
        let foremost = self.used == 0 || tick < self.first;
        let becomes_head = foremost || tick == self.first && precedes(&entry, &self.head);
        chunks.try_push(list, entry)?;
        if becomes_head {
            self.sorted |= foremost;
            self.first = tick;
            self.head = entry;
        } else if tick == self.first {
            chunks.replace_last(*list, entry, self.head);
            self.sorted = false;
        }
        self.used |= 1 << (tick % TICKS);
        Some(becomes_head)
    }

    /// Takes out the head and finds the next one.
    #[inline]
    pub(super) fn pop(
        &mut self,
        rank: &Rank,
        streams: &mut Streams,
        chunks: &mut Chunks,
        scratch: &mut Run,
    ) {
        chunks.pop(&mut self.lists[(self.first % TICKS) as usize]);
        while self.used != 0 {
            let list = &mut self.lists[(self.first % TICKS) as usize];
            if !self.sorted {
                arrange(rank, streams, chunks, scratch, list);
                self.sorted = true;
            }
            if let Some(last) = chunks.last(*list) {
                if streams.is_live(&last) {
                    self.head = last;
                    if let Some(next) = chunks.near_last(*list, AHEAD) {
                        streams.prefetch(next.slot);
                    }
                    return;
                }
                chunks.pop(list);
                streams.ghosts -= 1;
                continue;
            }
            self.used &= !(1 << (self.first % TICKS));
            self.sorted = false;
            self.first += u64::from(self.used_in_order().trailing_zeros());
        }
    }
}

/// Puts a list in falling order, without ghosts.
fn arrange(
    rank: &Rank,
    streams: &mut Streams,
    chunks: &mut Chunks,
    scratch: &mut Run,
    list: &mut List,
) {
    scratch.load(chunks, core::mem::replace(list, List::EMPTY));
    scratch.settle_ties(rank, &streams.records);
    for entry in scratch.rest().iter().rev() {
        // It has just given up a chunk for each that it needs.
        let _ = chunks.try_push(list, *entry);
    }
}
