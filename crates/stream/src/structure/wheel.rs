//! `wheel`: timing wheels, for deadlines first.

mod calendar;
mod chunks;
mod crowd;
mod gauge;
mod queue;
mod run;

use alloc::vec::Vec;

use laxity_core::Time;

use self::calendar::COARSE;
use self::chunks::{Chunks, Entry, List};
use self::crowd::{CROWD, Member};
use self::gauge::Gauge;
use self::queue::{Queue, is_live, order};
use super::{Structure, Unsupported};
use crate::{Order, Rank, Record};

/// Room for this many streams at first.
const SMALLEST: usize = 64;

/// A list of at most so many streams is searched each time; a longer one is put in order at once.
const SEARCHED: usize = 3;

/// A list beyond the window goes to the heap when it is no longer than this; otherwise the window
/// moves there.
const DEALT: usize = 64;

/// Two hierarchical timing wheels: streams whose heads may not go out yet, by release; the others,
/// by deadline, which is also the first thing in their order and the instant at which they expire.
/// So one search answers both who is first and whether it is late.
///
/// The wheels hold small entries, not records, in lists that are read and written as arrays are;
/// a list is sorted when its time comes, and records are asked of the cache some entries before
/// they are needed. A stream that leaves its place otherwise than by being first leaves a *ghost*:
/// an entry with an old stamp, which is dropped when it is met.
#[derive(Clone, Debug)]
pub struct Wheel {
    rank: Rank,
    /// Streams with a release up to here stand in `ready`, the others in `pending`.
    now: Time,
    records: Vec<Record>,
    chunks: Chunks,
    pending: Queue,
    ready: Queue,
    gauge: Gauge,
    stamp: u32,
    ghosts: usize,
    /// No release of `pending` lies before.
    soon: u64,
    /// One lies there.
    soon_exact: bool,
    /// No release in `pending`'s lists lies before.
    listed: u64,
    /// The first in the order, while known.
    least: Option<Least>,
}

/// The first of `ready`.
#[derive(Clone, Copy, Debug)]
struct Least {
    slot: u32,
    deadline: u64,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Run,
    Crowd,
    /// In a tick's list, so far along.
    List(u64, usize),
}

impl Structure for Wheel {
    const NAME: &'static str = "wheel";

    fn new(rank: Rank) -> Result<Wheel, Unsupported> {
        if rank.order != Order::DeadlineFirst {
            let remedy = "a wheel needs the order that compares deadlines first";
            return Err(Unsupported { structure: Wheel::NAME, remedy });
        }
        let size = gauge::lists(SMALLEST);
        Ok(Wheel {
            rank,
            now: Time::ZERO,
            records: Vec::new(),
            chunks: Chunks::new(0, 0),
            pending: Queue::new(rank, size),
            ready: Queue::new(rank, size),
            gauge: Gauge::default(),
            stamp: 0,
            ghosts: 0,
            soon: u64::MAX,
            soon_exact: false,
            listed: u64::MAX,
            least: None,
        })
    }

    fn join(&mut self, slot: u32, record: Record) {
        let needed = slot as usize + 1;
        if self.records.len() < needed {
            self.grow(needed.next_power_of_two().max(SMALLEST));
        }
        self.store(slot, record);
        let tick = self.ready.calendar.tick_length();
        if let Some(better) = self.gauge.joined(tick, self.records.len()) {
            self.rebuild(better);
        }
    }

    #[inline]
    fn load(&self, slot: u32) -> Record {
        self.records.get(slot as usize).copied().unwrap_or(Record::VACANT)
    }

    #[inline]
    fn store(&mut self, slot: u32, mut record: Record) {
        if self.stamp >= CROWD / 2 {
            // Before stamps are used again, there must be no ghosts.
            self.stamp = 0;
            self.rebuild(self.ready.calendar.tick_length());
        }
        let old = &self.records[slot as usize];
        if old.gap != record.gap {
            self.gauge.replace(old, &record);
        }
        if old.waiting() {
            self.displace(slot);
        }
        self.stamp += 1;
        record.link = self.stamp;
        self.records[slot as usize] = record;
        if record.waiting() {
            self.place(slot, &record);
        }
        if self.ghosts > limit_of_ghosts(self.records.len()) {
            self.rebuild(self.ready.calendar.tick_length());
        }
    }

    #[inline]
    fn first(&mut self, now: Time) -> Option<u32> {
        self.release(now);
        self.least().map(|least| least.slot)
    }

    #[inline]
    fn expired(&mut self, now: Time) -> Option<u32> {
        self.release(now);
        self.least().filter(|least| least.deadline < now.0).map(|least| least.slot)
    }

    fn next_release(&mut self) -> Option<Time> {
        if !self.soon_exact {
            self.soon = self.least_release()?;
            self.soon_exact = true;
        }
        Some(Time(self.soon))
    }
}

