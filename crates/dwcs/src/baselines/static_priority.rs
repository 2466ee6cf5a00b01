//! `static-priority`: the less a stream tolerates, the sooner it goes, always.

use laxity_core::{Live, OptionTable, PolicyInfo};

use crate::rank::urgency;
use crate::structure::Precedence;
use crate::{Rank, Record, Window};

/// Priorities by the original tolerance `x/y`, order of arrival among equal ones: DWCS whose
/// windows never move. The most tolerant streams starve first.
#[derive(Clone, Copy, Debug)]
pub struct StaticPriority;

impl StaticPriority {
    /// Its entry in the list of policies.
    pub const INFO: PolicyInfo = PolicyInfo {
        name: "static-priority",
        summary: "the stream with the lowest tolerance, in order of arrival among equal ones",
        source: "the paper, section 1",
        keeps_deadlines: false,
        live: &[Live::MediaServer],
        options: &[],
        table: OptionTable::None,
    };
}

impl Precedence for StaticPriority {
    const NAME: &'static str = StaticPriority::INFO.name;

    fn new(_: Rank) -> StaticPriority {
        StaticPriority
    }

    #[inline]
    fn before(&self, (slot_a, a): (u32, &Record), (slot_b, b): (u32, &Record)) -> bool {
        let priority = |record: &Record| urgency(Window::fresh(record.tolerance));
        (priority(a), a.arrival, slot_a) < (priority(b), b.arrival, slot_b)
    }
}
