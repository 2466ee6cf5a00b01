//! The queues of all streams, in one pool of packets.

use laxity_core::{Bytes, Span, Time};
use laxity_dwcs::{Dropped, Overdue, Queues, StreamId};
use laxity_scenario::stream::model::{Length, QueueLimit};

use super::engine::{Loss, STRIDE, StreamObserver, StreamPacket};
use super::source::length;
use crate::{Control, Random};

/// The end of a list.
const NIL: u32 = u32::MAX;

/// The parameters that the streams of a class share.
#[derive(Clone, Copy, Debug)]
pub struct FifoClass {
    /// A packet always waits: the next one comes when the head leaves.
    pub backlogged: bool,
    /// Lengths of packets.
    pub length: Length,
    /// The largest packet.
    pub largest: Bytes,
    /// How much may wait.
    pub limit: QueueLimit,
    /// Time between deadlines.
    pub gap: Option<Span>,
}

/// Arrivals of the streams of a class and their losses by place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FifoCounts {
    /// Packets that came; of a source that is always backlogged, those that left.
    pub packets: u64,
    /// Packets that found their queue full.
    pub overflowed: u64,
    /// Packets that wait.
    pub waiting: u64,
}

#[derive(Clone, Copy, Debug)]
struct Fifo {
    class: u32,
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
    /// Packets of the stream so far, lost ones included.
    index: u64,
    /// When the head of a backlogged stream came.
    since: Time,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: StreamPacket,
    next: u32,
}

/// All queues. Losses are reported to the observer immediately.
#[derive(Debug)]
pub struct Fifos<'a, O> {
    classes: &'a [FifoClass],
    counts: Vec<FifoCounts>,
    queues: Vec<Fifo>,
    pool: Vec<Waiting>,
    free: u32,
    random: Random,
    /// Packets of all streams so far.
    seq: u64,
    /// The instant of the current decision.
    now: Time,
    popped: Option<StreamPacket>,
    observer: &'a mut O,
    control: &'a Control,
    /// Whether dropping was interrupted: a stopped run reports the drops until then.
    broken_off: bool,
}