/// Ghosts beyond this number are swept out.
fn limit_of_ghosts(room: usize) -> usize {
    SMALLEST + room / 4
}

impl Wheel {
    /// Puts a waiting stream where its record belongs.
    #[inline]
    fn place(&mut self, slot: u32, record: &Record) {
        let stamp = record.link;
        let release = self.rank.release(record);
        if release > self.now {
            let entry = Entry { key: release.0, slot, stamp };
            self.soon = self.soon.min(release.0);
            let calendar = &self.pending.calendar;
            let current = calendar.tick_of(release.0) == calendar.tick_of(self.now.0);
            if current && self.pending.run.is_empty() || self.pending.continues(release.0) {
                self.pending.run.insert(entry, |_| Some(true));
            } else {
                self.pending.calendar.insert(&mut self.chunks, entry);
                self.listed = self.listed.min(release.0);
            }
        } else {
            self.admit(Entry { key: record.deadline.0, slot, stamp });
        }
    }

    /// A stream may be served.
    #[inline]
    fn admit(&mut self, entry: Entry) {
        if self.least.is_some_and(|least| entry.key <= least.deadline) {
            self.least = None;
        }
        if self.ready.continues(entry.key) {
            let (rank, records) = (&self.rank, &self.records);
            self.ready.run.insert(entry, |other| {
                is_live(records, other).then(|| order(rank, records, other, &entry).is_lt())
            });
        } else if entry.key == u64::MAX || self.ready.calendar.is_past(entry.key) {
            self.ready.crowd.insert(&mut self.records, entry.slot, entry.key);
        } else {
            self.ready.calendar.insert(&mut self.chunks, entry);
        }
    }

    /// Takes a waiting stream from where it stands.
    #[inline]
    fn displace(&mut self, slot: u32) {
        if let Some(Least { place, .. }) = self.least.take_if(|least| least.slot == slot) {
            match place {
                Place::Run => self.ready.pop(&self.records),
                Place::Crowd => self.ready.crowd.remove(&mut self.records, slot),
                Place::List(tick, at) => {
                    self.ready.calendar.remove(&mut self.chunks, tick, at);
                }
            }
        } else {
            self.displace_other(slot);
        }
    }

    #[cold]
    fn displace_other(&mut self, slot: u32) {
        let record = &self.records[slot as usize];
        let release = self.rank.release(record);
        let pending = release > self.now;
        if pending {
            self.soon_exact &= release.0 != self.soon;
        }
        if record.link & CROWD == 0 {
            self.ghosts += 1;
            return;
        }
        let queue = if pending { &mut self.pending } else { &mut self.ready };
        queue.crowd.remove(&mut self.records, slot);
    }

    /// Admits all whose release is at `now` or before.
    #[inline]
    fn release(&mut self, now: Time) {
        if now <= self.now {
            return;
        }
        self.now = now;
        if self.soon <= now.0 {
            self.drain();
        }
        let block = self.pending.calendar.block_of(now.0);
        if self.pending.calendar.last() <= block || self.ready.calendar.last() <= block {
            self.roll(block + 1);
        }
    }

    /// Admits what `pending`'s window and heap have up to now.
    #[inline]
    fn drain(&mut self) {
        let now = self.now.0;
        self.soon_exact = false;
        let run = loop {
            let Some(entry) = self.pending.run.first().copied() else { break u64::MAX };
            if entry.key > now {
                break entry.key;
            }
            self.pending.pop(&self.records);
            self.admit_released(entry);
        };
        let crowd = self.pending.crowd.top().map_or(u64::MAX, |member| member.key);
        self.soon = self.listed.min(run).min(crowd);
        if self.soon <= now {
            self.drain_lists();
        }
    }

    /// The rest of [`drain`](Self::drain), at most once for each tick that has a list unless
    /// streams crowd it.
    #[cold]
    fn drain_lists(&mut self) {
        let now = self.now.0;
        while let Some(member) = self.pending.crowd.top().filter(|m| m.key <= now).copied() {
            self.pending.crowd.remove(&mut self.records, member.slot);
            self.stamp += 1;
            self.records[member.slot as usize].link = self.stamp;
            let Member { key, slot, .. } = member;
            self.admit_released(Entry { key, slot, stamp: self.stamp });
        }
        let current = self.pending.calendar.tick_of(now);
        self.listed = loop {
            let Some(tick) = self.pending.calendar.first() else { break u64::MAX };
            if tick > current {
                break tick << self.pending.calendar.tick_length();
            }
            if tick == current && self.pending.run.is_empty() {
                self.pending.load(&mut self.chunks, &self.records, tick);
                continue;
            }
            let list = self.pending.calendar.take(tick);
            if tick < current {
                self.admit_list(list);
            } else {
                let records = &mut self.records;
                self.pending.pour(&mut self.chunks, records, list, &mut self.ghosts);
            }
        };
        self.drain();
    }

