//! `fifo`: order of arrival, as a bound.

use laxity_core::{Live, OptionTable, PolicyInfo, Time};

use super::Assigner;

/// One queue for all in order of arrival (of conformance, for shaped packets). Deadlines are not
/// kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fifo;

impl Assigner for Fifo {
    const INFO: PolicyInfo = PolicyInfo {
        name: "fifo",
        summary: "one queue in order of arrival, deadlines not kept",
        source: "bound",
        keeps_deadlines: false,
        live: &[Live::UserLink],
        options: &[],
        table: OptionTable::None,
    };

    #[inline]
    fn assign(&mut self, release: Time, _wire: u32) -> Time {
        release
    }

    fn reset(&mut self) {}

    const ARRIVAL_ORDER: bool = true;
}
