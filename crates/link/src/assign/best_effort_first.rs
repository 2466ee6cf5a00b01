//! `best-effort-first`: a lower bound on best-effort delay, not a policy for use.

use laxity_core::{Live, OptionTable, PolicyInfo, Time};

use super::Assigner;

/// Best effort before everything: the least delay that any scheduler could give it on this link.
/// Real-time deadlines are not kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct BestEffortFirst;

impl Assigner for BestEffortFirst {
    const INFO: PolicyInfo = PolicyInfo {
        name: "best-effort-first",
        summary: "best effort before real time: the lower bound of its delay, deadlines not kept",
        source: "bound",
        keeps_deadlines: false,
        live: &[Live::UserLink],
        options: &[],
        table: OptionTable::None,
    };

    #[inline]
    fn assign(&mut self, _release: Time, _wire: u32) -> Time {
        Time::ZERO
    }

    fn reset(&mut self) {}
}
