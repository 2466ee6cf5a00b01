//! `list`: looks at every stream, every time. Obviously right, so others are held against it.

use alloc::vec::Vec;

use laxity_core::Time;

use super::{Structure, Unsupported};
use crate::{Rank, Record};

/// A linear list (the slow side of Figure 5(a)).
#[derive(Clone, Debug)]
pub struct List {
    rank: Rank,
    records: Vec<Record>,
    /// Up to the slot `checked_to` no deadline lies before `checked_at`: one pass finds all that
    /// a decision needs.
    checked_to: u32,
    checked_at: Time,
}

impl List {
    fn waiting(&self) -> impl Iterator<Item = (u32, &Record)> {
        (0..).zip(&self.records).filter(|(_, r)| r.waiting())
    }
}

impl Structure for List {
    const NAME: &'static str = "list";

    fn new(rank: Rank) -> Result<List, Unsupported> {
        Ok(List { rank, records: Vec::new(), checked_to: 0, checked_at: Time::ZERO })
    }

    fn join(&mut self, slot: u32, record: Record) {
        let needed = slot as usize + 1;
        if self.records.len() < needed {
            self.records.resize(needed, Record::VACANT);
        }
        self.store(slot, record);
    }

    fn load(&self, slot: u32) -> Record {
        self.records.get(slot as usize).copied().unwrap_or(Record::VACANT)
    }

    fn store(&mut self, slot: u32, record: Record) {
        self.records[slot as usize] = record;
        if record.deadline < self.checked_at {
            self.checked_to = self.checked_to.min(slot);
        }
    }

    fn first(&mut self, now: Time) -> Option<u32> {
        let eligible = self.waiting().filter(|(_, r)| self.rank.release(r) <= now);
        eligible.map(|(slot, r)| self.rank.key(slot, r)).min().map(|key| key.slot())
    }

    fn expired(&mut self, now: Time) -> Option<u32> {
        if now != self.checked_at {
            (self.checked_at, self.checked_to) = (now, 0);
        }
        let rest = self.records.iter().skip(self.checked_to as usize);
        let passed = rest.take_while(|r| !(r.waiting() && r.deadline < now)).count();
        self.checked_to += passed as u32;
        ((self.checked_to as usize) < self.records.len()).then_some(self.checked_to)
    }

    fn next_release(&mut self) -> Option<Time> {
        self.waiting().map(|(_, r)| self.rank.release(r)).min()
    }
}
