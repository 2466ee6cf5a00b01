//! `wheel`: timing wheels, for deadlines first.

use laxity_core::Time;

use super::Unsupported;
use super::timed::{Entry, IN_OVERFLOW, Queue, Ready, Size, Streams, Timed, order};
use crate::{Order, Rank};

/// Two hierarchical timing wheels: streams whose heads may not be sent yet, by release; the others,
/// by deadline, which is also the first thing in their order and the instant at which they expire.
/// So one search finds the first stream and whether it is late.
///
/// The wheels hold small entries, not records, in lists that are read and written as arrays are;
/// a list is sorted when its time comes, and records are prefetched some entries before
/// they are needed. A decision costs the same however many streams there are, but for what the
/// caches do.
pub type Wheel = Timed<ByDeadline>;

/// A list of at most so many streams is searched each time; a longer one is put in order at once.
const SEARCHED: usize = 3;

/// A list beyond the window goes to the heap when it is no longer than this; otherwise the window
/// moves there.
const DEALT: usize = 64;

/// The streams that may be served, by deadline.
#[derive(Clone, Debug)]
pub struct ByDeadline {
    rank: Rank,
    /// Ordered in full but for its lists.
    queue: Queue,
    /// The first in the order, while known.
    least: Option<Least>,
}

#[derive(Clone, Copy, Debug)]
struct Least {
    slot: u32,
    deadline: u64,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Run,
    Overflow,
    /// In a tick's list, so far along.
    List(u64, usize),
}

impl Ready for ByDeadline {
    const NAME: &'static str = "wheel";

    fn new(rank: Rank) -> Result<ByDeadline, Unsupported> {
        if rank.order != Order::DeadlineFirst {
            let remedy = "a wheel needs the order that compares deadlines first";
            return Err(Unsupported { structure: Self::NAME, remedy });
        }
        Ok(ByDeadline { rank, queue: Queue::new(rank), least: None })
    }

    fn grow(&mut self, size: Size) {
        self.queue.grow(size);
        self.least = None;
    }

    fn clear(&mut self, tick: u32, now: Time) {
        self.queue.clear(tick, now.0);
        self.least = None;
    }

    #[inline]
    fn admit(&mut self, streams: &mut Streams, slot: u32, _: Time) {
        let deadline = streams.at(slot).deadline.0;
        let entry = streams.entry(slot, deadline);
        if self.least.is_some_and(|least| deadline <= least.deadline) {
            self.least = None;
        }
        if self.queue.continues(deadline) {
            let rank = &self.rank;
            self.queue.run.insert(entry, |other| {
                let live = streams.is_live(other);
                live.then(|| order(rank, &streams.records, other, &entry).is_lt())
            });
        } else if deadline == u64::MAX || self.queue.calendar.is_past(deadline) {
            self.queue.overflow.insert(&mut streams.records, slot, deadline);
        } else {
            self.queue.calendar.insert(&mut streams.chunks, entry);
        }
    }

    #[inline]
    fn remove(&mut self, streams: &mut Streams, slot: u32) {
        match self.least.take_if(|least| least.slot == slot).map(|least| least.place) {
            Some(Place::Run) => self.queue.pop(streams),
            Some(Place::List(tick, at)) => {
                self.queue.calendar.remove(&mut streams.chunks, tick, at);
            }
            None if streams.at(slot).link & IN_OVERFLOW == 0 => streams.stale_entries += 1,
            Some(Place::Overflow) | None => self.queue.overflow.remove(&mut streams.records, slot),
        }
    }

    #[inline]
    fn advance(&mut self, streams: &mut Streams, now: Time) {
        let block = self.queue.calendar.block_of(now.0);
        if self.queue.calendar.last() <= block {
            self.roll(streams, block + 1);
        }
    }

    #[inline]
    fn first(&mut self, streams: &mut Streams) -> Option<u32> {
        self.least(streams).map(|least| least.slot)
    }

    #[inline]
    fn expired(&mut self, streams: &mut Streams, now: Time) -> Option<u32> {
        self.least(streams).filter(|least| least.deadline < now.0).map(|least| least.slot)
    }
}

impl ByDeadline {
    /// Moves the window on to end with block `target`, or as far as streams let it.
    #[cold]
    fn roll(&mut self, streams: &mut Streams, target: u64) {
        loop {
            let calendar = &mut self.queue.calendar;
            let first = calendar.first();
            let limit = first.map_or(target, |tick| calendar.block_of_tick(tick) + 1).min(target);
            if limit <= calendar.last() {
                return;
            }
            self.queue.advance(streams, limit);
        }
    }

    #[inline]
    fn least(&mut self, streams: &mut Streams) -> Option<Least> {
        if self.least.is_none() {
            self.least = self.find_least(streams);
        }
        self.least
    }

