//! `edf`: earliest deadline first, and nothing else.

use laxity_core::{Live, OptionTable, PolicyInfo};

use crate::structure::Precedence;
use crate::{Rank, Record};

/// The stream whose head is due first. Meets all deadlines whenever any order does; in overload
/// it spreads misses regardless of tolerances.
#[derive(Clone, Copy, Debug)]
pub struct Edf;

impl Edf {
    /// Its entry in the list of policies.
    pub const INFO: PolicyInfo = PolicyInfo {
        name: "edf",
        summary: "the packet that is due first, whatever its stream tolerates",
        source: "Liu and Layland, JACM 1973",
        keeps_deadlines: false,
        live: &[Live::MediaServer],
        options: &[],
        table: OptionTable::None,
    };
}

impl Precedence for Edf {
    const NAME: &'static str = Edf::INFO.name;

    fn new(_: Rank) -> Edf {
        Edf
    }

    #[inline]
    fn before(&self, (slot_a, a): (u32, &Record), (slot_b, b): (u32, &Record)) -> bool {
        (a.deadline, a.arrival, slot_a) < (b.deadline, b.arrival, slot_b)
    }
}
