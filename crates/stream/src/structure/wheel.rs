//! `wheel`: timing wheels, for deadlines first.

mod crowd;
mod gauge;
mod ring;

use laxity_core::Time;

use self::crowd::{CROWD, Crowd};
use self::gauge::Gauge;
use self::ring::{NONE, Ring, Streams};
use super::{Structure, Unsupported};
use crate::{Order, Rank, Record};

/// Lists of a window for each stream that there is room for.
const LISTS_LOG: u32 = 1;

/// Room for this many streams at first.
const SMALLEST: usize = 64;

/// A tick with more streams than this is put in order at once instead of searched each time.
const SEARCHED: usize = 8;

/// A list beyond the window is put in order when it is no longer than this; otherwise the window
/// moves there.
const DEALT: usize = 64;

/// Records are asked for this many ticks before they are needed.
const AHEAD: u64 = 16;

/// Two hierarchical timing wheels: streams whose heads may not go out yet, by release; the others,
/// by deadline, which is also the first thing in their order and the instant at which they expire.
/// So one search answers both who is first and whether it is late.
///
/// The wheels' ticks follow from the gaps: a tick holds about two streams when all have packets,
/// so the first of a tick is found by looking at each. Streams that crowd a tick, and those
/// without deadlines, stand in a heap.
#[derive(Clone, Debug)]
pub struct Wheel {
    rank: Rank,
    /// Streams with a release up to here stand in `ready` or `crowd`, the others in `pending`.
    now: Time,
    streams: Streams,
    pending: Ring,
    ready: Ring,
    crowd: Crowd,
    gauge: Gauge,
    /// No release of `pending` lies before.
    soon: u64,
    /// One lies there.
    soon_exact: bool,
    /// The first in the order, while known.
    least: u32,
    /// Ticks up to which records were asked for.
    asked_pending: u64,
    asked_ready: u64,
}

impl Structure for Wheel {
    const NAME: &'static str = "wheel";

    fn new(rank: Rank) -> Result<Wheel, Unsupported> {
        if rank.order != Order::DeadlineFirst {
            let remedy = "a wheel needs the order that compares deadlines first";
            return Err(Unsupported { structure: Wheel::NAME, remedy });
        }
        let size = SMALLEST.ilog2() + LISTS_LOG;
        Ok(Wheel {
            rank,
            now: Time::ZERO,
            streams: Streams::default(),
            pending: Ring::new(0, size),
            ready: Ring::new(0, size),
            crowd: Crowd::new(rank),
            gauge: Gauge::default(),
            soon: u64::MAX,
            soon_exact: false,
            least: NONE,
            asked_pending: 0,
            asked_ready: 0,
        })
    }

    fn join(&mut self, slot: u32, record: Record) {
        let needed = slot as usize + 1;
        let room = self.streams.records.len();
        if room < needed {
            let count = needed.next_power_of_two().max(SMALLEST);
            if count > room {
                self.grow(count);
            }
        }
        self.store(slot, record);
        if let Some(tick) = self.gauge.joined(self.ready.tick, self.streams.records.len()) {
            self.rebuild(tick);
        }
    }

    #[inline]
    fn load(&self, slot: u32) -> Record {
        self.streams.records.get(slot as usize).copied().unwrap_or(Record::VACANT)
    }

    #[inline]
    fn store(&mut self, slot: u32, record: Record) {
        let old = *self.streams.at(slot);
        self.displace(slot, &old);
        if old.gap != record.gap {
            self.gauge.replace(&old, &record);
        }
        self.streams.records[slot as usize] = record;
        self.place(slot, &record);
    }

    #[inline]
    fn first(&mut self, now: Time) -> Option<u32> {
        self.release(now);
        self.least()
    }

    #[inline]
    fn expired(&mut self, now: Time) -> Option<u32> {
        self.release(now);
        self.least().filter(|slot| self.streams.at(*slot).deadline < now)
    }

    fn next_release(&mut self) -> Option<Time> {
        if !self.soon_exact {
            let head = match self.pending.first() {
                Some(tick) => self.pending.head(tick),
                None => self.pending.head_coarse(&self.pending.first_coarse()?),
            };
            let releases = self.streams.list(head);
            let releases = releases.map(|slot| self.rank.release(self.streams.at(slot)).0);
            self.soon = releases.min()?;
            self.soon_exact = true;
        }
        Some(Time(self.soon))
    }
}