    fn admit_list(&mut self, mut list: List) {
        while let Some(entry) = self.chunks.pop(&mut list) {
            self.admit_released(entry);
        }
    }

    #[inline]
    fn admit_released(&mut self, entry: Entry) {
        if is_live(&self.records, &entry) {
            let key = self.records[entry.slot as usize].deadline.0;
            self.admit(Entry { key, ..entry });
        } else {
            self.ghosts -= 1;
        }
    }

    /// Moves the windows on to end with block `target`, or as far as streams let `ready`'s.
    #[cold]
    fn roll(&mut self, target: u64) {
        self.drain_lists();
        while self.pending.calendar.last() < target {
            let list = self.pending.calendar.advance(target);
            deal(&mut self.pending, &mut self.chunks, list);
            // What was dealt out may be due before the window moves on.
            self.drain_lists();
        }
        self.roll_ready(target);
    }

    #[cold]
    fn roll_ready(&mut self, target: u64) {
        loop {
            let calendar = &mut self.ready.calendar;
            let first = calendar.first();
            let limit = first.map_or(target, |tick| calendar.block_of_tick(tick) + 1).min(target);
            if limit <= calendar.last() {
                return;
            }
            let list = calendar.advance(limit);
            deal(&mut self.ready, &mut self.chunks, list);
        }
    }

    /// The least release of `pending`.
    fn least_release(&mut self) -> Option<u64> {
        while let Some(entry) = self.pending.run.first() {
            if is_live(&self.records, entry) {
                break;
            }
            self.pending.run.pop();
            self.ghosts -= 1;
        }
        let run = self.pending.run.first().map(|entry| entry.key);
        let crowd = self.pending.crowd.top().map(|member| member.key);
        let ordered = run.into_iter().chain(crowd).min();
        loop {
            let first = self.pending.calendar.first();
            let beyond = self.pending.calendar.first_coarse();
            let list = match (first, &beyond) {
                (Some(tick), _) => self.pending.calendar.list(tick),
                (None, Some(beyond)) => self.pending.calendar.list_coarse(beyond),
                (None, None) => return ordered,
            };
            let entries = self.chunks.iter(list).filter(|entry| is_live(&self.records, entry));
            if let Some(least) = entries.map(|entry| entry.key).min() {
                return Some(ordered.map_or(least, |ordered| ordered.min(least)));
            }
            // Nothing but ghosts.
            let mut list = match (first, &beyond) {
                (Some(tick), _) => self.pending.calendar.take(tick),
                (None, Some(beyond)) => self.pending.calendar.take_coarse(beyond),
                (None, None) => return ordered,
            };
            while self.chunks.pop(&mut list).is_some() {
                self.ghosts -= 1;
            }
        }
    }

    /// The first in the order of those that were admitted.
    #[inline]
    fn least(&mut self) -> Option<Least> {
        if self.least.is_none() {
            self.least = self.find_least();
        }
        self.least
    }

    fn find_least(&mut self) -> Option<Least> {
        loop {
            let ordered = self.least_ordered();
            if let Some(least) = ordered {
                let calendar = &self.ready.calendar;
                let tick = calendar.tick_of(least.deadline);
                // Where streams work ahead, the window follows them; see below.
                let follows = calendar.block_of_tick(tick) < calendar.last();
                if tick < calendar.bound() && (self.rank.ahead.is_some() || follows) {
                    return ordered;
                }
            }
            let Some(tick) = self.ready.calendar.first() else {
                if self.look_beyond(ordered) {
                    continue;
                }
                return ordered;
            };
            let calendar = &self.ready.calendar;
            if ordered.is_some_and(|least| calendar.tick_of(least.deadline) < tick) {
                return ordered;
            }
            if self.rank.ahead.is_none() && calendar.block_of_tick(tick) == calendar.last() {
                // Streams work ahead, so the window follows their deadlines, not the time.
                self.roll_ready(calendar.last() + 1);
            }
            let list = self.ready.calendar.list(tick);
            match self.chunks.short(list).filter(|entries| entries.len() <= SEARCHED) {
                Some(entries) => match search(&self.rank, &self.records, entries) {
                    Ok(at) => {
                        let found = entries[at];
                        let list = Place::List(tick, at);
                        let least = Least { slot: found.slot, deadline: found.key, place: list };
                        return Some(self.lesser(least, ordered));
                    }
                    Err(ghost) => {
                        self.ready.calendar.remove(&mut self.chunks, tick, ghost);
                        self.ghosts -= 1;
                    }
                },
                None => self.put_in_order(tick),
            }
        }
    }

