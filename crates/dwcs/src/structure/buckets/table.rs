//! Which bucket a tolerance has.

use alloc::vec;
use alloc::vec::Vec;

/// A hash table with open addressing, at most half full. Look-ups are for present keys only, never
/// in what order.
#[derive(Clone, Debug)]
pub(super) struct Table {
    places: Vec<(u64, u32)>,
    shift: u32,
}

const VACANT: u64 = u64::MAX;

impl Table {
    /// Room for `count` tolerances.
    pub(super) fn new(count: usize) -> Table {
        let size = (2 * count).next_power_of_two().max(2);
        Table { places: vec![(VACANT, 0); size], shift: u64::BITS - size.ilog2() }
    }

    pub(super) fn clear(&mut self) {
        self.places.fill((VACANT, 0));
    }

    /// Where a tolerance is, or where it would be.
    #[inline]
    fn place(&self, urgency: u64) -> usize {
        // Fibonacci hashing (Knuth, volume 3, section 6.4).
        let mut place = (urgency.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        while self.places[place].0 != urgency && self.places[place].0 != VACANT {
            place = (place + 1) % self.places.len();
        }
        place
    }

    #[inline]
    pub(super) fn find(&self, urgency: u64) -> Option<u32> {
        let (found, number) = self.places[self.place(urgency)];
        (found == urgency).then_some(number)
    }

    /// Adds a tolerance that is not there.
    pub(super) fn insert(&mut self, urgency: u64, number: u32) {
        let place = self.place(urgency);
        self.places[place] = (urgency, number);
    }
}
