//! BEBS with credit: adaptive servers that are recharged at once and account for idle time used,
//! within limits.
//!
//! As published, BEBS makes a task whose frame was longer than its budget wait for idle time, and
//! discards at each early release that CPU-bound tasks have had more than their share. A periodic
//! task that needs its whole share on average then misses a quarter of its deadlines. Here:
//! - an exhausted budget is recharged at once with a deadline one period later, as under CBS, so the
//!   rest of a long frame competes with the next budget of its task;
//! - a sample of execution extends from wake-up to sleep (`sample = "job"`), so the average is that
//!   of whole frames, and the budget is twice the average (`margin = 1000`);
//! - the deadlines of tasks that use idle time run ahead. This lead is the credit of the other tasks,
//!   and it is limited to `ahead`: when a task wakes and all pending servers are further ahead, all
//!   deadlines move back together.
//!
//! On live CPUs, where a switch has a cost and people wait for what computes, three rules are added
//! (options `slice` and `wakeup-granularity`; zero turns them off):
//! - A task that executes without sleep for longer than four times its average and a slice gets budgets of
//!   one slice, and deadlines that are later by the greatest budget. Such tasks take turns each slice; tasks
//!   that sleep keep budgets as long as their jobs, and precede them until they are ahead by so much.
//! - A task that has just begun starts as far ahead as the one with the earliest deadline: the lead of those that used idle time
//!   is the credit of tasks that slept meanwhile, not of new ones.
//! - While nothing is reserved, a task that has had the CPU for less than the wake-up granularity is not
//!   preempted (`servers/protection.rs`).
//!
//! The first two only make deadlines later and releases later than the bandwidth would permit, so the
//! argument below holds for them; the third does not apply beside reservations.
//!
//! # Why no hard deadline is missed
//!
//! Recharged servers demand no more than their share in any interval: each budget `b` is due one
//! period `b/u` after the previous one, and a wake-up starts a new release only if the share since the
//! release is not used up (`servers`). Bandwidth is redistributed as under BEBS, at zero-lag times. The
//! difference is the move of deadlines. It happens at an instant `t` with no hard job pending, and
//! leaves each server with `c <= u (d - t)`. Suppose a hard job missed its deadline `D > t`. Let `a` be
//! the last instant before `D` at which nothing due by `D` was pending, or `t` if that is later. From
//! `a` to `D` the CPU executes only work due by `D`. For hard tasks that is work released since `a`, as
//! none is pending at `t`; for each server it is the budget remaining at `a` or released later, at most
//! `u (D - a)`: for `a > t` as for any server, for `a = t` by the move. The sum fits into `D - a`, so
//! the job is not late.
//!
//! # How long a task may wait
//!
//! A server is ahead by at most `ahead` and one period when another one wakes. The others, with a total
//! share of `u`, catch up with it after executing at most `u (ahead + p) / (1 - u)`. A task with slices also
//! waits until those that sleep are ahead of it by the greatest budget. While nothing is reserved, deadlines
//! of best effort may pass for as long as the running task is protected.
//!
//! # Measurements
//!
//! The margin has little effect, the limit a large one: in experiment 1 of BeRate's table 1 at
//! variability 0.2, deadlines missed are 8.4 % with a limit of 0, 3.0 % with 100 ms, 1.8 % with 200 ms,
//! 0.76 % with 500 ms, 0.65 % without. `laxity reproduce bebs --only credit` compares this policy with
//! others.

use laxity_core::{Live, OptionInfo, OptionKind, PolicyInfo, Span};

use crate::LONGEST_PERIOD;
use crate::options::Field;
use crate::servers::{
    Adaptation, Exhaustion, Load, Rules, Servers, Sizing, Slack, Transition, describe,
};
use crate::{Sample, Share};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "bebs-credit",
    summary: "BEBS that recharges budgets at once and remembers, up to a limit, who used idle \
              time, so that periodic tasks meet their deadlines at their full share.",
    source: "our own, from BEBS section 4 and CBS",
    keeps_deadlines: true,
    live: &[Live::SchedExt(1)],
    options: &[
        describe::SAMPLE_JOB,
        describe::INITIAL_AVERAGE,
        OptionInfo { default: "1000", example: "1000", ..describe::MARGIN },
        describe::MIN_BUDGET,
        OptionInfo { example: "\"200 ms\"", ..describe::MAX_BUDGET },
        describe::HYSTERESIS,
        OptionInfo {
            name: "max-ahead",
            kind: OptionKind::Time(Span::ZERO, LONGEST_PERIOD),
            required: false,
            default: "500 ms",
            example: "\"500 ms\"",
            summary: "How far deadlines may run ahead in idle time: more of it lets periodic \
                      tasks miss less and CPU-bound ones wait longer afterwards.",
            reference: None,
        },
        OptionInfo {
            name: "slice",
            kind: OptionKind::Time(Span::ZERO, LONGEST_PERIOD),
            required: false,
            default: "0 ms",
            example: "\"3 ms\"",
            summary: "How often tasks take turns that execute without sleep for longer than four \
                      times their average and this; those that sleep precede them. Zero: \
                      after whole budgets. Live 3 ms.",
            reference: None,
        },
        OptionInfo {
            name: "wakeup-granularity",
            kind: OptionKind::Time(Span::ZERO, LONGEST_PERIOD),
            required: false,
            default: "0 ms",
            example: "\"1 ms\"",
            summary: "While nothing is reserved, a task that wakes does not preempt one that has \
                      had the CPU for less, unless its budget is at most an eighth of this. Zero: \
                      it preempts at once. Live 1 ms.",
            reference: None,
        },
        describe::MIN_BEST_EFFORT_BW,
    ],
    table: options_table!("bebs-credit", "{ max-ahead = \"200 ms\" }"),
};

/// Options of BEBS with credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Budgets from past execution.
    pub adaptation: Adaptation,
    /// How far deadlines may run ahead.
    pub ahead: Span,
    /// The greatest budget of tasks that do not sleep; zero for none.
    pub slice: Span,
    /// For how long after its pick a task is not preempted, while nothing is reserved.
    pub wakeup_granularity: Span,
    /// The share that hard reservations must leave.
    pub best_effort_bw_min: Share,
}

impl Options {
    /// Where an option is kept.
    pub(crate) fn field(&mut self, option: &str) -> Option<Field<'_>> {
        Some(match option {
            "max-ahead" => Field::Time(&mut self.ahead),
            "slice" => Field::Time(&mut self.slice),
            "wakeup-granularity" => Field::Time(&mut self.wakeup_granularity),
            "min-best-effort-bw" => Field::PerMille(&mut self.best_effort_bw_min),
            _ => return self.adaptation.field(option),
        })
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            adaptation: Adaptation { sample: Sample::Job, margin: 1000, ..Adaptation::PAPER },
            ahead: Span::from_millis(500),
            slice: Span::ZERO,
            wakeup_granularity: Span::ZERO,
            best_effort_bw_min: Share::per_mille(50),
        }
    }
}

/// BEBS with credit.
pub fn new(options: &Options) -> Servers {
    Servers::new(Rules {
        exhaustion: Exhaustion::Recharge,
        slack: Slack::Unused,
        sizing: Sizing::Adaptive(options.adaptation),
        declared: true,
        ahead: Some(options.ahead),
        load: Load::Live,
        lapse: Span::ZERO,
        max_period: None,
        slice: Some(options.slice).filter(|slice| *slice > Span::ZERO),
        wakeup_granularity: options.wakeup_granularity,
        transition: Transition::ZeroLag,
        best_effort_bw_min: options.best_effort_bw_min,
    })
}
