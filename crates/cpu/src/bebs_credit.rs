//! BEBS with credit: adaptive servers that are recharged at once and remember, within limits, who
//! was ahead.
//!
//! As written, BEBS makes a task whose frame was longer than its budget wait for idle time, and
//! forgets at each early release that the CPU-bound tasks beside it have had more than their share.
//! A periodic task that needs its whole share on average then misses a quarter of its deadlines.
//! Here:
//! - a budget used up comes back at once with a deadline one period later, as under CBS, so the rest
//!   of a long frame competes with what its task would get next;
//! - one execution is what happens from wake-up to sleep (`sample = "job"`), so the average is that
//!   of whole frames, and the budget is twice the average (`margin = 1000`);
//! - tasks that use idle time run ahead with their deadlines. That is the credit of those who left
//!   it to them, and it is kept, but only up to `ahead`: whenever a task wakes and all that is
//!   pending is further ahead, all deadlines move back together.
//!
//! # Why no hard deadline is missed
//!
//! Recharged servers demand no more than their share in any interval: each budget `b` is due one
//! period `b/u` after the one before, and a wake-up starts afresh only when the share since the
//! release is not used up (`servers`). Shares change hands as under BEBS, at zero-lag times. What is
//! new is the move of deadlines. It happens at an instant `t` with no hard job pending, and leaves
//! each server with `c <= u (d - t)`. Suppose a hard job missed its deadline `D > t`. Let `a` be the
//! last instant before `D` at which nothing due by `D` was pending, or `t` if that is later. From `a`
//! to `D` the CPU executes only work due by `D`. Of hard tasks that is work released since `a`, none
//! being pending at `t`; of each server, what is left at `a` or comes later, at most `u (D - a)`:
//! for `a > t` as always, for `a = t` by the move. Together this fits into `D - a`, and the job is
//! not late.
//!
//! # How long a task may wait
//!
//! A server runs ahead by `ahead` and one period at most when another wakes. The others, of share
//! `u` together, catch up with it after executing `u (ahead + p) / (1 - u)` at most.
//!
//! # What was found
//!
//! The margin matters little, the limit much: in experiment 1 of BeRate's table 1 at variability 0.2,
//! deadlines missed are 8.4 % with a limit of 0, 3.0 % with 100 ms, 1.8 % with 200 ms, 0.76 % with
//! 500 ms, 0.65 % without. `laxity reproduce bebs --only credit` holds this policy beside others.

use laxity_core::{OptionInfo, OptionKind, PolicyInfo, Span};

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
    options: &[
        describe::SAMPLE_JOB,
        describe::FIRST,
        OptionInfo { default: "1000", ..describe::MARGIN },
        describe::LEAST,
        describe::MOST,
        describe::LAZY,
        OptionInfo {
            name: "ahead",
            kind: OptionKind::Time,
            default: "500 ms",
            summary: "How far deadlines may run ahead in idle time: more of it lets periodic \
                      tasks miss less and CPU-bound ones wait longer afterwards.",
        },
        describe::LEAST_BEST_EFFORT,
    ],
};

/// Options of BEBS with credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Budgets from past execution.
    pub adaptation: Adaptation,
    /// How far deadlines may run ahead.
    pub ahead: Span,
    /// The share that hard reservations must leave.
    pub least_best_effort: Share,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            adaptation: Adaptation { sample: Sample::Job, margin: 1000, ..Adaptation::PAPER },
            ahead: Span::from_millis(500),
            least_best_effort: Share::per_mille(50),
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
        longest: None,
        transition: Transition::ZeroLag,
        least_best_effort: options.least_best_effort,
    })
}
