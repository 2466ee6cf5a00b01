//! The class with the longest queue relative to its weight.

use alloc::{boxed::Box, vec};

use super::shares::Shares;
use crate::edf::tournament::{Tournament, Wide};

/// Above every backlog, so that the longest has the least key.
const TOP: i128 = i128::MAX - 1;

/// Queued work by class, with the longest queue relative to weight.
///
/// The longest queue is needed only when the buffer is full, so the order is kept lazily: the
/// tournament holds upper bounds. Growth beyond its bound raises a class at once, shrinking leaves
/// the bound, and a query corrects the bounds that come first.
#[derive(Clone, Debug)]
pub(super) struct Longest {
    bytes: Box<[u64]>,
    bounds: Tournament<Wide>,
}

impl Longest {
    pub(super) fn new(classes: usize) -> Longest {
        Longest { bytes: vec![0; classes].into_boxed_slice(), bounds: Tournament::new(classes) }
    }

    /// Wire bytes of a class that wait.
    #[inline]
    pub(super) fn bytes(&self, class: usize) -> u64 {
        self.bytes[class]
    }

    #[inline]
    pub(super) fn add(&mut self, class: usize, wire: u32, shares: &Shares) {
        self.bytes[class] += u64::from(wire);
        let key = TOP - shares.normalised(class, self.bytes[class]);
        if self.bounds.entered(class).get().is_none_or(|(bound, _)| key < bound) {
            self.bounds.set(class, Wide::new(key, class));
        }
    }

    #[inline]
    pub(super) fn subtract(&mut self, class: usize, wire: u32) {
        self.bytes[class] -= u64::from(wire);
    }

    /// The longest among the classes for which `waits` holds; the first of equals.
    pub(super) fn longest(
        &mut self,
        shares: &Shares,
        waits: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        loop {
            let (bound, class) = self.bounds.winner().get()?;
            let key = TOP - shares.normalised(class, self.bytes[class]);
            if !waits(class) {
                self.bounds.withdraw(class);
            } else if key == bound {
                return Some(class);
            } else {
                self.bounds.set(class, Wide::new(key, class));
            }
        }
    }
}
