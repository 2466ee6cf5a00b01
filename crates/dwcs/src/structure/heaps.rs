//! `heaps`: the paper's two binary heaps.

use alloc::vec::Vec;

use laxity_core::Time;

use super::index_heap::IndexHeap;
use super::{Structure, Unsupported};
use crate::{Rank, Record};

/// Precedence of two waiting streams that may be served.
///
/// DWCS looks at records alone, as [`Rank`] says. Other policies ([`baselines`](crate::baselines))
/// may keep what they need beside them.
pub trait Precedence: Sized {
    /// The one name of the structure or policy.
    const NAME: &'static str;

    /// Without streams.
    fn new(rank: Rank) -> Self;

    /// Whether the first goes before the second; a strict total order.
    fn before(&self, a: (u32, &Record), b: (u32, &Record)) -> bool;

    /// Assigns `slot` to a stream, or new attributes to its stream. May allocate.
    #[inline]
    fn joined(&mut self, _slot: u32, _record: &Record) {}

    /// A packet came to a slot where none waited.
    #[inline]
    fn woken(&mut self, _slot: u32) {}

    /// The head of a slot goes out.
    #[inline]
    fn served(&mut self, _slot: u32) {}

    /// So many deadlines of a slot were missed.
    #[inline]
    fn missed(&mut self, _slot: u32, _count: u64) {}
}

impl Precedence for Rank {
    const NAME: &'static str = "heaps";

    fn new(rank: Rank) -> Rank {
        rank
    }

    #[inline]
    fn before(&self, a: (u32, &Record), b: (u32, &Record)) -> bool {
        Rank::before(self, a, b)
    }
}

/// One heap by deadline, in which expiry looks no further than the top, and one in the order of
/// streams (section 4, Figure 1(a)). Where streams may not work ahead without bound, a third holds
/// those whose heads may not be sent yet.
#[derive(Clone, Debug)]
pub struct Heaps<P = Rank> {
    rank: Rank,
    precedence: P,
    now: Time,
    records: Vec<Record>,
    deadlines: IndexHeap,
    ready: IndexHeap,
    releases: IndexHeap,
}

impl<P: Precedence> Structure for Heaps<P> {
    const NAME: &'static str = P::NAME;

    fn new(rank: Rank) -> Result<Heaps<P>, Unsupported> {
        Ok(Heaps {
            rank,
            precedence: P::new(rank),
            now: Time::ZERO,
            records: Vec::new(),
            deadlines: IndexHeap::default(),
            ready: IndexHeap::default(),
            releases: IndexHeap::default(),
        })
    }

    fn join(&mut self, slot: u32, record: Record) {
        let needed = slot as usize + 1;
        if self.records.len() < needed {
            self.records.resize(needed, Record::VACANT);
        }
        for heap in [&mut self.deadlines, &mut self.ready, &mut self.releases] {
            heap.grow(needed);
        }
        self.precedence.joined(slot, &record);
        self.store(slot, record);
    }

    #[inline]
    fn load(&self, slot: u32) -> Record {
        self.records.get(slot as usize).copied().unwrap_or(Record::VACANT)
    }

    fn store(&mut self, slot: u32, record: Record) {
        if record.waiting() && !self.records[slot as usize].waiting() {
            self.precedence.woken(slot);
        }
        self.records[slot as usize] = record;
        let (rank, records) = (self.rank, self.records.as_slice());
        let released = record.waiting() && rank.release(&record) <= self.now;
        let expires = record.waiting() && record.has_deadlines();
        self.deadlines.place(slot, expires, by_deadline(records));
        self.ready.place(slot, released, in_order(&self.precedence, records));
        self.releases.place(slot, record.waiting() && !released, by_release(rank, records));
    }

    fn first(&mut self, now: Time) -> Option<u32> {
        self.now = now;
        let (rank, records) = (self.rank, self.records.as_slice());
        while let Some(slot) = self.releases.top() {
            if rank.release(&records[slot as usize]) > now {
                break;
            }
            self.releases.place(slot, false, by_release(rank, records));
            self.ready.place(slot, true, in_order(&self.precedence, records));
        }
        self.ready.top()
    }

    fn expired(&mut self, now: Time) -> Option<u32> {
        self.deadlines.top().filter(|slot| self.records[*slot as usize].deadline < now)
    }

    fn next_release(&mut self) -> Option<Time> {
        self.releases.top().map(|slot| self.rank.release(&self.records[slot as usize]))
    }

    #[inline]
    fn served(&mut self, slot: u32) {
        self.precedence.served(slot);
    }

    #[inline]
    fn missed(&mut self, slot: u32, count: u64) {
        self.precedence.missed(slot, count);
    }
}

fn by_deadline(records: &[Record]) -> impl Fn(u32, u32) -> bool {
    |a, b| records[a as usize].deadline < records[b as usize].deadline
}

fn by_release(rank: Rank, records: &[Record]) -> impl Fn(u32, u32) -> bool {
    move |a, b| rank.release(&records[a as usize]) < rank.release(&records[b as usize])
}

fn in_order<P: Precedence>(precedence: &P, records: &[Record]) -> impl Fn(u32, u32) -> bool {
    |a, b| precedence.before((a, &records[a as usize]), (b, &records[b as usize]))
}
