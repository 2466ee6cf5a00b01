//! The producer's end.

use core::fmt;

use super::error::{Fault, OpenError, PushError};
use super::shape::{MAGIC, Shape, word};
use super::words;
use crate::index::next;
use crate::sync::{AtomicU64, Ordering};

/// The producer's end of a ring in memory `M`, usually [`Producer`](super::Producer).
///
/// One at a time: two that write to one ring spoil what they send, and nothing else.
pub struct Writer<M: AsRef<[AtomicU64]>> {
    memory: M,
    shape: Shape,
    back: usize,
    /// The consumer's position when it was last looked at, checked.
    front: usize,
}

impl<M: AsRef<[AtomicU64]>> Writer<M> {
    /// The producer's end of the ring that a consumer made of `memory`.
    pub fn new(memory: M) -> Result<Writer<M>, OpenError> {
        let words = memory.as_ref();
        let load = |word: usize| words.get(word).map(|w| w.load(Ordering::Acquire));
        if load(word::MAGIC) != Some(MAGIC) {
            return Err(OpenError::NoRing);
        }
        let [packets, bytes] = [word::PACKETS, word::BYTES].map(|w| load(w).unwrap_or(0));
        let shape = Shape::read(packets, bytes).map_err(OpenError::Shape)?;
        let bytes = 8 * words.len() as u64;
        if bytes < shape.memory() {
            return Err(OpenError::Size { bytes, shape });
        }
        let position = |word| position(words, word, shape).map_err(OpenError::Broken);
        let (back, front) = (position(word::BACK)?, position(word::FRONT)?);
        Ok(Writer { memory, shape, back, front })
    }

    /// Adds a packet. `stamp` goes with it, usually its arrival.
    #[inline]
    pub fn push(&mut self, stamp: u64, body: &[u8]) -> Result<(), PushError> {
        if body.len() > self.shape.bytes() as usize {
            return Err(PushError::Long { bytes: body.len(), most: self.shape.bytes() });
        }
        let words = self.memory.as_ref();
        let after = next(self.back, self.shape.slots());
        if after == self.front {
            self.front = position(words, word::FRONT, self.shape).map_err(PushError::Broken)?;
            if after == self.front {
                return Err(PushError::Full);
            }
        }
        let slot = &words[self.shape.slot(self.back)];
        slot[0].store(stamp, Ordering::Relaxed);
        slot[1].store(body.len() as u64, Ordering::Relaxed);
        words::store(&slot[2..], body);
        self.back = after;
        // Release order: a reader of this position sees the whole packet.
        words[word::BACK].store(after as u64, Ordering::Release);
        Ok(())
    }

    /// The ring's shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether the consumer has closed its end; if it was killed, the connection to it
    /// hangs up.
    pub fn is_closed(&self) -> bool {
        self.memory.as_ref()[word::CONSUMER_CLOSED].load(Ordering::Acquire) != 0
    }
}

/// The position in `word`, if it is one.
#[inline]
fn position(words: &[AtomicU64], word: usize, shape: Shape) -> Result<usize, Fault> {
    let (position, slots) = (words[word].load(Ordering::Acquire), shape.slots());
    match usize::try_from(position) {
        Ok(index) if index < slots => Ok(index),
        _ => Err(Fault::Position { position, slots }),
    }
}

impl<M: AsRef<[AtomicU64]>> Drop for Writer<M> {
    fn drop(&mut self) {
        // After the last packet.
        self.memory.as_ref()[word::PRODUCER_CLOSED].store(1, Ordering::Release);
    }
}

impl<M: AsRef<[AtomicU64]>> fmt::Debug for Writer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("shape", &self.shape).finish_non_exhaustive()
    }
}
