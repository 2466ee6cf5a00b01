//! BEBS: best-effort bandwidth servers whose periods adapt to past execution.

use laxity_core::{Live, PolicyInfo, Span};

use crate::Share;
use crate::options::Field;
use crate::servers::{
    Adaptation, Exhaustion, Load, Rules, Servers, Sizing, Slack, Transition, describe,
};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "bebs",
    summary: "Each task has a server whose period follows its bursts; idle time is shared by \
              releasing early under the original deadline.",
    source: "BEBS, section 4",
    keeps_deadlines: true,
    live: &[Live::SchedExt(0)],
    options: &[
        describe::SAMPLE,
        describe::INITIAL_AVERAGE,
        describe::MARGIN,
        describe::MIN_BUDGET,
        describe::MAX_BUDGET,
        describe::BASIS,
        describe::HYSTERESIS,
        describe::LOAD,
        describe::TRANSITION,
        describe::MIN_BEST_EFFORT_BW,
    ],
    table: options_table!("bebs", "{ sample = \"job\" }"),
};

/// The options of BEBS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Budgets from past execution.
    pub adaptation: Adaptation,
    /// Which servers divide the bandwidth.
    pub load: Load,
    /// How bandwidth is redistributed.
    pub transition: Transition,
    /// The share that hard reservations must leave.
    pub best_effort_bw_min: Share,
}

impl Options {
    /// Where an option is kept.
    pub(crate) fn field(&mut self, option: &str) -> Option<Field<'_>> {
        Some(match option {
            "load" => Field::Choice(&mut self.load),
            "transition" => Field::Choice(&mut self.transition),
            "min-best-effort-bw" => Field::PerMille(&mut self.best_effort_bw_min),
            _ => return self.adaptation.field(option),
        })
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            adaptation: Adaptation::PAPER,
            load: Load::Live,
            transition: Transition::ZeroLag,
            best_effort_bw_min: Share::per_mille(50),
        }
    }
}

/// BEBS with these options. Tasks with [`Service::Soft`](crate::Service::Soft) have servers of the
/// budget and period that they declare.
pub fn new(options: &Options) -> Servers {
    Servers::new(Rules {
        exhaustion: Exhaustion::Suspend,
        slack: Slack::OriginalDeadline,
        sizing: Sizing::Adaptive(options.adaptation),
        declared: true,
        ahead: None,
        load: options.load,
        lapse: Span::ZERO,
        max_period: None,
        slice: None,
        wakeup_granularity: Span::ZERO,
        transition: options.transition,
        best_effort_bw_min: options.best_effort_bw_min,
    })
}
