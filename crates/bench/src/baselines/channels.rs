//! Bounded queues from one producer to one consumer: `laxity-ring` and the usual ones.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_queue::ArrayQueue;
use laxity_ring::spsc;
use laxity_ring::sysv::Guarded;

/// Descriptor of a packet; its body lies elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// When it arrived, in nanoseconds.
    pub arrival: u64,
    /// Its length.
    pub bytes: u32,
    /// Where its body is.
    pub body: u32,
}

/// A kind of queue. Neither end waits: a full queue refuses, an empty one returns nothing.
pub trait Channel: 'static {
    /// Its name in the results.
    const NAME: &str;
    /// The producer's end.
    type In: Send + 'static;
    /// The consumer's end.
    type Out: Send + 'static;

    /// `count` queues for `capacity` packets each.
    ///
    /// # Errors
    /// When the kernel has no semaphores left.
    fn many(count: usize, capacity: usize) -> io::Result<Vec<(Self::In, Self::Out)>>;
    /// Whether there was room.
    fn push(end: &mut Self::In, packet: Descriptor) -> bool;
    /// The oldest packet.
    fn pop(end: &mut Self::Out) -> Option<Descriptor>;
}

/// A kind of queue that can be peeked, as a scheduler needs.
pub trait Heads: Channel {
    /// Pops the oldest packet; returns also the arrival of the next.
    fn take(end: &mut Self::Out) -> Option<(Descriptor, Option<u64>)>;
}

/// Ours.
#[derive(Debug)]
pub struct Ring;

impl Channel for Ring {
    const NAME: &str = "spsc";
    type In = spsc::Producer<Descriptor>;
    type Out = spsc::Consumer<Descriptor>;

    fn many(count: usize, capacity: usize) -> io::Result<Vec<(Self::In, Self::Out)>> {
        Ok((0..count).map(|_| spsc::channel(capacity)).collect())
    }

    #[inline]
    fn push(end: &mut Self::In, packet: Descriptor) -> bool {
        end.push(packet).is_ok()
    }

    #[inline]
    fn pop(end: &mut Self::Out) -> Option<Descriptor> {
        end.pop()
    }
}

impl Heads for Ring {
    #[inline]
    fn take(end: &mut Self::Out) -> Option<(Descriptor, Option<u64>)> {
        let popped = end.pop()?;
        Some((popped, end.peek().map(|next| next.arrival)))
    }
}

/// The ring of the crate `rtrb`.
#[derive(Debug)]
pub struct Rtrb;

impl Channel for Rtrb {
    const NAME: &str = "rtrb";
    type In = rtrb::Producer<Descriptor>;
    type Out = rtrb::Consumer<Descriptor>;

    fn many(count: usize, capacity: usize) -> io::Result<Vec<(Self::In, Self::Out)>> {
        Ok((0..count).map(|_| rtrb::RingBuffer::new(capacity)).collect())
    }

    #[inline]
    fn push(end: &mut Self::In, packet: Descriptor) -> bool {
        end.push(packet).is_ok()
    }

    #[inline]
    fn pop(end: &mut Self::Out) -> Option<Descriptor> {
        end.pop().ok()
    }
}

/// The bounded queue of crossbeam, which would take several producers and consumers.
#[derive(Debug)]
pub struct Crossbeam;

impl Channel for Crossbeam {
    const NAME: &str = "crossbeam";
    type In = Arc<ArrayQueue<Descriptor>>;
    type Out = Arc<ArrayQueue<Descriptor>>;

    fn many(count: usize, capacity: usize) -> io::Result<Vec<(Self::In, Self::Out)>> {
        Ok(twice((0..count).map(|_| ArrayQueue::new(capacity))))
    }

    #[inline]
    fn push(end: &mut Self::In, packet: Descriptor) -> bool {
        ArrayQueue::push(end, packet).is_ok()
    }

    #[inline]
    fn pop(end: &mut Self::Out) -> Option<Descriptor> {
        ArrayQueue::pop(end)
    }
}

/// The bounded channel of the standard library, which would take several producers.
#[derive(Debug)]
pub struct StdMpsc;

impl Channel for StdMpsc {
    const NAME: &str = "std-mpsc";
    type In = mpsc::SyncSender<Descriptor>;
    type Out = mpsc::Receiver<Descriptor>;

    fn many(count: usize, capacity: usize) -> io::Result<Vec<(Self::In, Self::Out)>> {
        Ok((0..count).map(|_| mpsc::sync_channel(capacity)).collect())
    }

    #[inline]
    fn push(end: &mut Self::In, packet: Descriptor) -> bool {
        end.try_send(packet).is_ok()
    }

    #[inline]
    fn pop(end: &mut Self::Out) -> Option<Descriptor> {
        end.try_recv().ok()
    }
}

/// A FIFO of fixed capacity, to be locked.
#[derive(Debug)]
pub struct Fifo {
    packets: VecDeque<Descriptor>,
    capacity: usize,
}

impl Fifo {
    fn new(capacity: usize) -> Fifo {
        Fifo { packets: VecDeque::with_capacity(capacity), capacity }
    }

