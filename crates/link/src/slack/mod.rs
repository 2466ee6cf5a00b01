//! `slack`: serve best effort whenever no real-time deadline can be missed because of it.
//!
//! No deadline is assigned. When the link is free at `t` and a best-effort packet of `w` bytes is
//! at the head, it is sent iff `w <= min over x of [ C x - B(x) - F(x) ]`, where `B(x)` is the
//! queued real-time work due by `t + x` and `F(x)` a bound on the future work of the flows due by
//! then, from the present state of their policers. The deadlines of
//! [`exact`](crate::assign::Exact) do not use that state: a flow that has just spent its burst
//! cannot spend it again, and best effort need not wait as if it could.
//!
//! **Why no deadline is missed.** Let a real-time packet with deadline `T` be late, and look at
//! the last start before it of a best-effort packet or of a packet due after `T`, or the end of
//! the last idle time. If best effort started then, all work due by `T` and served since was in
//! `B` or `F`, against the condition. Otherwise nothing due by `T` waited at that instant, and
//! admission covers what came since. It takes three things: policers that enforce what `F`
//! counts with, eligible shaped packets released before the decision, and no best-effort packet
//! larger than admission assumed. With an empty real-time queue best effort is sent unasked;
//! that is safe because admission counted its blocking. Machine-checked: `proofs/link/Slack.v`.
//!
//! **After lost time** the slack is smaller by what the link did not send, so the lower bound of it
//! is forgotten and the next decision searches. Best effort need not yield beyond that: each
//! decision looks at what waits now and what may still come, and what was lost shows in it. A
//! best-effort packet goes before real time only where everything that waits or may come is then
//! in time. So compare with `background` from the end of a stall on: up to the first such packet
//! both decide alike, and after it nothing is late. While a packet is overdue the answer is no.
//!
//! **Bounds.** What a flow may still send is bounded from above in two places. Of flows whose packets
//! count as one size the next 32 (fewer from nine such flows on) are counted whole, later ones by
//! the line through their steps, which is above them by less than a packet a flow; on 150 random
//! links with two to six periodic flows that line alone costs at most 0.07 % of best effort's mean
//! delay (simulated). Packets of differing sizes are counted by the byte. Buckets beyond four a
//! flow are left out. The qdisc bounds more, for a search of fixed length: see `laxity/slack.h`.
//!
//! **Service curves**: what such a flow may still demand follows from its starts, also from those
//! before it fell idle, until the link does (`service.rs`). The next packet of one that waits may be
//! due sooner than the least deadline of all, so intervals count from there.
//!
//! **What it costs.** The slack itself is only needed when the answer could be no. A lower bound
//! is kept from decision to decision: it falls by every best-effort byte sent, and by the size of
//! a real-time packet that starts although it is due later than the least relative deadline from
//! now (packets between would find less capacity than the bound says). Conforming arrivals move
//! work from `F` to `B` and change nothing; full buckets only raise the truth above the bound.

mod calendar;
mod flow;
mod search;
mod service;
mod silence;

use laxity_core::{
    Live, NANOBITS_PER_BYTE, OptionInfo, OptionKind, OptionTable, PolicyInfo, Reference, Span, Time,
};

use crate::config::{LinkConfig, LinkConfigError};
use crate::edf::{EdfQueue, Entry};
use crate::live;
use crate::pipeline::{Discipline, Head};
use search::{Deficit, Search, SearchResult};
use silence::SilentFlows;

pub use flow::FlowDemand;
pub use search::exact_steps;

/// The `slack` discipline.
#[derive(Clone, Debug)]
pub struct Slack {
    search: Search,
    least_deadline: Span,
    /// Downstream backlog, in nanobits.
    downstream_backlog: i128,
    always_check: bool,
    allow_overtaking: bool,
    /// Lower bound on the slack, in nanobits; `None` when unknown.
    lower_bound: Option<i128>,
    refusal: Option<Refusal>,
    searches: u64,
    silence: SilentFlows,
    /// Time at which the refused packet may be served without a further arrival.
    retry: Option<Time>,
}

