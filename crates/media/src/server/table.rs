//! The rings of all streams, as the scheduler's queues.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use laxity_core::{Span, Time};
use laxity_dwcs::{Queues, StreamId};
use laxity_ring::{shared, spsc};

use super::counts::{Counter, Counts};
use crate::socket::Address;

/// A packet in a ring.
#[derive(Debug, Default)]
pub struct Packet {
    /// The UDP payload.
    pub body: Vec<u8>,
    /// From when on it may go, on the server's clock.
    pub arrival: Time,
    /// Which frame it belongs to; they follow each other.
    pub frame: u32,
    /// Where in the body the time of sending is written, 0 for nowhere.
    pub stamp: u16,
}

/// The ways back of bodies that were sent, one for each producer.
pub type Pools = Vec<spsc::Producer<Vec<u8>>>;

/// Set by the scheduler when it found the ring empty: the next packet must be announced.
pub type Bell = Arc<AtomicBool>;

/// The consuming end of a ring.
#[derive(Debug)]
pub enum Outlet {
    /// From a thread of this process.
    Local { packets: spsc::Consumer<Packet>, bell: Bell },
    /// From another process.
    Shared { ring: shared::Consumer, last: Time },
}

/// The packet sent last, for sender reports.
#[derive(Debug, Default)]
pub struct Reported {
    pub packets: Counter,
    pub octets: Counter,
    /// RTP timestamp.
    pub timestamp: Counter,
    /// When, on the monotonic clock.
    pub at: Counter,
}

/// The scheduler thread's state of a stream.
#[derive(Debug)]
pub struct Entry {
    pub outlet: Outlet,
    pub to: Address,
    pub channel: usize,
    /// Which producer gets the bodies back; without one they are freed.
    pub pool: Option<usize>,
    /// Time between deadlines, zero without.
    pub gap: Span,
    pub whole_frames: bool,
    pub reported: Option<Arc<Reported>>,
    pub counts: Counts,
    /// The frame of which a packet was dropped.
    pub lost_frame: Option<u32>,
}

/// Entries by [`StreamId::slot`].
#[derive(Debug)]
pub struct Table {
    pub entries: Vec<Option<Entry>>,
    /// The packet that [`Queues::serve`] took.
    pub popped: Option<Packet>,
    /// Bodies that have been sent, on their way back to each producer. One ring for all its streams
    /// stays in the cache, where one for each stream would not.
    pools: Pools,
    /// Empty bodies for packets from other processes.
    spare: Vec<Vec<u8>>,
    /// The latest instant seen, which no claim of another process may exceed.
    pub now: Time,
}

/// Empty bodies kept for packets from other processes.
const SPARE: usize = 64;

/// Empty bodies on their way to one producer.
pub const POOL: usize = 4096;

impl Table {
    pub fn new(pools: Pools) -> Table {
        Table { entries: Vec::new(), popped: None, pools, spare: Vec::new(), now: Time::ZERO }
    }

    #[inline]
    pub fn entry(&mut self, slot: usize) -> Option<&mut Entry> {
        self.entries.get_mut(slot)?.as_mut()
    }

    /// Gives a body back to be filled again.
    #[inline]
    pub fn recycle(&mut self, slot: usize, body: Vec<u8>) {
        let Table { entries, pools, spare, .. } = self;
        match entries.get(slot).and_then(Option::as_ref) {
            Some(Entry { pool: Some(pool), .. }) => {
                if let Some(pool) = pools.get_mut(*pool) {
                    // A full pool has enough.
                    let _ = pool.push(body);
                }
            }
            Some(Entry { outlet: Outlet::Shared { .. }, .. }) if spare.len() < SPARE => {
                spare.push(body);
            }
            _ => {}
        }
    }

    /// When the head packet of a stream arrived; `None` when there is none.
    pub fn head(&mut self, slot: usize) -> Option<Time> {
        let now = self.now;
        loop {
            let entry = self.entry(slot)?;
            let Some((arrival, frame)) = entry.outlet.peek(now) else {
                // Either the producer sees the bell, or this thread sees the packets pushed before.
                if entry.outlet.listen() {
                    continue;
                }
                return None;
            };
            if entry.lost_frame.is_none_or(|lost| Some(lost) != frame) {
                return Some(arrival);
            }
            entry.counts.incomplete_frame += 1;
            self.discard(slot);
        }
    }

    /// Pops and counts all packets of a ring.
    pub fn clear(&mut self, slot: usize) {
        let Some(entry) = self.entry(slot) else { return };
        // Bounded by what waits now, whatever the producer does meanwhile.
        let waiting = entry.outlet.waiting();
        entry.counts.discarded += waiting as u64;
        for _ in 0..waiting {
            self.discard(slot);
        }
    }

