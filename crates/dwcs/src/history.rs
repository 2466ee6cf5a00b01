//! The last y slots of a stream, bit by bit.

use alloc::boxed::Box;
use alloc::vec;

use crate::Tolerance;

/// A ring of `y` bits, set where a deadline was missed: exact sliding windows.
#[derive(Clone, Debug)]
pub(crate) struct History {
    bits: Box<[u64]>,
    tolerance: Tolerance,
    /// Where the next slot goes.
    next: u16,
    /// The whole window has been seen.
    full: bool,
    misses: u16,
}

impl History {
    pub(crate) fn new(tolerance: Tolerance) -> History {
        let words = usize::from(tolerance.y()).div_ceil(64);
        let bits = vec![0; words].into_boxed_slice();
        History { bits, tolerance, next: 0, full: false, misses: 0 }
    }

    /// A slot was met; answers whether the window that ends with it is violated.
    #[inline]
    pub(crate) fn met(&mut self) -> bool {
        self.push(false);
        self.full && self.overfull()
    }

    /// Deadlines were missed; answers how many of them overfilled the last `y` slots, and how many
    /// windows that end with them are violated.
    pub(crate) fn missed(&mut self, count: u64) -> (u64, u64) {
        let y = u64::from(self.tolerance.y());
        let (mut at_miss, mut sliding) = (0, 0);
        for _ in 0..count.min(y) {
            self.push(true);
            at_miss += u64::from(self.overfull());
            sliding += u64::from(self.full && self.overfull());
        }
        // From here on the ring holds nothing but misses, and turning it changes nothing.
        let rest = if self.overfull() { count - count.min(y) } else { 0 };
        (at_miss + rest, sliding + rest)
    }

    /// How many further misses in a row, with no slot met between them, would violate the last `y`
    /// slots; 0 when they are violated already. Slots that never were count as met.
    pub(crate) fn distance(&self) -> u16 {
        let (x, y) = (self.tolerance.x(), self.tolerance.y());
        // Each miss pushes the oldest slot out. It makes things worse only when that was a met
        // one, and `x + 1 - misses` of these are too many.
        let mut met = (x + 1).saturating_sub(self.misses);
        let mut distance = 0;
        let mut oldest = self.next;
        while met > 0 && distance < y {
            let missed = self.bits[usize::from(oldest / 64)] & 1 << (oldest % 64) != 0;
            met -= u16::from(!missed);
            distance += 1;
            oldest = if oldest + 1 == y { 0 } else { oldest + 1 };
        }
        distance
    }

    fn overfull(&self) -> bool {
        self.misses > self.tolerance.x()
    }

    fn push(&mut self, missed: bool) {
        let y = self.tolerance.y();
        if y == 0 {
            return;
        }
        let (word, bit) = (usize::from(self.next / 64), 1 << (self.next % 64));
        let old = self.bits[word] & bit != 0;
        self.bits[word] = if missed { self.bits[word] | bit } else { self.bits[word] & !bit };
        self.misses = self.misses + u16::from(missed) - u16::from(old);
        self.next += 1;
        if self.next == y {
            self.next = 0;
            self.full = true;
        }
    }
}
