//! The end that reads.

use core::fmt;
use core::iter::FusedIterator;

use super::Ring;
use crate::index::{next, used};
use crate::sync::{Arc, Ordering};

/// The end of a ring that values come out at. There is one; it can move to another thread.
pub struct Consumer<T> {
    ring: Arc<Ring<T>>,
    /// The ring's front, or ahead of it within a batch.
    front: usize,
    /// The ring's back when it was last looked at: never ahead of it.
    back: usize,
}

impl<T> Consumer<T> {
    pub(super) fn new(ring: Arc<Ring<T>>) -> Consumer<T> {
        Consumer { ring, front: 0, back: 0 }
    }

    /// Pops the oldest value.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if !self.has_head() {
            return None;
        }
        // SAFETY: front is not back, so its slot holds a value and is the consumer's; it is given
        // up in the next two lines.
        let value = unsafe { self.ring.read(self.front) };
        self.front = next(self.front, self.ring.slots.len());
        self.publish();
        Some(value)
    }

    /// The oldest value, which stays where it is: a scheduler compares heads without taking them.
    #[inline]
    pub fn peek(&mut self) -> Option<&T> {
        if !self.has_head() {
            return None;
        }
        // SAFETY: front is not back, so its slot holds a value and is the consumer's, which is
        // borrowed mutably while the reference lives and so cannot give it up.
        Some(unsafe { self.ring.get(self.front) })
    }

    /// Pops the waiting values, oldest first; the producer gets the slots when the iterator is
    /// dropped. What has not been taken until then stays.
    pub fn drain(&mut self) -> Drain<'_, T> {
        self.back = self.ring.back.0.load(Ordering::Acquire);
        Drain { consumer: self }
    }

    /// Takes as many values as there are and as fit, into the start of `place`; returns how many.
    pub fn pop_slice(&mut self, place: &mut [T]) -> usize
    where
        T: Copy,
    {
        // The place comes first: no value is taken that has none.
        place.iter_mut().zip(self.drain()).map(|(place, value)| *place = value).count()
    }

    /// How many values wait; the producer may be adding some.
    pub fn len(&self) -> usize {
        let back = self.ring.back.0.load(Ordering::Acquire);
        used(self.front, back, self.ring.slots.len())
    }

    /// Whether no value waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many values the ring holds at most.
    pub fn capacity(&self) -> usize {
        self.ring.slots.len() - 1
    }

    /// Whether the producer is dropped. When a [`pop`](Consumer::pop) *after* this returned true finds
    /// nothing, the ring stays empty.
    pub fn is_closed(&self) -> bool {
        self.ring.closed.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn has_head(&mut self) -> bool {
        if self.front == self.back {
            self.back = self.ring.back.0.load(Ordering::Acquire);
        }
        self.front != self.back
    }

    /// Hands the slots before front to the producer.
    #[inline(always)]
    fn publish(&mut self) {
        self.ring.front.0.store(self.front, Ordering::Release);
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        // Items that a forgotten `Drain` took must not be dropped again with the ring.
        self.publish();
        self.ring.closed.store(true, Ordering::Release);
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, capacity) = (self.len(), self.capacity());
        f.debug_struct("Consumer").field("len", &len).field("capacity", &capacity).finish()
    }
}

/// Takes the values that waited when it was made: see [`Consumer::drain`].
#[derive(Debug)]
pub struct Drain<'a, T> {
    consumer: &'a mut Consumer<T>,
}

impl<T> Iterator for Drain<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let consumer = &mut *self.consumer;
        if consumer.front == consumer.back {
            return None;
        }
        // SAFETY: as in `pop`; the consumer's own front moves on at once, so that even if this
        // iterator is forgotten the value is not read again.
        let value = unsafe { consumer.ring.read(consumer.front) };
        consumer.front = next(consumer.front, consumer.ring.slots.len());
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let Consumer { ring, front, back } = &*self.consumer;
        let left = used(*front, *back, ring.slots.len());
        (left, Some(left))
    }
}

impl<T> ExactSizeIterator for Drain<'_, T> {}

impl<T> FusedIterator for Drain<'_, T> {}

impl<T> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        self.consumer.publish();
    }
}
