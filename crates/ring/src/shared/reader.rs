//! The consumer's end, which believes nothing.

use core::fmt;

use super::error::{Fault, OpenError, PopError};
use super::shape::{MAGIC, Shape, word};
use super::words;
use crate::index::{next, used};
use crate::sync::{AtomicU64, Ordering};

/// The producer's claims about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Whatever the producer gave with it, usually when it arrived: a claim.
    pub stamp: u64,
    /// Its length, checked.
    pub bytes: u32,
}

/// The consumer's end of a ring in memory `M`, usually [`Consumer`](super::Consumer).
pub struct Reader<M: AsRef<[AtomicU64]>> {
    memory: M,
    shape: Shape,
    /// Its own position. The copy in memory is for the producer and never read.
    front: usize,
    /// The producer's position when it was last looked at, checked.
    back: usize,
    /// The head as it was read once, so that it stays as it was checked.
    head: Option<Head>,
    fault: Option<Fault>,
    violations: u64,
    gone: bool,
}

impl<M: AsRef<[AtomicU64]>> Reader<M> {
    /// Makes an empty ring of `memory`, which must be large enough.
    pub fn new(memory: M, shape: Shape) -> Result<Reader<M>, OpenError> {
        let words = memory.as_ref();
        let bytes = 8 * words.len() as u64;
        if bytes < shape.memory() {
            return Err(OpenError::Size { bytes, shape });
        }
        words[word::PACKETS].store(shape.packets().into(), Ordering::Relaxed);
        words[word::BYTES].store(shape.bytes().into(), Ordering::Relaxed);
        words[word::MAGIC].store(MAGIC, Ordering::Release);
        let mut reader = Reader {
            memory,
            shape,
            front: 0,
            back: 0,
            head: None,
            fault: None,
            violations: 0,
            gone: false,
        };
        reader.reset();
        Ok(reader)
    }

    /// The producer's claims about the oldest packet, which stays. Repeated calls return the
    /// same until the packet is popped, whatever the producer writes.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<Head>, Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.head.is_none() {
            if self.front == self.back {
                self.back = self.load_back()?;
            }
            if self.front != self.back {
                self.head = Some(self.read_head()?);
            }
        }
        Ok(self.head)
    }

    /// Pops the oldest packet; its body is then in the first bytes of `place`.
    #[inline]
    pub fn pop(&mut self, place: &mut [u8]) -> Result<Option<Head>, PopError> {
        let Some(head) = self.peek()? else { return Ok(None) };
        let place = place.get_mut(..head.bytes as usize);
        let place = place.ok_or(PopError::Small { bytes: head.bytes })?;
        let slot = &self.memory.as_ref()[self.shape.slot(self.front)];
        words::load(&slot[2..], place);
        self.advance();
        Ok(Some(head))
    }

    /// Pops the oldest packet without its body, as when it is too late to be sent.
    #[inline]
    pub fn skip(&mut self) -> Result<Option<Head>, Fault> {
        let head = self.peek()?;
        if head.is_some() {
            self.advance();
        }
        Ok(head)
    }

    /// Number of waiting packets, as the producer claims; none when the ring is broken.
    pub fn waiting(&mut self) -> usize {
        let back = if self.fault.is_none() { self.load_back() } else { Ok(self.front) };
        back.map_or(0, |back| used(self.front, back, self.shape.slots()))
    }

    /// The ring's shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Why the ring is broken, if it is.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// How often the producers of this ring broke the rules; each time breaks the ring.
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// Whether the producer ended: it closed the ring, or [`mark_gone`](Reader::mark_gone) was called.
    /// When a pop *after* this returns true finds nothing, an honest producer sends nothing more.
    pub fn is_closed(&self) -> bool {
        self.gone || self.memory.as_ref()[word::PRODUCER_CLOSED].load(Ordering::Acquire) != 0
    }

    /// To be called when the producer is known to be gone: its connection hung up, or its pidfd
    /// became readable. Its published packets can still be read.
    pub fn mark_gone(&mut self) {
        self.gone = true;
    }

    /// Empties the ring and mends it, for a new producer that is to get the descriptor after this.
    /// Returns how many packets waited and are now dropped.
    pub fn restart(&mut self) -> usize {
        let dropped = self.waiting();
        self.reset();
        dropped
    }

    fn reset(&mut self) {
        (self.back, self.head, self.fault, self.gone) = (self.front, None, None, false);
        let words = self.memory.as_ref();
        words[word::PRODUCER_CLOSED].store(0, Ordering::Relaxed);
        words[word::FRONT].store(self.front as u64, Ordering::Release);
        words[word::BACK].store(self.front as u64, Ordering::Release);
    }

    /// The producer's position.
    #[inline]
    fn load_back(&mut self) -> Result<usize, Fault> {
        let position = self.memory.as_ref()[word::BACK].load(Ordering::Acquire);
        let slots = self.shape.slots();
        match usize::try_from(position) {
            Ok(back) if back < slots => Ok(back),
            _ => Err(self.broken(Fault::Position { position, slots })),
        }
    }

    #[inline]
    fn read_head(&mut self) -> Result<Head, Fault> {
        let slot = &self.memory.as_ref()[self.shape.slot(self.front)];
        let stamp = slot[0].load(Ordering::Relaxed);
        let length = slot[1].load(Ordering::Relaxed);
        let most = self.shape.bytes();
        match u32::try_from(length) {
            Ok(bytes) if bytes <= most => Ok(Head { stamp, bytes }),
            _ => Err(self.broken(Fault::Length { bytes: length, most })),
        }
    }

    #[cold]
    fn broken(&mut self, fault: Fault) -> Fault {
        self.violations += 1;
        self.head = None;
        self.fault = Some(fault);
        fault
    }

    #[inline]
    fn advance(&mut self) {
        self.head = None;
        self.front = next(self.front, self.shape.slots());
        // After the loads of the body: the producer may now write there.
        self.memory.as_ref()[word::FRONT].store(self.front as u64, Ordering::Release);
    }
}

impl<M: AsRef<[AtomicU64]>> Drop for Reader<M> {
    fn drop(&mut self) {
        self.memory.as_ref()[word::CONSUMER_CLOSED].store(1, Ordering::Release);
    }
}

impl<M: AsRef<[AtomicU64]>> fmt::Debug for Reader<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("shape", &self.shape)
            .field("fault", &self.fault)
            .field("violations", &self.violations)
            .finish_non_exhaustive()
    }
}