    fn discard(&mut self, slot: usize) {
        let body = self.entry(slot).and_then(|entry| entry.outlet.discard());
        if let Some(body) = body {
            self.recycle(slot, body);
        }
    }
}

impl Queues for Table {
    #[inline]
    fn serve(&mut self, stream: StreamId) -> Option<Time> {
        let slot = stream.slot();
        let mut body = Vec::new();
        if let Some(Entry { outlet: Outlet::Shared { .. }, .. }) = self.entry(slot) {
            body = self.spare.pop().unwrap_or_default();
        }
        let now = self.now;
        self.popped = self.entry(slot)?.outlet.pop(body, now);
        self.head(slot)
    }

    fn drop_head(&mut self, stream: StreamId) -> Option<Time> {
        let slot = stream.slot();
        let now = self.now;
        let entry = self.entry(slot)?;
        if entry.whole_frames {
            entry.lost_frame = entry.outlet.peek(now).and_then(|(_, frame)| frame);
        }
        entry.counts.expired += 1;
        self.discard(slot);
        self.head(slot)
    }
}

impl Outlet {
    /// Arrival and frame of the head.
    #[inline]
    fn peek(&mut self, now: Time) -> Option<(Time, Option<u32>)> {
        match self {
            Outlet::Local { packets, .. } => packets.peek().map(|p| (p.arrival, Some(p.frame))),
            Outlet::Shared { ring, last } => {
                // A stamp is another process's claim. Arrivals must not decrease.
                let head = ring.peek().ok().flatten()?;
                *last = Time(head.stamp).clamp(*last, now.max(*last));
                Some((*last, None))
            }
        }
    }

    #[inline]
    fn pop(&mut self, mut body: Vec<u8>, now: Time) -> Option<Packet> {
        match self {
            Outlet::Local { packets, .. } => packets.pop(),
            Outlet::Shared { ring, .. } => {
                let (arrival, _) = (ring.peek().ok().flatten()?, now);
                body.resize(arrival.bytes as usize, 0);
                let head = ring.pop(&mut body).ok().flatten()?;
                Some(Packet { body, arrival: Time(head.stamp).min(now), ..Packet::default() })
            }
        }
    }

    /// Removes the head; returns its body if that can be refilled.
    fn discard(&mut self) -> Option<Vec<u8>> {
        match self {
            Outlet::Local { packets, .. } => packets.pop().map(|packet| packet.body),
            Outlet::Shared { ring, .. } => {
                let _ = ring.skip();
                None
            }
        }
    }

    /// Requests a notification of the next packet; returns whether one came meanwhile.
    fn listen(&mut self) -> bool {
        match self {
            Outlet::Local { packets, bell, .. } => {
                bell.store(true, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                let came = !packets.is_empty();
                if came {
                    bell.store(false, Ordering::Relaxed);
                }
                came
            }
            // Those are looked at from time to time.
            Outlet::Shared { .. } => false,
        }
    }

    pub fn waiting(&mut self) -> usize {
        match self {
            Outlet::Local { packets, .. } => packets.len(),
            Outlet::Shared { ring, .. } => ring.waiting(),
        }
    }

    /// Whether nothing more will come.
    pub fn ended(&mut self) -> bool {
        match self {
            Outlet::Local { packets, .. } => packets.is_closed(),
            Outlet::Shared { ring, .. } => ring.is_closed() || ring.fault().is_some(),
        }
    }

    /// Whether another process broke the rules of its ring.
    pub fn broken(&self) -> bool {
        matches!(self, Outlet::Shared { ring, .. } if ring.fault().is_some())
    }
}

/// The producing end of a ring in this process.
#[derive(Debug)]
pub struct Feed {
    packets: spsc::Producer<Packet>,
    bell: Bell,
}

impl Feed {
    /// A ring for so many packets, and its two ends.
    pub fn new(capacity: usize) -> (Feed, Outlet) {
        let (packets, from) = spsc::channel(capacity);
        let bell = Bell::default();
        let outlet = Outlet::Local { packets: from, bell: Arc::clone(&bell) };
        (Feed { packets, bell }, outlet)
    }

    /// Adds a packet; gives it back when the ring is full.
    #[inline]
    pub fn push(&mut self, packet: Packet) -> Result<(), Packet> {
        self.packets.push(packet).map_err(|full| full.0)
    }

    /// Whether the scheduler found the ring empty since its last notification, and so needs one now. To
    /// be called after pushing.
    #[inline]
    pub fn must_ring(&self) -> bool {
        fence(Ordering::SeqCst);
        self.bell.load(Ordering::Relaxed) && self.bell.swap(false, Ordering::Relaxed)
    }

    pub fn is_full(&self) -> bool {
        self.packets.free() == 0
    }

    pub fn capacity(&self) -> usize {
        self.packets.capacity()
    }

    /// Whether the stream was dropped.
    pub fn is_closed(&self) -> bool {
        self.packets.is_closed()
    }
}
