//! The children of one inner node: which is next, and their virtual time.

use alloc::boxed::Box;

use crate::edf::tournament::{Match, Tournament, Wide};

/// Above every start, so that the greatest start has the least key.
const TOP: i128 = i128::MAX - 1;

/// Children by place, with the node that each is.
#[derive(Clone, Debug)]
pub(super) struct Family {
    /// The inner node itself.
    pub(super) node: usize,
    children: Box<[usize]>,
    /// The children that may be sent from, by their keys.
    choice: Tournament<Pair>,
    /// Active children by start, and by start from the greatest.
    earliest: Tournament<Wide>,
    latest: Tournament<Wide>,
    /// The greatest start that a child has had.
    greatest: i128,
}

impl Family {
    pub(super) fn new(node: usize, children: Box<[usize]>) -> Family {
        let count = children.len();
        Family {
            node,
            children,
            choice: Tournament::new(count),
            earliest: Tournament::new(count),
            latest: Tournament::new(count),
            greatest: 0,
        }
    }

    /// Nothing waits any more.
    pub(super) fn forget(&mut self) {
        self.greatest = 0;
    }

    /// Where a child begins that becomes active now.
    pub(super) fn virtual_time(&self) -> i128 {
        match (self.earliest.winner().get(), self.latest.winner().get()) {
            (Some((least, _)), Some((key, _))) => {
                let greatest = TOP - key;
                least + (greatest - least) / 2
            }
            _ => self.greatest,
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.earliest.winner().get().is_some()
    }

    /// The start of an active child.
    pub(super) fn starts(&mut self, place: usize, start: i128) {
        self.earliest.set(place, Wide::new(start, place));
        self.latest.set(place, Wide::new(TOP - start, place));
        self.greatest = self.greatest.max(start);
    }

    pub(super) fn leave(&mut self, place: usize) {
        self.earliest.withdraw(place);
        self.latest.withdraw(place);
        self.choice.withdraw(place);
    }

    pub(super) fn offer(&mut self, place: usize, key: (i128, i128)) {
        self.choice.set(place, Pair { key, place: place as u32 });
    }

    pub(super) fn refuse(&mut self, place: usize) {
        self.choice.withdraw(place);
    }

    /// The child with the least key.
    pub(super) fn choice(&self) -> Option<usize> {
        self.children.get(self.choice.winner().place as usize).copied()
    }
}

/// Two keys and the place, compared in this order.
#[derive(Clone, Copy, Debug)]
struct Pair {
    key: (i128, i128),
    place: u32,
}

impl Match for Pair {
    const NOBODY: Pair = Pair { key: (i128::MAX, i128::MAX), place: u32::MAX };

    #[inline]
    fn against(self, rival: Pair) -> Pair {
        if (rival.key, rival.place) < (self.key, self.place) { rival } else { self }
    }
}