/// The interval that refused the last packet. It usually refuses the next one too, and checking it
/// costs far less than a search.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    /// End of the interval.
    until: Time,
    /// Queued bytes due in it.
    due: u64,
    /// The demand that it could not meet, in nanobits, and the deficit.
    need: i128,
    deficit: Deficit,
}

/// Name, summary and options.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "slack",
    summary: "EDF; best effort goes first whenever no deadline could suffer from it now",
    source: "beyond the paper",
    keeps_deadlines: true,
    live: &[live::SLACK, Live::UserLink],
    options: &[
        OptionInfo {
            name: "always-check",
            kind: OptionKind::Bool,
            required: false,
            default: "false",
            example: "true",
            summary: "check also while no real-time packet waits: admits tighter deadlines on \
                      slow links, but may leave the link idle",
            reference: Some(Reference {
                default: "false",
                doc: "Check also while no real-time packet waits. Admission then need not reserve \
                      for a best-effort packet on the wire, which makes slow links usable; the \
                      link may idle while best effort waits.",
            }),
        },
        OptionInfo {
            name: "idle-timeout",
            kind: OptionKind::Time(Span(0), Span(u64::MAX)),
            required: false,
            default: "1 s",
            example: "\"200 ms\"",
            summary: "with always-check, how long a flow must be silent before best effort may \
                      go although the flow's next packets then wait for its end; 0 s for never",
            reference: Some(Reference {
                default: "\"1 s\"",
                doc: "With `always-check`, how long a real-time flow must be silent, and at least \
                      until its envelope is full again, before a best-effort packet may go for \
                      which its deadline leaves no room. Packets that the flow sends meanwhile \
                      conform when that packet ends. 0 for never: best effort may then wait for \
                      as long as real time is silent.",
            }),
        },
        OptionInfo {
            name: "allow-overtaking",
            kind: OptionKind::Bool,
            required: false,
            default: "false",
            example: "true",
            summary: "a smaller packet of another class may pass a refused best-effort packet",
            reference: Some(Reference {
                default: "false",
                doc: "A smaller packet of another class may overtake a refused best-effort packet.",
            }),
        },
    ],
    table: OptionTable::Own {
        schema: "slack",
        doc: "Options of the policy `slack`.",
        key: "Options of the policy `slack`.",
        default: "both checks off",
        example: "{ always-check = true }",
    },
};

impl Slack {
    /// The discipline for a link's flows, all buckets full.
    ///
    /// # Errors
    /// Numbers beyond 128 bits in a service curve.
    pub fn new(config: &LinkConfig) -> Result<Slack, LinkConfigError> {
        let search = Search::new(config)?;
        Ok(Slack {
            least_deadline: search.least_deadline().unwrap_or(Span(u64::MAX)),
            search,
            downstream_backlog: i128::from(config.downstream_backlog.0) * NANOBITS_PER_BYTE,
            always_check: config.options.always_check,
            allow_overtaking: config.options.allow_overtaking,
            lower_bound: None,
            refusal: None,
            searches: 0,
            silence: SilentFlows::new(config),
            retry: None,
        })
    }

    /// Number of full searches for the slack.
    pub fn searches(&self) -> u64 {
        self.searches
    }

    fn has_slack_for(&mut self, now: Time, work: i128, realtime: &EdfQueue) -> bool {
        if self.lower_bound.is_some_and(|lower_bound| work <= lower_bound) {
            return true;
        }
        let need = work + self.downstream_backlog;
        if self.still_refuses(now, need) {
            return false;
        }
        self.searches += 1;
        match self.search.run(now, need, realtime) {
            SearchResult::Sufficient(least) => {
                self.lower_bound = Some(least - self.downstream_backlog);
                self.refusal = None;
                true
            }
            SearchResult::Insufficient { until, due } => {
                self.lower_bound = None;
                let deficit = self.search.deficit(now, until, due, need);
                self.refusal = deficit.map(|deficit| Refusal { until, due, need, deficit });
                false
            }
        }
    }

