//! IRIS: servers that share idle time by releasing early under a new deadline.

use laxity_core::{PolicyInfo, Span};

use crate::cbs::Options;
use crate::servers::{Exhaustion, Load, Rules, Servers, Sizing, Slack, Transition, describe};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "iris",
    summary: "Servers of fixed budget and period; idle time is shared by releasing early, one \
              period before the new deadline.",
    source: "Marzario, Lipari, Balbastre, Crespo 2004; BEBS, section 4.2",
    keeps_deadlines: true,
    live: &[],
    options: &[describe::EQUAL, describe::MIN_BEST_EFFORT_BW],
    table: options_table!("iris", "{ period = \"20 ms\" }"),
};

/// IRIS with the budgets and periods that tasks declare; others have equal periods.
pub fn new(options: &Options) -> Servers {
    Servers::new(rules(options, true))
}

/// The rules of IRIS, with or without budgets and periods that tasks declare.
pub(crate) fn rules(options: &Options, declared: bool) -> Rules {
    Rules {
        exhaustion: Exhaustion::Suspend,
        slack: Slack::NewDeadline,
        sizing: Sizing::Equal(options.period),
        declared,
        ahead: None,
        load: Load::Live,
        lapse: Span::ZERO,
        max_period: None,
        slice: None,
        wakeup_granularity: Span::ZERO,
        transition: Transition::ZeroLag,
        best_effort_bw_min: options.best_effort_bw_min,
    }
}
