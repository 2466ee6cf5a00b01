//! Shared by the fast structures: streams wait by release until they may go, in a timing wheel.

mod calendar;
mod chunks;
mod gauge;
mod overflow;
mod pending;
mod queue;
mod run;
mod streams;

use laxity_core::Time;

use self::calendar::COARSE;
pub(super) use self::chunks::{Chunks, Entry, List};
pub(super) use self::overflow::IN_OVERFLOW;
pub(super) use self::queue::{Queue, order};
pub(super) use self::run::Run;
pub use self::streams::Streams;

use self::gauge::Gauge;
use self::pending::Pending;
use super::{Structure, Unsupported};
use crate::{Rank, Record};

/// Room for this many streams at first.
const SMALLEST: usize = 64;

/// The streams that may be served.
pub trait Ready: Sized {
    /// The structure's name.
    const NAME: &'static str;

    /// An empty set in this order.
    ///
    /// # Errors
    /// When the order is not the set's.
    fn new(rank: Rank) -> Result<Self, Unsupported>;

    /// Makes room. The set is empty.
    fn grow(&mut self, size: Size);

    /// Empties the set.
    fn clear(&mut self, tick: u32, now: Time);

    /// Adds a stream that is not in the set, with `now` the time up to which releases count.
    fn admit(&mut self, streams: &mut Streams, slot: u32, now: Time);

    /// Removes a stream whose record is unchanged since its insertion.
    fn remove(&mut self, streams: &mut Streams, slot: u32);

    /// Time has come to `now`.
    fn advance(&mut self, streams: &mut Streams, now: Time);

    /// The first in the order.
    fn first(&mut self, streams: &mut Streams) -> Option<u32>;

    /// Some stream with a deadline before `now`.
    fn expired(&mut self, streams: &mut Streams, now: Time) -> Option<u32>;
}

/// How large queues are to be.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Streams, all of which may be in one queue.
    pub streams: usize,
    /// Entries in all: those of streams and stale entries.
    pub entries: usize,
    /// Lists of a calendar's window, as a power of two.
    pub lists: u32,
    /// Nanoseconds of a tick, as a power of two.
    pub tick: u32,
    /// The present.
    pub now: Time,
}

/// A structure that separates streams that may be served from those that may not yet.
///
/// A decision reads a stream's record of 40 bytes and its entry of 16 in some list. Room is made
/// for every list to be long and for all streams to be due at once, about 140 bytes a stream; of
/// that, the memory of the overflow heap is not touched before it is used.
#[derive(Clone, Debug)]
pub struct Timed<R> {
    rank: Rank,
    /// Streams with a release up to this instant are in `ready`, the others in `pending`.
    now: Time,
    streams: Streams,
    pending: Pending,
    ready: R,
    gauge: Gauge,
    tick: u32,
}

impl<R: Ready> Structure for Timed<R> {
    const NAME: &'static str = R::NAME;

    fn new(rank: Rank) -> Result<Timed<R>, Unsupported> {
        Ok(Timed {
            rank,
            now: Time::ZERO,
            streams: Streams::new(),
            pending: Pending::new(rank),
            ready: R::new(rank)?,
            gauge: Gauge::default(),
            tick: 0,
        })
    }

    fn join(&mut self, slot: u32, record: Record) {
        let needed = slot as usize + 1;
        if self.streams.records.len() < needed {
            self.grow(needed.next_power_of_two().max(SMALLEST));
        }
        self.store(slot, record);
        if let Some(better) = self.gauge.joined(self.tick, self.streams.records.len()) {
            self.tick = better;
            self.rebuild();
        }
    }

    #[inline]
    fn load(&self, slot: u32) -> Record {
        self.streams.records.get(slot as usize).copied().unwrap_or(Record::VACANT)
    }

    #[inline]
    fn store(&mut self, slot: u32, record: Record) {
        if self.streams.is_worn() {
            self.rebuild();
        }
        let old = self.streams.at(slot);
        if old.gap != record.gap {
            self.gauge.replace(old, &record);
        }
        if old.waiting() {
            let release = self.rank.release(old);
            if release > self.now {
                self.pending.remove(&mut self.streams, slot, release.0);
            } else {
                self.ready.remove(&mut self.streams, slot);
            }
        }
        self.streams.store(slot, record);
        if record.waiting() {
            self.place(slot, &record);
        }
        if self.streams.stale_entries > max_stale_entries(self.streams.records.len()) {
            self.rebuild();
        }
    }

    #[inline]
    fn first(&mut self, now: Time) -> Option<u32> {
        self.release(now);
        self.ready.first(&mut self.streams)
    }

    #[inline]
    fn expired(&mut self, now: Time) -> Option<u32> {
        self.release(now);
        self.ready.expired(&mut self.streams, now)
    }

    fn next_release(&mut self) -> Option<Time> {
        self.pending.next(&mut self.streams).map(Time)
    }
}

/// Ghosts beyond this number are swept out.
fn max_stale_entries(room: usize) -> usize {
    SMALLEST + room / 4
}

impl<R: Ready> Timed<R> {
    /// Puts a waiting stream where its record belongs.
    #[inline]
    fn place(&mut self, slot: u32, record: &Record) {
        let release = self.rank.release(record);
        if release > self.now {
            self.pending.insert(&mut self.streams, slot, release.0);
        } else {
            self.ready.admit(&mut self.streams, slot, self.now);
        }
    }

    /// Admits all with a release at `now` or before.
    #[inline]
    fn release(&mut self, now: Time) {
        if now <= self.now {
            return;
        }
        self.now = now;
        let ready = &mut self.ready;
        self.pending.release(&mut self.streams, now.0, &mut |streams, slot| {
            ready.admit(streams, slot, now);
        });
        self.ready.advance(&mut self.streams, now);
    }

    #[cold]
    fn grow(&mut self, room: usize) {
        self.tick = self.gauge.tick(room);
        let size = Size {
            streams: room,
            entries: room + max_stale_entries(room) + 1,
            lists: gauge::lists(room),
            tick: self.tick,
            now: self.now,
        };
        self.streams.records.resize(room, Record::VACANT);
        // Those of two calendars.
        self.streams.chunks = Chunks::new(size.entries, 2 * ((1 << size.lists) + COARSE));
        self.pending.grow(size);
        self.ready.grow(size);
        self.rebuild();
    }

    /// Puts all streams into empty queues, without stale entries.
    #[cold]
    fn rebuild(&mut self) {
        self.streams.clear();
        self.pending.clear(self.tick, self.now);
        self.ready.clear(self.tick, self.now);
        for slot in 0..self.streams.records.len() as u32 {
            self.streams.renew(slot);
            let record = *self.streams.at(slot);
            if record.waiting() {
                self.place(slot, &record);
            }
        }
        self.gauge.rebuilt();
    }
}
