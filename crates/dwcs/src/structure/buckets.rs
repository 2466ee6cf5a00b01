//! `buckets`: a queue by deadline for each tolerance, for tolerances first.

mod bucket;
mod table;
mod tournament;

use alloc::vec::Vec;

use laxity_core::Time;

use self::bucket::{Bucket, TICKS};
use self::table::Table;
use self::tournament::{NEVER, Tournament};
use super::Unsupported;
use super::index_heap::IndexHeap;
use super::timed::{Chunks, Entry, IN_OVERFLOW, Ready, Run, Size, Streams, Timed};
use crate::rank::urgency;
use crate::{Order, Rank, Record, ZeroTie};

/// A bucket for each tolerance x'/y' that windows have at the moment, in which streams are ordered
/// by deadline. Tolerances are few, since streams come in classes: the first stream is the head of
/// the first bucket that is not empty, the first to expire is the least of the heads. A tournament
/// over the buckets answers each of these.
///
/// A bucket has lists of small entries for ticks of time, as the [`Wheel`](super::Wheel) has; the
/// first tick's list is in order. Streams that fit no list are in the paper's two heaps: streams
/// without deadlines, those due long after the others of their bucket, and those whose tolerances
/// are too many for buckets. So memory is bounded for any input, and only speed suffers.
pub type Buckets = Timed<ByTolerance>;

/// Buckets for each stream that there is room for, as a power of two below one.
const SHARE: u32 = 6;
/// But so many at least, and at most.
const FEWEST: usize = 1 << 10;
const MOST: usize = 1 << 14;

/// Chunks beyond full ones: for so many lists at least,
const LISTS: usize = 1 << 12;
/// and for one for so many streams.
const STREAMS_OF_LIST: usize = 16;

/// The streams that may be served, by tolerance.
#[derive(Clone, Debug)]
pub struct ByTolerance {
    rank: Rank,
    chunks: Chunks,
    table: Table,
    buckets: Vec<Bucket>,
    most_buckets: usize,
    /// Buckets that belong to no tolerance.
    spare: Vec<u32>,
    /// Streams that found no bucket since it was last seen which are empty.
    refused: usize,
    /// Of the buckets: which is first, which has the first deadline.
    by_urgency: Tournament,
    by_deadline: Tournament,
    scratch: Run,
    others: Others,
    /// Nanoseconds of a tick, as a power of two.
    tick: u32,
    lists: u32,
}

/// Streams that fit no bucket, in two heaps. Their links say [`IN_OVERFLOW`].
#[derive(Clone, Debug, Default)]
struct Others {
    in_order: IndexHeap,
    by_deadline: IndexHeap,
}

impl Ready for ByTolerance {
    const NAME: &'static str = "buckets";

    fn new(rank: Rank) -> Result<ByTolerance, Unsupported> {
        let refused = |remedy| Err(Unsupported { structure: Self::NAME, remedy });
        if rank.order != Order::ToleranceFirst {
            return refused("buckets need the order that compares tolerances first");
        }
        if rank.zero_tie != ZeroTie::Deadline {
            return refused("buckets need ties among zero tolerances to go by deadline");
        }
        Ok(ByTolerance {
            rank,
            chunks: Chunks::new(0, 0),
            table: Table::new(0),
            buckets: Vec::new(),
            most_buckets: 0,
            spare: Vec::new(),
            refused: 0,
            by_urgency: Tournament::new(1),
            by_deadline: Tournament::new(1),
            scratch: Run::default(),
            others: Others::default(),
            tick: 0,
            lists: 0,
        })
    }

    fn grow(&mut self, size: Size) {
        self.most_buckets = (size.streams >> SHARE).clamp(FEWEST, MOST);
        self.table = Table::new(self.most_buckets);
        self.buckets.clear();
        self.buckets.reserve(self.most_buckets);
        self.spare.reserve(self.most_buckets);
        self.by_urgency = Tournament::new(self.most_buckets);
        self.by_deadline = Tournament::new(self.most_buckets);
        self.chunks = Chunks::new(size.entries, LISTS.max(size.streams / STREAMS_OF_LIST));
        self.scratch.clear();
        self.scratch.grow(size.entries);
        self.others.in_order.grow(size.streams);
        self.others.by_deadline.grow(size.streams);
        self.lists = size.lists;
    }

    fn clear(&mut self, tick: u32, _: Time) {
        // Windows as long as a calendar's, of fewer ticks.
        self.tick = (tick + self.lists.saturating_sub(TICKS.ilog2())).min(63);
        self.table.clear();
        self.buckets.clear();
        self.spare.clear();
        self.refused = self.most_buckets;
        self.by_urgency.clear();
        self.by_deadline.clear();
        self.chunks.clear();
        self.scratch.clear();
        self.others.in_order.clear();
        self.others.by_deadline.clear();
    }