    /// Whether a refused packet fits in the capacity that silent flows lend.
    fn fits_in_lent_capacity(&mut self, now: Time, work: i128, realtime: &EdfQueue) -> bool {
        self.retry = None;
        if self.silence.update(now) {
            let need = work + self.downstream_backlog;
            let by = self.silence.transmission_time(need);
            let lends = (by, |flow| self.silence.lends(flow));
            if let SearchResult::Sufficient(_) =
                self.search.run_deferred(now, need, realtime, lends)
            {
                self.silence.lend_until(now + Span(by));
                (self.lower_bound, self.refusal) = (None, None);
                return true;
            }
        }
        self.retry = self.silence.next_silence(now);
        false
    }

    fn still_refuses(&mut self, now: Time, need: i128) -> bool {
        let Some(refusal) = &mut self.refusal else { return false };
        // An interval shorter than every deadline counts only if work is queued for it.
        let meant = refusal.due > 0 || refusal.until >= now + self.least_deadline;
        if refusal.until < now || !meant {
            return false;
        }
        if need >= refusal.need && refusal.deficit.holds_at(now) {
            return true;
        }
        let Some(deficit) = self.search.deficit(now, refusal.until, refusal.due, need) else {
            return false;
        };
        *refusal = Refusal { need, deficit, ..*refusal };
        true
    }

    fn consume(&mut self, work: i128) {
        self.lower_bound = self.lower_bound.map(|lower_bound| lower_bound - work);
    }
}

fn nanobits(wire: u32) -> i128 {
    i128::from(wire) * NANOBITS_PER_BYTE
}

impl Discipline for Slack {
    fn assign(&mut self, _release: Time, _wire: u32) -> Time {
        Time::MAX
    }

    fn raise(&mut self, _release: Time, _from: u32, _wire: u32) -> Time {
        Time::MAX
    }

    fn reset(&mut self) {
        self.on_idle();
        self.search.reset();
    }

    fn on_idle(&mut self) {
        self.search.completed();
        // Capacity passes unused, so the bound no longer holds.
        self.lower_bound = None;
    }

    fn on_stall(&mut self) -> bool {
        // A refusal stands: lost time only lowers the slack of its interval.
        self.lower_bound = None;
        false
    }

    fn serves_best_effort(&mut self, now: Time, head: &Head, realtime: &EdfQueue) -> bool {
        self.search.completed();
        let work = nanobits(head.packet.wire);
        let unasked = realtime.is_empty() && !self.always_check;
        let goes = unasked
            || self.has_slack_for(now, work, realtime)
            || (self.always_check && self.fits_in_lent_capacity(now, work, realtime));
        if goes {
            self.consume(work);
        }
        goes
    }

    fn on_best_effort_dropped(&mut self, now: Time, wire: u32) {
        self.consume(-nanobits(wire));
        self.silence.lend_until(now);
    }

    fn may_pass(&self) -> bool {
        self.allow_overtaking
    }

    fn earliest_conformance(&self, flow: usize) -> Time {
        self.silence.earliest_conformance(flow)
    }

    fn on_shaped(&mut self, flow: usize, until: Time) {
        self.silence.conforms(flow, until);
    }

    fn next_event(&self) -> Option<Time> {
        self.retry
    }

    fn on_realtime_release(&mut self, at: Time, entry: &Entry) {
        self.silence.conforms(entry.packet.flow.index(), at);
        let Some(refusal) = self.refusal.as_mut().filter(|r| entry.deadline <= r.until) else {
            return self.search.queued(at, entry);
        };
        // The packet moves from its flow's future demand to the queue. The future demand may drop
        // by more than the packet, because short packets count for more or the rest is less than a
        // packet; the interval's slack then grows.
        let packet = &entry.packet;
        let before = self.search.future_demand(packet, at, refusal.until);
        self.search.queued(at, entry);
        let after = self.search.future_demand(packet, at, refusal.until);
        refusal.due += u64::from(packet.wire);
        refusal.deficit.work -= before - after - nanobits(packet.wire);
    }

    fn on_realtime_start(&mut self, now: Time, entry: &Entry) {
        self.search.dequeued(entry);
        if entry.deadline > now + self.least_deadline {
            self.consume(nanobits(entry.packet.wire));
        }
        if let Some(refusal) = self.refusal.as_mut().filter(|r| entry.deadline <= r.until) {
            refusal.due -= u64::from(entry.packet.wire);
        }
    }
}
