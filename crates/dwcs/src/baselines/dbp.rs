//! `dbp`: distance-based priority.

use alloc::vec::Vec;

use laxity_core::{Live, OptionTable, PolicyInfo};

use crate::history::History;
use crate::structure::Precedence;
use crate::{Rank, Record};

/// The stream that the fewest further misses in a row would bring to failure, where failure is
/// more than `x` misses in the last `y` slots: (m, k)-firm deadlines with `m = y - x`, `k = y`
/// (Hamdaoui and Ramanathan, IEEE Transactions on Computers 1995). Equal distances go by deadline.
///
/// Slots are those of [`Measures`](crate::Measures), and those before the first packet count as
/// met. A stream that has failed has distance 0. What tolerates everything, or has no window, goes
/// last.
#[derive(Clone, Debug)]
pub struct Dbp {
    streams: Vec<Option<Distance>>,
}

#[derive(Clone, Debug)]
struct Distance {
    history: History,
    to_failure: u16,
}

impl Dbp {
    /// Its entry in the list of policies.
    pub const INFO: PolicyInfo = PolicyInfo {
        name: "dbp",
        summary: "the stream nearest to more than x misses in its last y packets, (m,k)-firm",
        source: "Hamdaoui and Ramanathan, IEEE Transactions on Computers 44(12), 1995",
        keeps_deadlines: false,
        live: &[Live::MediaServer],
        options: &[],
        table: OptionTable::None,
    };

    #[inline]
    pub(super) fn distance(&self, slot: u32) -> u16 {
        self.streams[slot as usize].as_ref().map_or(u16::MAX, |s| s.to_failure)
    }

    #[inline]
    fn update(&mut self, slot: u32, enter: impl FnOnce(&mut History)) {
        if let Some(stream) = &mut self.streams[slot as usize] {
            enter(&mut stream.history);
            stream.to_failure = stream.history.distance();
        }
    }
}

impl Precedence for Dbp {
    const NAME: &'static str = Dbp::INFO.name;

    fn new(_: Rank) -> Dbp {
        Dbp { streams: Vec::new() }
    }

    fn joined(&mut self, slot: u32, record: &Record) {
        let slot = slot as usize;
        if self.streams.len() <= slot {
            self.streams.resize(slot + 1, None);
        }
        let can_fail = record.tolerance.x() < record.tolerance.y() && record.has_deadlines();
        self.streams[slot] = can_fail.then(|| {
            let history = History::new(record.tolerance);
            Distance { to_failure: history.distance(), history }
        });
    }

    #[inline]
    fn served(&mut self, slot: u32) {
        self.update(slot, |history| {
            history.met();
        });
    }

    #[inline]
    fn missed(&mut self, slot: u32, count: u64) {
        self.update(slot, |history| {
            history.missed(count);
        });
    }

    #[inline]
    fn before(&self, (slot_a, a): (u32, &Record), (slot_b, b): (u32, &Record)) -> bool {
        let key = |slot, r: &Record| (self.distance(slot), r.deadline, r.arrival, slot);
        key(slot_a, a) < key(slot_b, b)
    }
}