    #[inline]
    fn admit(&mut self, streams: &mut Streams, slot: u32, _: Time) {
        let Record { deadline, window, .. } = *streams.at(slot);
        let entry = streams.entry(slot, deadline.0);
        if self.enter(streams, urgency(window), entry).is_none() {
            streams.records[slot as usize].link = IN_OVERFLOW;
            self.others.place(&self.rank, &streams.records, slot, true);
        }
    }

    #[inline]
    fn remove(&mut self, streams: &mut Streams, slot: u32) {
        let record = streams.at(slot);
        if record.link == IN_OVERFLOW {
            return self.others.place(&self.rank, &streams.records, slot, false);
        }
        let Some(number) = self.table.find(urgency(record.window)) else { return };
        let bucket = &mut self.buckets[number as usize];
        if bucket.head.slot != slot {
            streams.stale_entries += 1;
            return;
        }
        bucket.pop(&self.rank, streams, &mut self.chunks, &mut self.scratch, self.tick);
        if bucket.is_empty() {
            self.by_urgency.set(number, NEVER);
            self.by_deadline.set(number, NEVER);
        } else {
            self.by_deadline.set(number, bucket.head.key);
        }
    }

    #[inline]
    fn advance(&mut self, _: &mut Streams, _: Time) {}

    #[inline]
    fn first(&mut self, streams: &mut Streams) -> Option<u32> {
        let (urgency, number) = self.by_urgency.winner();
        let head = (urgency != NEVER).then(|| self.buckets[number as usize].head.slot);
        let Some(other) = self.others.in_order.top() else { return head };
        let stream = |slot: u32| (slot, streams.at(slot));
        let head = head.filter(|head| self.rank.before(stream(*head), stream(other)));
        head.or(Some(other))
    }

    #[inline]
    fn expired(&mut self, streams: &mut Streams, now: Time) -> Option<u32> {
        let (deadline, number) = self.by_deadline.winner();
        if deadline < now.0 {
            return Some(self.buckets[number as usize].head.slot);
        }
        let other = self.others.by_deadline.top()?;
        (streams.at(other).deadline < now).then_some(other)
    }
}

impl ByTolerance {
    /// Puts a stream into its bucket, if there is room for it.
    #[inline]
    fn enter(&mut self, streams: &Streams, urgency: u64, entry: Entry) -> Option<()> {
        if entry.key == NEVER {
            return None;
        }
        let number = match self.table.find(urgency) {
            Some(number) => number,
            None => self.open(urgency)?,
        };
        let bucket = &mut self.buckets[number as usize];
        let tick = entry.key >> self.tick;
        if !bucket.spans(tick) {
            return None;
        }
        let rank = &self.rank;
        let precedes = |a: &Entry, b: &Entry| {
            let stream = |entry: &Entry| (entry.slot, streams.at(entry.slot));
            a.key < b.key || a.key == b.key && rank.before(stream(a), stream(b))
        };
        let was_empty = bucket.is_empty();
        if bucket.insert(&mut self.chunks, tick, entry, precedes)? {
            self.by_deadline.set(number, entry.key);
            if was_empty {
                self.by_urgency.set(number, urgency);
            }
        }
        Some(())
    }

    /// Allocates a bucket for a tolerance that has none.
    #[cold]
    fn open(&mut self, urgency: u64) -> Option<u32> {
        let fresh = Bucket::new(urgency);
        if self.buckets.len() < self.most_buckets {
            self.buckets.push(fresh);
            let number = self.buckets.len() as u32 - 1;
            self.table.insert(urgency, number);
            return Some(number);
        }
        if self.spare.is_empty() {
            // Not each time, so that looking costs little for each stream.
            self.refused += 1;
            if self.refused <= self.most_buckets {
                return None;
            }
            self.recycle();
        }
        let number = self.spare.pop()?;
        self.buckets[number as usize] = fresh;
        self.table.insert(urgency, number);
        Some(number)
    }

    /// Empty buckets lose their tolerances.
    fn recycle(&mut self) {
        self.refused = 0;
        self.table.clear();
        for (number, bucket) in (0..).zip(&self.buckets) {
            if bucket.is_empty() {
                self.spare.push(number);
            } else {
                self.table.insert(bucket.urgency, number);
            }
        }
    }
}

impl Others {
    fn place(&mut self, rank: &Rank, records: &[Record], slot: u32, member: bool) {
        let record = |slot: u32| &records[slot as usize];
        self.in_order.place(slot, member, |a, b| rank.before((a, record(a)), (b, record(b))));
        self.by_deadline.place(slot, member, |a, b| record(a).deadline < record(b).deadline);
    }
}
