//! A bounded ring with one producer and one consumer, without locks.
//!
//! The circular queue of DWCS (section 4): the producer writes a slot and then moves back on, the
//! consumer reads a slot and then moves front on, and neither ever waits for the other. Every
//! operation ends after a fixed number of steps, whatever the other end does.
//!
//! A ring for `n` values has `n + 1` slots, for any `n`. Rounding up to a power of two would turn
//! a comparison into a mask, which measures the same, and could double the memory of a server
//! that has a ring for each of a million streams.
//!
//! ```
//! let (mut producer, mut consumer) = laxity_ring::spsc::channel(2);
//! producer.push("a")?;
//! producer.push("b")?;
//! assert_eq!(producer.push("c").unwrap_err().0, "c");
//! assert_eq!(consumer.peek(), Some(&"a"));
//! assert_eq!(consumer.pop(), Some("a"));
//! # Ok::<(), laxity_ring::spsc::Full<&str>>(())
//! ```

use alloc::boxed::Box;
use core::fmt;
use core::mem::{MaybeUninit, needs_drop};

use crate::index::next;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Ordering, UnsafeCell};

mod consumer;
mod producer;

pub use consumer::{Consumer, Drain};
pub use producer::Producer;

/// Makes a ring that holds up to `capacity` values, and its two ends.
///
/// Allocates all memory: `capacity + 1` slots.
///
/// # Panics
///
/// When that is more memory than can be addressed, as [`Vec::with_capacity`](alloc::vec::Vec).
pub fn channel<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let slots = capacity.checked_add(1).expect("capacity overflow");
    let ring = Arc::new(Ring {
        back: Padded(AtomicUsize::new(0)),
        front: Padded(AtomicUsize::new(0)),
        closed: AtomicBool::new(false),
        slots: (0..slots).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
    });
    (Producer::new(Arc::clone(&ring)), Consumer::new(ring))
}

/// The ring has no free slot; holds the value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> fmt::Debug for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Full(..)")
    }
}

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ring is full; take from its other end first")
    }
}

impl<T> core::error::Error for Full<T> {}

/// Alone on its cache lines, so that one end's writes do not take the other's index away. Two
/// lines, because processors fetch them in pairs.
#[repr(align(128))]
struct Padded(AtomicUsize);

type Slot<T> = UnsafeCell<MaybeUninit<T>>;

/// State shared by both ends.
///
/// Slots from front up to back (wrapping) hold values and belong to the consumer; the others hold
/// nothing and belong to the producer. A slot changes hands when its old owner stores an index
/// with `Release` and its new one loads it with `Acquire`.
struct Ring<T> {
    /// Position of the next value; only the producer writes it.
    back: Padded,
    /// Where the oldest value is; only the consumer writes it.
    front: Padded,
    /// One of the two ends is dropped.
    closed: AtomicBool,
    slots: Box<[Slot<T>]>,
}

// SAFETY: through a shared reference a slot is only touched by the end that owns it (see above),
// which is one thread at a time; so a value is sent to another thread, never shared between two.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    /// Moves `value` into the slot at `index`.
    ///
    /// # Safety
    ///
    /// The caller is the producer's end, and the slot is its own.
    #[inline(always)]
    unsafe fn write(&self, index: usize, value: T) {
        self.slots[index].with_mut(|slot| {
            // SAFETY: no other code touches a slot of the producer, by the caller's promise.
            unsafe { (*slot).write(value) };
        });
    }

    /// Moves the value out of the slot at `index`.
    ///
    /// # Safety
    ///
    /// The caller is the consumer's end, the slot is its own, and it gives the slot up or never
    /// reads it again.
    #[inline(always)]
    unsafe fn read(&self, index: usize) -> T {
        // SAFETY: a slot of the consumer's holds a value and no other code touches it; by the
        // caller's promise it is moved out once.
        self.slots[index].with(|slot| unsafe { (*slot).assume_init_read() })
    }

    /// The value in the slot at `index`.
    ///
    /// # Safety
    ///
    /// The caller is the consumer's end, and the slot is its own as long as the reference lives.
    #[inline(always)]
    unsafe fn get(&self, index: usize) -> &T {
        // SAFETY: a slot of the consumer's holds a value, and by the caller's promise it stays.
        self.slots[index].with(|slot| unsafe { (*slot).assume_init_ref() })
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        if !needs_drop::<T>() {
            return;
        }
        // Both ends are dropped: the count of the shared ownership has put what they did before this.
        let back = self.back.0.load(Ordering::Relaxed);
        let mut front = self.front.0.load(Ordering::Relaxed);
        while front != back {
            // SAFETY: there are no ends any more; from front to back the slots hold values, and
            // each is passed once.
            drop(unsafe { self.read(front) });
            front = next(front, self.slots.len());
        }
    }
}