    fn push(&mut self, packet: Descriptor) -> bool {
        let room = self.packets.len() < self.capacity;
        if room {
            self.packets.push_back(packet);
        }
        room
    }

    fn take(&mut self) -> Option<(Descriptor, Option<u64>)> {
        let popped = self.packets.pop_front()?;
        Some((popped, self.packets.front().map(|next| next.arrival)))
    }
}

/// A FIFO behind a mutex.
#[derive(Debug)]
pub struct Locked;

fn lock(fifo: &Mutex<Fifo>) -> MutexGuard<'_, Fifo> {
    fifo.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Channel for Locked {
    const NAME: &str = "mutex";
    type In = Arc<Mutex<Fifo>>;
    type Out = Arc<Mutex<Fifo>>;

    fn many(count: usize, capacity: usize) -> io::Result<Vec<(Self::In, Self::Out)>> {
        Ok(twice((0..count).map(|_| Mutex::new(Fifo::new(capacity)))))
    }

    #[inline]
    fn push(end: &mut Self::In, packet: Descriptor) -> bool {
        lock(end).push(packet)
    }

    #[inline]
    fn pop(end: &mut Self::Out) -> Option<Descriptor> {
        lock(end).packets.pop_front()
    }
}

impl Heads for Locked {
    #[inline]
    fn take(end: &mut Self::Out) -> Option<(Descriptor, Option<u64>)> {
        lock(end).take()
    }
}

/// A FIFO behind a System V semaphore: P and V around each insertion and each removal.
#[derive(Debug)]
pub struct SystemV;

/// Both ends of a FIFO among those that one set of semaphores guards. An operation on a semaphore
/// can only fail when another process removes the set; the queue then counts as full and empty.
#[derive(Clone, Debug)]
pub struct Place {
    fifos: Arc<Guarded<Fifo>>,
    index: usize,
}

impl Channel for SystemV {
    const NAME: &str = "sysv-semaphore";
    type In = Place;
    type Out = Place;

    fn many(count: usize, capacity: usize) -> io::Result<Vec<(Self::In, Self::Out)>> {
        let fifos = Arc::new(Guarded::new((0..count).map(|_| Fifo::new(capacity)))?);
        let place = |index| Place { fifos: Arc::clone(&fifos), index };
        Ok((0..count).map(|i| (place(i), place(i))).collect())
    }

    #[inline]
    fn push(end: &mut Self::In, packet: Descriptor) -> bool {
        end.fifos.lock(end.index).is_ok_and(|mut fifo| fifo.push(packet))
    }

    #[inline]
    fn pop(end: &mut Self::Out) -> Option<Descriptor> {
        end.fifos.lock(end.index).ok()?.packets.pop_front()
    }
}

impl Heads for SystemV {
    #[inline]
    fn take(end: &mut Self::Out) -> Option<(Descriptor, Option<u64>)> {
        end.fifos.lock(end.index).ok()?.take()
    }
}

/// The two ends of queues that are one object each.
fn twice<Q>(queues: impl Iterator<Item = Q>) -> Vec<(Arc<Q>, Arc<Q>)> {
    queues.map(Arc::new).map(|queue| (Arc::clone(&queue), queue)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaves<C: Channel>() {
        let mut all = C::many(3, 2).unwrap();
        let (input, output) = &mut all[1];
        let packet = |arrival| Descriptor { arrival, bytes: 1, body: 2 };
        for round in [10, 20] {
            assert!(C::push(input, packet(round)) && C::push(input, packet(round + 1)));
            assert!(!C::push(input, packet(round + 2)), "{} is bounded", C::NAME);
            assert_eq!(C::pop(output), Some(packet(round)));
            assert_eq!(C::pop(output), Some(packet(round + 1)));
            assert_eq!(C::pop(output), None);
        }
        assert_eq!(C::pop(&mut all[0].1), None, "{}: each has its own packets", C::NAME);
    }

    fn shows_heads<C: Heads>() {
        let (mut input, mut output) = C::many(1, 2).unwrap().remove(0);
        for arrival in [1, 2] {
            C::push(&mut input, Descriptor { arrival, ..Descriptor::default() });
        }
        let next = |popped: Option<(Descriptor, _)>| popped.map(|(d, next)| (d.arrival, next));
        assert_eq!(next(C::take(&mut output)), Some((1, Some(2))));
        assert_eq!(next(C::take(&mut output)), Some((2, None)));
        assert_eq!(next(C::take(&mut output)), None);
    }

    /// All that is compared does the same.
    ///
    /// Fails when a baseline is not bounded, or the semaphores' queues are one.
    #[test]
    fn baselines_are_bounded_fifos() {
        behaves::<Ring>();
        behaves::<Rtrb>();
        behaves::<Crossbeam>();
        behaves::<StdMpsc>();
        behaves::<Locked>();
        behaves::<SystemV>();
        shows_heads::<Ring>();
        shows_heads::<Locked>();
        shows_heads::<SystemV>();
    }
}