impl<'a, O: StreamObserver> Fifos<'a, O> {
    /// Empty queues; `class_of` names the class of each stream.
    pub fn new(
        classes: &'a [FifoClass],
        class_of: impl Iterator<Item = u32>,
        seed: u64,
        observer: &'a mut O,
        control: &'a Control,
    ) -> Fifos<'a, O> {
        let queue = |class| Fifo {
            class,
            head: NIL,
            tail: NIL,
            packets: 0,
            bytes: 0,
            index: 0,
            since: Time::ZERO,
        };
        Fifos {
            classes,
            counts: vec![FifoCounts::default(); classes.len()],
            queues: class_of.map(queue).collect(),
            pool: Vec::new(),
            free: NIL,
            random: Random::new(seed, 0),
            seq: 0,
            now: Time::ZERO,
            popped: None,
            observer,
            control,
            broken_off: false,
        }
    }

    /// The counts of each class.
    pub fn counts(&self) -> &[FifoCounts] {
        &self.counts
    }

    /// The observer, for what leaves.
    pub fn observer(&mut self) -> &mut O {
        self.observer
    }

    /// Whether a packet of this stream always waits.
    pub fn is_backlogged(&self, stream: u32) -> bool {
        self.classes[self.queues[stream as usize].class as usize].backlogged
    }

    /// Whether the run was stopped in the middle of a decision.
    pub fn broken_off(&self) -> bool {
        self.broken_off
    }

    /// Starts a decision at this instant.
    #[inline]
    pub fn at(&mut self, now: Time) {
        self.now = now;
    }

    /// The packet that the decision took.
    #[inline]
    pub fn take_popped(&mut self) -> Option<StreamPacket> {
        self.popped.take()
    }

    /// A packet comes. Answers whether it found its queue empty and waits there now.
    pub fn push(&mut self, arrival: Time, stream: u32) -> bool {
        let packet = self.packet(stream, arrival);
        let queue = &mut self.queues[stream as usize];
        let (class, counts) =
            (&self.classes[queue.class as usize], &mut self.counts[queue.class as usize]);
        counts.packets += 1;
        let bytes = queue.bytes + u64::from(packet.bytes);
        let full = queue.packets >= class.limit.packets
            || class.limit.bytes.is_some_and(|most| Bytes(bytes) > most);
        if full {
            counts.overflowed += 1;
            self.observer.lost(&packet, None, Loss::Overflow);
            return false;
        }
        counts.waiting += 1;
        let place = match self.free {
            NIL => {
                self.pool.push(Waiting { packet, next: NIL });
                self.pool.len() as u32 - 1
            }
            place => {
                self.free = self.pool[place as usize].next;
                self.pool[place as usize] = Waiting { packet, next: NIL };
                place
            }
        };
        match queue.tail {
            NIL => queue.head = place,
            tail => self.pool[tail as usize].next = place,
        }
        queue.tail = place;
        (queue.packets, queue.bytes) = (queue.packets + 1, bytes);
        queue.packets == 1
    }

    /// The next packet of a stream.
    fn packet(&mut self, stream: u32, arrival: Time) -> StreamPacket {
        let queue = &mut self.queues[stream as usize];
        let class = &self.classes[queue.class as usize];
        let bytes = length(&class.length, class.largest, stream, queue.index, &self.random);
        queue.index += 1;
        self.seq += 1;
        StreamPacket { seq: self.seq - 1, class: queue.class, stream, bytes, arrival }
    }

    /// Takes the head of a stream; the one behind a backlogged one comes at `successor`.
    fn take(&mut self, stream: u32, successor: Time) -> StreamPacket {
        let queue = &mut self.queues[stream as usize];
        let class = queue.class as usize;
        if self.classes[class].backlogged {
            let arrival = std::mem::replace(&mut queue.since, successor);
            self.counts[class].packets += 1;
            return self.packet(stream, arrival);
        }
        let place = queue.head as usize;
        let Waiting { packet, next } = self.pool[place];
        queue.head = next;
        if next == NIL {
            queue.tail = NIL;
        }
        queue.packets -= 1;
        queue.bytes -= u64::from(packet.bytes);
        self.counts[class].waiting -= 1;
        self.pool[place].next = self.free;
        self.free = place as u32;
        packet
    }

    /// When the head of a stream came.
    fn head(&self, stream: u32) -> Option<Time> {
        let queue = &self.queues[stream as usize];
        if self.classes[queue.class as usize].backlogged {
            return Some(queue.since);
        }
        self.pool.get(queue.head as usize).map(|w| w.packet.arrival)
    }
}

impl<O: StreamObserver> Queues for Fifos<'_, O> {
    #[inline]
    fn serve(&mut self, stream: StreamId) -> Option<Time> {
        let stream = stream.slot() as u32;
        self.popped = Some(self.take(stream, self.now));
        self.head(stream)
    }

    fn drop_head(&mut self, stream: StreamId) -> Option<Time> {
        // The deadline has passed, so this instant is no earlier than any that could be meant.
        let which = Overdue { at_most: 1, arrived_by: self.now };
        self.drop_heads(stream, which).next
    }

    /// The deadline of the head is the last instant at which packets may have come to be dropped
    /// with it; those behind it were due gap after gap.
    fn drop_heads(&mut self, stream: StreamId, which: Overdue) -> Dropped {
        let stream = stream.slot() as u32;
        let class = self.queues[stream as usize].class as usize;
        let gap = self.classes[class].gap.unwrap_or(Span::ZERO);
        let mut deadline = which.arrived_by;
        let mut count = 0;
        loop {
            let packet = self.take(stream, which.arrived_by);
            self.observer.lost(&packet, Some(deadline), Loss::Late);
            count += 1;
            deadline += gap;
            let next = self.head(stream);
            if count >= which.at_most || next.is_none_or(|arrival| arrival > which.arrived_by) {
                return Dropped { count, next };
            }
            // Gaps of 1 ns make a billion packets late in a second.
            if count % STRIDE == 0 && self.control.stopped() {
                self.broken_off = true;
                return Dropped { count, next: None };
            }
        }
    }
}
