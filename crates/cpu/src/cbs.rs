//! CBS: constant bandwidth servers, recharged at once with a later deadline.

use laxity_core::{PolicyInfo, Span};

use crate::Share;
use crate::options::Field;
use crate::servers::{Exhaustion, Load, Rules, Servers, Sizing, Slack, Transition, describe};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "cbs",
    summary: "Servers of fixed budget and period; a budget used up comes back at once, with a \
              deadline one period later.",
    source: "Abeni and Buttazzo 1998; BEBS, section 4.1",
    keeps_deadlines: true,
    live: &[],
    options: &[describe::EQUAL, describe::MIN_BEST_EFFORT_BW],
    table: options_table!("cbs", "{ period = \"20 ms\" }"),
};

/// Options of [`cbs`](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// The period of servers without a declaration; they divide bandwidth by weight.
    pub period: Span,
    /// The share that hard reservations must leave.
    pub best_effort_bw_min: Share,
}

impl Options {
    /// Where an option is kept.
    pub(crate) fn field(&mut self, option: &str) -> Option<Field<'_>> {
        Some(match option {
            "period" => Field::Time(&mut self.period),
            "min-best-effort-bw" => Field::PerMille(&mut self.best_effort_bw_min),
            _ => return None,
        })
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { period: Span::from_millis(40), best_effort_bw_min: Share::per_mille(50) }
    }
}

/// The soft constant bandwidth server for all but hard tasks. Deadlines may run ahead of time
/// without bound while there is idle time to use.
pub fn new(options: &Options) -> Servers {
    Servers::new(Rules {
        exhaustion: Exhaustion::Recharge,
        slack: Slack::Unused,
        sizing: Sizing::Equal(options.period),
        declared: true,
        ahead: None,
        load: Load::Live,
        lapse: Span::ZERO,
        max_period: None,
        slice: None,
        wakeup_granularity: Span::ZERO,
        transition: Transition::ZeroLag,
        best_effort_bw_min: options.best_effort_bw_min,
    })
}