impl Wheel {
    /// Puts a stream where its record belongs.
    #[inline]
    fn place(&mut self, slot: u32, record: &Record) {
        if !record.waiting() {
            return;
        }
        let release = self.rank.release(record);
        if release > self.now {
            self.pending.insert(&mut self.streams, slot, release.0);
            self.soon = self.soon.min(release.0);
        } else {
            self.admit(slot, record.deadline.0);
        }
    }

    /// Takes a stream from where its record put it.
    #[inline]
    fn displace(&mut self, slot: u32, record: &Record) {
        if !record.waiting() {
            return;
        }
        let release = self.rank.release(record);
        if release > self.now {
            self.pending.remove(&mut self.streams, slot, release.0);
            self.soon_exact &= release.0 != self.soon;
            return;
        }
        if self.streams.before[slot as usize] == CROWD {
            self.crowd.remove(&mut self.streams, slot);
        } else {
            self.ready.remove(&mut self.streams, slot, record.deadline.0);
        }
        if self.least == slot {
            self.least = NONE;
        }
    }

    /// A stream may be served.
    #[inline]
    fn admit(&mut self, slot: u32, deadline: u64) {
        self.least = NONE;
        if deadline == u64::MAX || self.ready.is_past(deadline) {
            self.crowd.insert(&mut self.streams, slot);
        } else {
            self.ready.insert(&mut self.streams, slot, deadline);
        }
    }

    /// Admits all whose release is at `now` or before.
    #[inline]
    fn release(&mut self, now: Time) {
        if now <= self.now {
            return;
        }
        self.now = now;
        if self.rank.ahead.is_none() {
            return;
        }
        let tick = self.pending.tick_of(now.0);
        let to = tick + AHEAD;
        for tick in self.asked_pending.max(to - AHEAD / 2)..to {
            self.streams.prefetch(self.pending.head(tick));
        }
        self.asked_pending = to;

        let block = self.pending.block_of(now.0);
        if self.pending.last() <= block {
            self.drain(tick);
            self.roll_pending(block + 1);
        } else if self.soon <= now.0 {
            self.drain(tick);
        }
        if self.ready.last() <= block {
            self.roll_ready(block + 1);
        }
    }

    /// Admits what `pending`'s window has up to the tick of now.
    #[inline]
    fn drain(&mut self, current: u64) {
        self.soon_exact = false;
        self.soon = (current + 1).checked_shl(self.pending.tick).unwrap_or(u64::MAX);
        while let Some(tick) = self.pending.first().filter(|tick| *tick <= current) {
            if tick == current {
                self.drain_partly(tick);
                return;
            }
            let mut slot = self.pending.take(tick);
            while slot != NONE {
                let Record { link, deadline, .. } = *self.streams.at(slot);
                self.admit(slot, deadline.0);
                slot = link;
            }
        }
    }

    /// Admits those of a tick whose release has come.
    #[inline]
    fn drain_partly(&mut self, tick: u64) {
        let mut slot = self.pending.head(tick);
        while slot != NONE {
            let record = *self.streams.at(slot);
            let release = self.rank.release(&record);
            if release > self.now {
                self.soon = self.soon.min(release.0);
            } else {
                self.pending.remove(&mut self.streams, slot, release.0);
                self.admit(slot, record.deadline.0);
            }
            slot = record.link;
        }
    }

    /// Moves `pending`'s window on to end with block `target`, its first block being drained.
    #[cold]
    fn roll_pending(&mut self, target: u64) {
        while self.pending.last() < target {
            let mut slot = self.pending.advance(target);
            while slot != NONE {
                let record = *self.streams.at(slot);
                self.place(slot, &record);
                slot = record.link;
            }
            // What was dealt out may be due before the window moves on.
            self.drain(self.pending.tick_of(self.now.0));
        }
    }