    /// The first of those that are in order already.
    #[inline]
    fn least_ordered(&mut self) -> Option<Least> {
        let run = loop {
            let Some(entry) = self.ready.run.first() else { break None };
            if is_live(&self.records, entry) {
                break Some(Least { slot: entry.slot, deadline: entry.key, place: Place::Run });
            }
            self.ready.pop(&self.records);
            self.ghosts -= 1;
        };
        let Some(top) = self.ready.crowd.top() else { return run };
        Some(self.lesser(Least { slot: top.slot, deadline: top.key, place: Place::Crowd }, run))
    }

    #[inline]
    fn lesser(&self, a: Least, b: Option<Least>) -> Least {
        let Some(b) = b.filter(|b| b.deadline <= a.deadline) else { return a };
        if b.deadline < a.deadline {
            return b;
        }
        let stream = |least: &Least| (least.slot, &self.records[least.slot as usize]);
        if self.rank.before(stream(&a), stream(&b)) { a } else { b }
    }

    /// A tick's list is long: it becomes the run, unless there is one that is much longer.
    fn put_in_order(&mut self, tick: u64) {
        if !self.ready.run.is_empty() {
            let list = self.ready.calendar.list(tick);
            if !self.chunks.exceeds(list, self.ready.run.len() / 4) {
                let list = self.ready.calendar.take(tick);
                let records = &mut self.records;
                self.ready.pour(&mut self.chunks, records, list, &mut self.ghosts);
                return;
            }
            while let Some(entry) = self.ready.run.pop() {
                if !is_live(&self.records, &entry) {
                    self.ghosts -= 1;
                } else if self.ready.calendar.is_past(entry.key) {
                    self.ready.crowd.insert(&mut self.records, entry.slot, entry.key);
                } else {
                    self.ready.calendar.insert(&mut self.chunks, entry);
                }
            }
        }
        self.ready.load(&mut self.chunks, &self.records, tick);
        self.ready.settle_ties(&self.rank, &self.records);
    }

    /// The window is empty: what lies beyond comes into it or into the heap, unless an earlier
    /// stream is known. Answers whether anything moved.
    #[cold]
    fn look_beyond(&mut self, ordered: Option<Least>) -> bool {
        let calendar = &mut self.ready.calendar;
        let Some(beyond) = calendar.first_coarse() else { return false };
        if ordered.is_some_and(|least| calendar.block_of(least.deadline) < beyond.start) {
            return false;
        }
        if self.rank.ahead.is_some() && !self.chunks.exceeds(calendar.list_coarse(&beyond), DEALT) {
            let list = calendar.take_coarse(&beyond);
            self.ready.pour(&mut self.chunks, &mut self.records, list, &mut self.ghosts);
        } else {
            self.roll_ready(beyond.start);
        }
        true
    }

    #[cold]
    fn grow(&mut self, room: usize) {
        self.records.resize(room, Record::VACANT);
        let (size, tick) = (gauge::lists(room), self.gauge.tick(room));
        let entries = room + limit_of_ghosts(room) + 1;
        for queue in [&mut self.pending, &mut self.ready] {
            queue.calendar = calendar::Calendar::new(tick, size, self.now.0);
            queue.run.grow(entries);
            queue.crowd.grow(room);
        }
        self.chunks = Chunks::new(entries, 2 * ((1 << size) + COARSE));
        self.rebuild(tick);
    }

    /// Puts all streams into wheels of some tick, without ghosts.
    #[cold]
    fn rebuild(&mut self, tick: u32) {
        self.chunks.clear();
        for queue in [&mut self.pending, &mut self.ready] {
            queue.clear(tick, self.now.0);
        }
        self.least = None;
        self.ghosts = 0;
        (self.soon, self.soon_exact, self.listed) = (u64::MAX, false, u64::MAX);
        for slot in 0..self.records.len() as u32 {
            self.stamp += 1;
            let record = &mut self.records[slot as usize];
            record.link = self.stamp;
            let record = *record;
            if record.waiting() {
                self.place(slot, &record);
            }
        }
        self.gauge.rebuilt();
    }
}

/// Inserts the streams of a list again, the window having moved.
fn deal(queue: &mut Queue, chunks: &mut Chunks, mut list: List) {
    while let Some(entry) = chunks.pop(&mut list) {
        queue.calendar.insert(chunks, entry);
    }
}

/// Where the first in the order stands, or a ghost.
#[inline]
fn search(rank: &Rank, records: &[Record], entries: &[Entry]) -> Result<usize, usize> {
    let mut least = 0;
    for (at, entry) in entries.iter().enumerate() {
        if !is_live(records, entry) {
            return Err(at);
        }
        let best = &entries[least];
        if entry.key > best.key || at == 0 {
            continue;
        }
        let stream = |entry: &Entry| (entry.slot, &records[entry.slot as usize]);
        if entry.key < best.key || rank.before(stream(entry), stream(best)) {
            least = at;
        }
    }
    Ok(least)
}
