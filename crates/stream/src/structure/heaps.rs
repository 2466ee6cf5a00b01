//! `heaps`: the paper's two binary heaps.

use alloc::vec::Vec;

use laxity_core::Time;

use super::index_heap::IndexHeap;
use super::{Structure, Unsupported};
use crate::{Rank, Record};

/// One heap by deadline, in which expiry looks no further than the top, and one in the order of
/// streams (section 4, Figure 1(a)). Where streams may not work ahead without bound, a third holds
/// those whose heads may not go out yet.
#[derive(Clone, Debug)]
pub struct Heaps {
    rank: Rank,
    now: Time,
    records: Vec<Record>,
    deadlines: IndexHeap,
    ready: IndexHeap,
    releases: IndexHeap,
}

impl Structure for Heaps {
    const NAME: &'static str = "heaps";

    fn new(rank: Rank) -> Result<Heaps, Unsupported> {
        Ok(Heaps {
            rank,
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
        self.store(slot, record);
    }

    #[inline]
    fn load(&self, slot: u32) -> Record {
        self.records.get(slot as usize).copied().unwrap_or(Record::VACANT)
    }

    fn store(&mut self, slot: u32, record: Record) {
        self.records[slot as usize] = record;
        let (rank, records) = (self.rank, self.records.as_slice());
        let released = record.waiting() && rank.release(&record) <= self.now;
        let expires = record.waiting() && record.has_deadlines();
        self.deadlines.place(slot, expires, by_deadline(records));
        self.ready.place(slot, released, in_order(rank, records));
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
            self.ready.place(slot, true, in_order(rank, records));
        }
        self.ready.top()
    }

    fn expired(&mut self, now: Time) -> Option<u32> {
        self.deadlines.top().filter(|slot| self.records[*slot as usize].deadline < now)
    }

    fn next_release(&mut self) -> Option<Time> {
        self.releases.top().map(|slot| self.rank.release(&self.records[slot as usize]))
    }
}

fn by_deadline(records: &[Record]) -> impl Fn(u32, u32) -> bool {
    |a, b| records[a as usize].deadline < records[b as usize].deadline
}

fn by_release(rank: Rank, records: &[Record]) -> impl Fn(u32, u32) -> bool {
    move |a, b| rank.release(&records[a as usize]) < rank.release(&records[b as usize])
}

fn in_order(rank: Rank, records: &[Record]) -> impl Fn(u32, u32) -> bool {
    move |a, b| rank.before((a, &records[a as usize]), (b, &records[b as usize]))
}
