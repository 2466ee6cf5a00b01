//! The rotation of flows that have used their quantum, without rounds in which they could not send.
//!
//! DRR (Shreedhar and Varghese, "Efficient fair queuing using deficit round-robin", 1995) visits
//! every flow in every round, also those whose deficit stays negative: where `n` flows of a host
//! share its quantum, each would be visited `n` times for a packet. Here a flow enters the round in
//! which its deficit will be positive, so each visit sends. The rounds ahead are a ring of lists,
//! with a bitmap of those in use.

use alloc::{boxed::Box, vec};

/// Rounds ahead that are kept apart, a power of two. A flow that needs more is visited in between.
pub(crate) const ROUNDS: usize = 1024;

/// No flow.
pub(super) const NONE: u32 = u32::MAX;

/// A FIFO of flows, linked through a table of successors.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    first: u32,
    last: u32,
}

impl List {
    pub(super) const EMPTY: List = List { first: NONE, last: NONE };

    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        (self.first != NONE).then_some(self.first as usize)
    }

    #[inline]
    pub(super) fn push(&mut self, flow: usize, next: &mut [u32]) {
        next[flow] = NONE;
        match next.get_mut(self.last as usize) {
            Some(last) => *last = flow as u32,
            None => self.first = flow as u32,
        }
        self.last = flow as u32;
    }

    #[inline]
    pub(super) fn pop(&mut self, next: &[u32]) {
        if let Some(flow) = self.first() {
            self.first = next[flow];
            if self.first == NONE {
                self.last = NONE;
            }
        }
    }
}

/// The present round and those ahead.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    lists: Box<[List]>,
    used: [u64; ROUNDS / 64],
    present: usize,
}

impl Rounds {
    pub(super) fn new() -> Rounds {
        let lists = vec![List::EMPTY; ROUNDS].into_boxed_slice();
        Rounds { lists, used: [0; ROUNDS / 64], present: 0 }
    }

    /// Whether no flow is in any round.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.used.iter().all(|word| *word == 0)
    }

    /// The next flow; begins the next round that has one when the present one is done.
    #[inline]
    pub(super) fn first(&mut self) -> Option<usize> {
        if let Some(flow) = self.lists[self.present].first() {
            return Some(flow);
        }
        self.present = self.next_used()?;
        self.lists[self.present].first()
    }

    fn next_used(&self) -> Option<usize> {
        let (word, bit) = (self.present / 64, self.present % 64);
        let ahead = self.used[word] & (!0 << bit);
        if ahead != 0 {
            return Some(word * 64 + ahead.trailing_zeros() as usize);
        }
        let words = (1..=self.used.len()).map(|i| (word + i) % self.used.len());
        let used = words.map(|w| (w, self.used[w])).find(|(_, bits)| *bits != 0);
        used.map(|(w, bits)| w * 64 + bits.trailing_zeros() as usize)
    }

    /// Adds a flow to the round `ahead` rounds after the present one, below [`ROUNDS`].
    #[inline]
    pub(super) fn push(&mut self, flow: usize, ahead: usize, next: &mut [u32]) {
        let round = (self.present + ahead) % ROUNDS;
        self.lists[round].push(flow, next);
        self.used[round / 64] |= 1 << (round % 64);
    }

    /// Removes the flow that [`first`](Self::first) returned.
    #[inline]
    pub(super) fn pop(&mut self, next: &[u32]) {
        let round = self.present;
        self.lists[round].pop(next);
        if self.lists[round].first().is_none() {
            self.used[round / 64] &= !(1 << (round % 64));
        }
    }
}
