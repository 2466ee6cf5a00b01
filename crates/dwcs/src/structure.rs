//! Priority structures of streams. All make the same decisions; they differ in cost.

mod bits;
mod buckets;
mod fastest;
mod heaps;
mod index_heap;
mod list;
mod timed;
mod wheel;

use core::fmt;

use laxity_core::Time;

use crate::{Rank, Record};

pub use buckets::Buckets;
pub use fastest::Fastest;
pub use heaps::{Heaps, Precedence};
pub use list::List;
pub use wheel::Wheel;

/// The records of all streams, and the first among them.
///
/// A stream is named by its slot, from 0 without large holes. The structure owns the records, so
/// it may store parts of them in other forms (a bucket can represent a window). The calls
/// of one decision are: [`expired`](Self::expired), [`load`](Self::load) and
/// [`store`](Self::store) until no deadline has passed; then [`first`](Self::first), `load`,
/// `store`. Loads that are not of the slot just answered by `first` or `expired` are rare (joins,
/// changes, arrivals at an empty queue) and may be slower. Time never goes back.
pub trait Structure: Sized {
    /// The one name, in benchmarks and options.
    const NAME: &'static str;

    /// An empty structure for streams in this order.
    ///
    /// # Errors
    /// When the structure cannot keep this order.
    fn new(rank: Rank) -> Result<Self, Unsupported>;

    /// Assigns `slot` to a stream, or new attributes to its stream. Allocates all memory the stream
    /// will ever need: nothing else may. `record` is to be stored.
    fn join(&mut self, slot: u32, record: Record);

    /// The record of a slot; [`Record::VACANT`] for one that was never allocated.
    fn load(&self, slot: u32) -> Record;

    /// Replaces the record, and puts the stream where it now belongs: out of the order when
    /// nothing waits or the place is vacant.
    fn store(&mut self, slot: u32, record: Record);

    /// The first in the order of those that wait and may go out at `now`.
    fn first(&mut self, now: Time) -> Option<u32>;

    /// Some stream that waits with a deadline before `now`; in which order they are answered is
    /// the structure's affair.
    fn expired(&mut self, now: Time) -> Option<u32>;

    /// The earliest release among waiting streams that may not be served yet; called after
    /// [`first`](Self::first) answered `None`.
    fn next_release(&mut self) -> Option<Time>;

    /// The head of a slot is sent; `store` follows. For orders that depend on more than records.
    #[inline]
    fn served(&mut self, _slot: u32) {}

    /// So many deadlines of a slot were missed; `store` follows.
    #[inline]
    fn missed(&mut self, _slot: u32, _count: u64) {}
}

/// A structure cannot keep the order that the options ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The structure's name.
    pub structure: &'static str,
    /// The remedy.
    pub remedy: &'static str,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the structure {} cannot keep this order: {}", self.structure, self.remedy)
    }
}

impl core::error::Error for Unsupported {}
