//! The end that writes.

use core::fmt;

use super::{Full, Ring};
use crate::index::{next, used};
use crate::sync::{Arc, Ordering};

/// The end of a ring that values go in at. There is one; it can move to another thread.
pub struct Producer<T> {
    ring: Arc<Ring<T>>,
    /// The ring's back, or ahead of it within a batch.
    back: usize,
    /// The ring's front when it was last looked at: never ahead of it. Looking again only when the
    /// ring seems full saves most transfers of the consumer's cache line.
    front: usize,
}

impl<T> Producer<T> {
    pub(super) fn new(ring: Arc<Ring<T>>) -> Producer<T> {
        Producer { ring, back: 0, front: 0 }
    }

    /// Adds a value, or gives it back when the ring is full.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), Full<T>> {
        let after = self.after();
        if after == self.front {
            self.front = self.ring.front.0.load(Ordering::Acquire);
            if after == self.front {
                return Err(Full(value));
            }
        }
        // SAFETY: back is not the last slot before front, so it is free and the producer's.
        unsafe { self.ring.write(self.back, value) };
        self.back = after;
        self.publish();
        Ok(())
    }

    /// Adds values until the iterator ends or the ring is full, and shows them to the consumer all
    /// at once. Returns how many; what did not fit stays in the iterator.
    pub fn push_iter(&mut self, values: &mut impl Iterator<Item = T>) -> usize {
        self.front = self.ring.front.0.load(Ordering::Acquire);
        let mut pushed = 0;
        while self.after() != self.front {
            // Should this panic, what went in before goes out with the next value or the drop.
            let Some(value) = values.next() else { break };
            // SAFETY: as in `push`.
            unsafe { self.ring.write(self.back, value) };
            self.back = self.after();
            pushed += 1;
        }
        self.publish();
        pushed
    }

    /// Adds as many of the first values as there is room for, all at once; returns how many.
    pub fn push_slice(&mut self, values: &[T]) -> usize
    where
        T: Copy,
    {
        self.push_iter(&mut values.iter().copied())
    }

    /// How many values can certainly be added now.
    pub fn free(&self) -> usize {
        self.capacity() - self.len()
    }

    /// How many values wait; the consumer may be taking some.
    pub fn len(&self) -> usize {
        let front = self.ring.front.0.load(Ordering::Acquire);
        used(front, self.back, self.ring.slots.len())
    }

    /// Whether no value waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many values the ring holds at most.
    pub fn capacity(&self) -> usize {
        self.ring.slots.len() - 1
    }

    /// Whether the consumer is dropped, so that nothing will be read any more.
    pub fn is_closed(&self) -> bool {
        self.ring.closed.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn after(&self) -> usize {
        next(self.back, self.ring.slots.len())
    }

    /// Hands the slots before back to the consumer.
    #[inline(always)]
    fn publish(&mut self) {
        self.ring.back.0.store(self.back, Ordering::Release);
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.publish();
        // After the last value: a consumer that sees this sees all values.
        self.ring.closed.store(true, Ordering::Release);
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, capacity) = (self.len(), self.capacity());
        f.debug_struct("Producer").field("len", &len).field("capacity", &capacity).finish()
    }
}