    fn find_least(&mut self, streams: &mut Streams) -> Option<Least> {
        loop {
            let ordered = self.least_ordered(streams);
            let calendar = &mut self.queue.calendar;
            if let Some(least) = ordered {
                let tick = calendar.tick_of(least.deadline);
                // Where streams work ahead, the window follows them; see the end of this file.
                let follows = calendar.block_of_tick(tick) < calendar.last();
                if tick < calendar.bound() && (self.rank.ahead.is_some() || follows) {
                    return ordered;
                }
            }
            let Some(tick) = calendar.first() else {
                if self.look_beyond(streams, ordered) {
                    continue;
                }
                return ordered;
            };
            if ordered.is_some_and(|least| calendar.tick_of(least.deadline) < tick) {
                return ordered;
            }
            if self.rank.ahead.is_none() && calendar.block_of_tick(tick) == calendar.last() {
                // Streams work ahead, so the window follows their deadlines, not the time.
                let next = calendar.last() + 1;
                self.roll(streams, next);
            }
            let list = self.queue.calendar.list(tick);
            match streams.chunks.short(list).filter(|entries| entries.len() <= SEARCHED) {
                Some(entries) => match search(&self.rank, streams, entries) {
                    Ok(at) => {
                        let found = entries[at];
                        let place = Place::List(tick, at);
                        let least = Least { slot: found.slot, deadline: found.key, place };
                        return Some(self.lesser(streams, least, ordered));
                    }
                    Err(stale_entry) => {
                        self.queue.calendar.remove(&mut streams.chunks, tick, stale_entry);
                        streams.stale_entries -= 1;
                    }
                },
                None => self.put_in_order(streams, tick),
            }
        }
    }

    /// The first of those that are in order already.
    #[inline]
    fn least_ordered(&mut self, streams: &mut Streams) -> Option<Least> {
        let run = loop {
            let Some(entry) = self.queue.run.first() else { break None };
            if streams.is_live(entry) {
                break Some(Least { slot: entry.slot, deadline: entry.key, place: Place::Run });
            }
            self.queue.pop(streams);
            streams.stale_entries -= 1;
        };
        let Some(top) = self.queue.overflow.top() else { return run };
        let top = Least { slot: top.slot, deadline: top.key, place: Place::Overflow };
        Some(self.lesser(streams, top, run))
    }

    #[inline]
    fn lesser(&self, streams: &Streams, a: Least, b: Option<Least>) -> Least {
        let Some(b) = b.filter(|b| b.deadline <= a.deadline) else { return a };
        let stream = |least: &Least| (least.slot, streams.at(least.slot));
        if b.deadline < a.deadline || self.rank.before(stream(&b), stream(&a)) { b } else { a }
    }

    /// A tick's list is long: it becomes the run, unless there is one that is much longer.
    fn put_in_order(&mut self, streams: &mut Streams, tick: u64) {
        if !self.queue.run.is_empty() {
            let list = self.queue.calendar.list(tick);
            if !streams.chunks.exceeds(list, self.queue.run.len() / 4) {
                let list = self.queue.calendar.take(tick);
                return self.queue.pour(streams, list);
            }
            while let Some(entry) = self.queue.run.pop() {
                if !streams.is_live(&entry) {
                    streams.stale_entries -= 1;
                } else if self.queue.calendar.is_past(entry.key) {
                    self.queue.overflow.insert(&mut streams.records, entry.slot, entry.key);
                } else {
                    self.queue.calendar.insert(&mut streams.chunks, entry);
                }
            }
        }
        self.queue.load(streams, tick);
        self.queue.run.settle_ties(&self.rank, &streams.records);
    }

    /// The window is empty: entries beyond it move into it or into the heap, unless an earlier
    /// stream is known. Answers whether anything moved.
    #[cold]
    fn look_beyond(&mut self, streams: &mut Streams, ordered: Option<Least>) -> bool {
        let calendar = &mut self.queue.calendar;
        let Some(beyond) = calendar.first_coarse() else { return false };
        if ordered.is_some_and(|least| calendar.block_of(least.deadline) < beyond.start) {
            return false;
        }
        let list = calendar.list_coarse(&beyond);
        if self.rank.ahead.is_some() && !streams.chunks.exceeds(list, DEALT) {
            let list = calendar.take_coarse(&beyond);
            self.queue.pour(streams, list);
        } else {
            self.roll(streams, beyond.start);
        }
        true
    }
}

/// Position of the first in the order, or of a stale entry.
#[inline]
fn search(rank: &Rank, streams: &Streams, entries: &[Entry]) -> Result<usize, usize> {
    let mut least = 0;
    for (at, entry) in entries.iter().enumerate() {
        if !streams.is_live(entry) {
            return Err(at);
        }
        let best = &entries[least];
        if at == 0 || entry.key > best.key {
            continue;
        }
        if entry.key < best.key || order(rank, &streams.records, entry, best).is_lt() {
            least = at;
        }
    }
    Ok(least)
}
