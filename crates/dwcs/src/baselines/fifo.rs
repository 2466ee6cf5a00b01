//! `fifo`: order of arrival.

use laxity_core::{Live, OptionTable, PolicyInfo};

use crate::structure::Precedence;
use crate::{Rank, Record};

/// Serves the stream whose head arrived first.
#[derive(Clone, Copy, Debug)]
pub struct Fifo;

impl Fifo {
    /// Its entry in the list of policies.
    pub const INFO: PolicyInfo = PolicyInfo {
        name: "fifo",
        summary: "the packet that arrived first, whatever its stream tolerates",
        source: "the paper, section 5",
        keeps_deadlines: false,
        live: &[Live::MediaServer],
        options: &[],
        table: OptionTable::None,
    };
}

impl Precedence for Fifo {
    const NAME: &'static str = Fifo::INFO.name;

    fn new(_: Rank) -> Fifo {
        Fifo
    }

    #[inline]
    fn before(&self, (slot_a, a): (u32, &Record), (slot_b, b): (u32, &Record)) -> bool {
        (a.arrival, slot_a) < (b.arrival, slot_b)
    }
}
