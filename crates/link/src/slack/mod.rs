//! `slack`: best effort goes whenever no real-time deadline could suffer, now.
//!
//! No deadline is assigned. When the link is free at `t` and a best-effort packet of `w` bytes is
//! at the head, it is sent iff `w <= min over x of [ C x - B(x) - F(x) ]`, where `B(x)` is the
//! queued real-time work due by `t + x` and `F(x)` the most that the flows can still send that is
//! due by then, from the present state of their policers. That state is what the deadlines of
//! [`exact`](crate::assign::Exact) cannot know: a flow that has just spent its burst cannot spend
//! it again, and best effort need not wait as if it could.
//!
//! **Why no deadline is missed.** Let a real-time packet with deadline `T` be late, and look at
//! the last start before it of a best-effort packet or of a packet due after `T`, or the end of
//! the last idle time. If best effort started then, all work due by `T` and served since was in
//! `B` or `F`, against the condition. Otherwise nothing due by `T` waited at that instant, and
//! admission covers what came since. It takes three things: policers that enforce what `F`
//! counts with, eligible shaped packets released before the decision, and no best-effort packet
//! larger than admission assumed. With an empty real-time queue best effort is sent unasked;
//! that is safe because admission counted its blocking.
//!
//! **What it costs.** The slack itself is only needed when the answer could be no. A lower bound
//! is kept from decision to decision: it falls by every best-effort byte sent, and by the size of
//! a real-time packet that starts although it is due later than the least relative deadline from
//! now (packets between would find less capacity than the bound says). Conforming arrivals move
//! work from `F` to `B` and change nothing; full buckets only raise the truth above the bound.

mod demand;

use laxity_core::{Bytes, NANOBITS_PER_BYTE, PolicyInfo, Rate, Span, Time};

use crate::edf::{EdfQueue, Entry};
use crate::pipeline::{Discipline, Head};
use crate::setup::Setup;
use demand::Demand;

pub use demand::{FlowDemand, slack_at};

/// The `slack` discipline.
#[derive(Clone, Debug)]
pub struct Slack {
    demand: Demand,
    rate: Rate,
    least_deadline: Span,
    /// Work below the scheduler, in nanobits.
    below: i128,
    always_check: bool,
    /// Slack in nanobits is at least this; `None` when nothing is known.
    lower: Option<i128>,
    checks: u64,
}

/// Name, summary and options.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "slack",
    summary: "EDF; best effort goes first whenever no deadline could suffer from it now",
    source: "beyond the paper",
    keeps_deadlines: true,
    options: &[
        laxity_core::OptionInfo {
            name: "always-check",
            kind: laxity_core::OptionKind::Bool,
            default: "false",
            summary: "check also while no real-time packet waits: admits tighter deadlines on \
                      slow links, but may leave the link idle",
        },
        laxity_core::OptionInfo {
            name: "pass-refused",
            kind: laxity_core::OptionKind::Bool,
            default: "false",
            summary: "a smaller packet of another class may pass a refused best-effort packet",
        },
    ],
};

impl Slack {
    /// The discipline for a link's flows, all buckets full.
    pub fn new(setup: &Setup) -> Slack {
        let least = setup.realtime.iter().map(|f| f.deadline).min();
        Slack {
            demand: Demand::new(setup),
            rate: setup.rate,
            least_deadline: least.unwrap_or(Span(u64::MAX)),
            below: i128::from(setup.below.0) * NANOBITS_PER_BYTE,
            always_check: setup.options.always_check,
            lower: None,
            checks: 0,
        }
    }

    /// How often the slack itself was computed.
    pub fn checks(&self) -> u64 {
        self.checks
    }

    fn allows(&mut self, now: Time, work: i128, realtime: &EdfQueue) -> bool {
        if let Some(lower) = self.lower {
            if work <= lower {
                return true;
            }
        }
        self.checks += 1;
        let slack = self.demand.slack(now, self.rate, realtime) - self.below;
        self.lower = Some(slack);
        work <= slack
    }

    fn spend(&mut self, work: i128) {
        self.lower = self.lower.map(|lower| lower - work);
    }
}

fn nanobits(wire: u32) -> i128 {
    i128::from(wire) * NANOBITS_PER_BYTE
}

impl Discipline for Slack {
    fn assign(&mut self, _release: Time, _wire: u32) -> Time {
        Time::MAX
    }

    fn reset(&mut self) {
        self.lower = None;
    }

    fn best_effort_goes(&mut self, now: Time, head: &Head, realtime: &EdfQueue) -> bool {
        let work = nanobits(head.packet.wire);
        let unasked = realtime.is_empty() && !self.always_check;
        let goes = unasked || self.allows(now, work, realtime);
        if goes {
            self.spend(work);
        }
        goes
    }

    fn released(&mut self, at: Time, entry: &Entry) {
        self.demand.released(at, entry.packet.flow, entry.packet.bytes);
    }

    fn realtime_starts(&mut self, now: Time, entry: &Entry) {
        if entry.deadline > now + self.least_deadline {
            self.spend(nanobits(entry.packet.wire));
        }
    }
}

/// Bytes that may be sent as one best-effort packet, for those who look at a state from outside.
pub fn whole_bytes(slack: i128) -> Option<Bytes> {
    u64::try_from(slack / NANOBITS_PER_BYTE).ok().filter(|_| slack >= 0).map(Bytes)
}
