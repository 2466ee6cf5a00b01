//! `fastest`: the structure that suits the order best.

use laxity_core::Time;

use super::{Buckets, Heaps, Structure, Unsupported, Wheel};
use crate::{Order, Rank, Record, ZeroTie};

/// A [`Wheel`] when deadlines come first, [`Buckets`] when tolerances do and deadlines settle ties,
/// else the two [`Heaps`], which keep any order. It never refuses.
#[derive(Clone, Debug)]
pub enum Fastest {
    /// Deadlines first.
    Wheel(Wheel),
    /// Tolerances first.
    Buckets(Buckets),
    /// As in the paper.
    Heaps(Heaps),
}

/// The same of whichever structure there is. The branch always goes the same way.
macro_rules! each {
    ($fastest:expr, $structure:ident => $call:expr) => {
        match $fastest {
            Fastest::Wheel($structure) => $call,
            Fastest::Buckets($structure) => $call,
            Fastest::Heaps($structure) => $call,
        }
    };
}

impl Structure for Fastest {
    const NAME: &'static str = "fastest";

    fn new(rank: Rank) -> Result<Fastest, Unsupported> {
        match (rank.order, rank.zero_tie) {
            (Order::DeadlineFirst, _) => Wheel::new(rank).map(Fastest::Wheel),
            (Order::ToleranceFirst, ZeroTie::Deadline) => Buckets::new(rank).map(Fastest::Buckets),
            (Order::ToleranceFirst, ZeroTie::FirstCome) => Heaps::new(rank).map(Fastest::Heaps),
        }
    }

    fn join(&mut self, slot: u32, record: Record) {
        each!(self, structure => structure.join(slot, record));
    }

    #[inline]
    fn load(&self, slot: u32) -> Record {
        each!(self, structure => structure.load(slot))
    }

    #[inline]
    fn store(&mut self, slot: u32, record: Record) {
        each!(self, structure => structure.store(slot, record));
    }

    #[inline]
    fn first(&mut self, now: Time) -> Option<u32> {
        each!(self, structure => structure.first(now))
    }

    #[inline]
    fn expired(&mut self, now: Time) -> Option<u32> {
        each!(self, structure => structure.expired(now))
    }

    fn next_release(&mut self) -> Option<Time> {
        each!(self, structure => structure.next_release())
    }
}