    /// Moves `ready`'s window on to end with block `target`, or as far as streams let it.
    #[cold]
    fn roll_ready(&mut self, target: u64) {
        while self.ready.last() < target {
            let first = self.ready.first();
            let limit = first.map_or(target, |tick| self.ready.block_of_tick(tick) + 1).min(target);
            if limit <= self.ready.last() {
                return;
            }
            let mut slot = self.ready.advance(limit);
            while slot != NONE {
                let Record { link, deadline, .. } = *self.streams.at(slot);
                self.admit(slot, deadline.0);
                slot = link;
            }
        }
    }

    /// The first in the order of those that were admitted.
    #[inline]
    fn least(&mut self) -> Option<u32> {
        if self.least == NONE {
            self.least = self.find_least().unwrap_or(NONE);
        }
        (self.least != NONE).then_some(self.least)
    }

    fn find_least(&mut self) -> Option<u32> {
        loop {
            let top = self.crowd.top();
            let Some(tick) = self.ready.first() else {
                if self.look_beyond() {
                    continue;
                }
                return self.crowd.top().map(|entry| entry.slot);
            };
            if self.rank.ahead.is_none() && self.ready.block_of_tick(tick) == self.ready.last() {
                // Streams work ahead, so the window follows their deadlines, not the time.
                self.roll_ready(self.ready.last() + 1);
            }
            if let Some(entry) = top {
                let crowded = self.ready.tick_of(entry.deadline);
                if crowded < tick {
                    return Some(entry.slot);
                }
                if crowded == tick {
                    let head = self.ready.take(tick);
                    self.pour(head);
                    continue;
                }
            }
            let to = tick + AHEAD;
            for tick in self.asked_ready.clamp(to - AHEAD / 2, to)..to {
                self.streams.prefetch(self.ready.head(tick));
            }
            self.asked_ready = to;
            match self.search(self.ready.head(tick)) {
                Some(least) => return Some(least),
                None => {
                    let head = self.ready.take(tick);
                    self.pour(head);
                }
            }
        }
    }

    /// The first in the order of a list; `None` when it is long.
    #[inline]
    fn search(&self, head: u32) -> Option<u32> {
        let mut best = (head, self.streams.at(head));
        let mut slot = best.1.link;
        let mut count = 1;
        while slot != NONE {
            if count == SEARCHED {
                return None;
            }
            let other = (slot, self.streams.at(slot));
            if self.rank.before(other, best) {
                best = other;
            }
            slot = other.1.link;
            count += 1;
        }
        Some(best.0)
    }

    /// The window is empty: what lies beyond comes into it or into the crowd, unless the crowd
    /// has an earlier stream. Answers whether anything moved.
    #[cold]
    fn look_beyond(&mut self) -> bool {
        let Some(list) = self.ready.first_coarse() else { return false };
        if self.crowd.top().is_some_and(|entry| self.ready.block_of(entry.deadline) < list.start) {
            return false;
        }
        let head = self.ready.head_coarse(&list);
        if self.rank.ahead.is_some() && self.streams.list(head).nth(DEALT).is_none() {
            self.ready.take_coarse(&list);
            self.pour(head);
        } else {
            self.roll_ready(list.start);
        }
        true
    }

    /// Puts a list that was taken out into the crowd.
    fn pour(&mut self, mut slot: u32) {
        while slot != NONE {
            let next = self.streams.at(slot).link;
            self.crowd.insert(&mut self.streams, slot);
            slot = next;
        }
    }

    #[cold]
    fn grow(&mut self, count: usize) {
        self.streams.records.resize(count, Record::VACANT);
        self.streams.before.resize(count, NONE);
        self.crowd.grow(count);
        let size = count.ilog2() + LISTS_LOG;
        let tick = self.gauge.tick(count);
        self.pending = Ring::new(tick, size);
        self.ready = Ring::new(tick, size);
        self.rebuild(tick);
    }

    /// Puts all streams into wheels of another tick.
    #[cold]
    fn rebuild(&mut self, tick: u32) {
        self.pending.clear(tick, self.now.0);
        self.ready.clear(tick, self.now.0);
        self.crowd.clear();
        self.least = NONE;
        (self.soon, self.soon_exact) = (u64::MAX, false);
        (self.asked_pending, self.asked_ready) = (0, 0);
        for slot in 0..self.streams.records.len() as u32 {
            self.streams.before[slot as usize] = NONE;
            let record = *self.streams.at(slot);
            self.place(slot, &record);
        }
        self.gauge.rebuilt();
    }
}
