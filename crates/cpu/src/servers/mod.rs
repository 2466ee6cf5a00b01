//! EDF over servers: the machine behind `edf`, `bebs`, `cbs`, `iris` and what derives from them.
//!
//! Each task, or group of tasks, has one server with a budget, a period and a deadline; the ready
//! server with the earliest deadline runs. Hard reservations have servers too, which is their
//! overrun protection: a budget used up suspends the task until its next period.
//!
//! # Why no hard deadline is missed
//!
//! Let `s(t)` be the share that a server is entitled to at time `t`. In any interval in which it
//! always has work, a server executes and is due no more than the integral of `s` over it: a
//! release brings `b` due no earlier than `b/s` later; rule 4 at a wake-up and the end of a period
//! start the next release no earlier than the integral allows. Idle time may advance releases,
//! because at an idle instant nothing is pending and each interval in question starts after it.
//! EDF then misses nothing as long as the shares add up to at most 1 at every instant, and hard
//! tasks with deadlines shorter than periods are covered by their demand (`admission`).
//!
//! What remains is to keep the sum of shares at 1 while it is divided anew. A server that must
//! shrink from share `u` to `v` at `now` may have executed more than `u` times the time since its
//! release. It cannot give that back, so it keeps `u` until its zero-lag time `z`, when both are
//! equal, and what is left of its budget is stretched at share `v` from there
//! ([`Transition::ZeroLag`]). A newcomer gets what servers that are not ahead free at once, and
//! its full share when the last has passed its `z`. A leaver's share comes back at its `z`.
//! A reservation need not wait for that when nothing that was promised is pending: no later job then
//! looks back beyond this instant, so it is enough that each server demands no more than its new
//! share from now on, and those behind theirs lose what they did not use.
//!
//! Stretching alone, as the paper may be read, lets the newcomer use `u - v` during `[now, z]` a
//! second time; `crates/sim/tests/cpu_transitions.rs` shows a deadline missed for it.
//!
//! On several CPUs that share one queue another sum must stay within its bound, and idle time is used
//! from outside (`gfb`, [`crate::clusters`]): that a CPU idles does not mean that nothing is
//! pending, so releases are not advanced.
//!
//! Nothing here allocates except joining and changing; a decision costs O(log n).

mod bandwidth;
pub(crate) mod describe;
mod members;
mod policy;
mod promises;
mod reanchor;
mod rules;
mod server;
mod transition;

use alloc::vec::Vec;

use laxity_core::Span;

pub use rules::{Adaptation, Basis, Exhaustion, Load, Rules, Sample, Sizing, Slack, Transition};

use crate::admission::Ledger;
use crate::queue::Queue;
use crate::several::Ready;
use crate::{CpuSet, GroupId, Reservation, Share};
use bandwidth::Bandwidth;
use members::Member;
use promises::Promises;
use server::{Kind, Server, State};

/// How far deadlines may run ahead on several CPUs where the rules give no limit.
const AHEAD: Span = Span::from_millis(500);

/// The greatest weight that a nice value gives.
const HEAVIEST: usize = 40;

/// EDF over servers, under the rules of one policy. For one CPU, or several that share a queue.
#[derive(Clone, Debug, Hash)]
pub struct Servers {
    rules: Rules,
    cpus: u32,
    /// By task.
    members: Vec<Member>,
    servers: Vec<Server>,
    vacant: Vec<u32>,
    groups: Vec<(GroupId, u32)>,
    /// Ready servers by deadline.
    ready: Ready,
    /// Expired servers that may use slack, by next release plus `advanced` as it was then.
    expired: Queue,
    /// By how much idle time has advanced all releases so far.
    advanced: u64,
    /// Hard servers that wait for their next release.
    suspended: Queue,
    /// Shares that come back later.
    returns: Queue,
    ledger: Ledger,
    bandwidth: Bandwidth,
    /// How many servers count with each weight.
    weights: [u32; HEAVIEST + 1],
    /// When all shares given away are free.
    settled: u64,
    /// When best effort's shares last rose: no release of theirs is dated back beyond it.
    risen: u64,
    /// Shared servers that have left, and whose shares come back later.
    leaving: u32,
    /// When it was last looked how far deadlines ran ahead.
    looked: u64,
    turns: u64,
    promises: Promises,
}

impl Servers {
    /// No tasks yet.
    pub fn new(rules: Rules) -> Servers {
        Servers::on_several(rules, 1)
    }

    /// No tasks yet, on so many CPUs that share one queue: global EDF.
    pub fn on_several(rules: Rules, cpus: u32) -> Servers {
        let cpus = cpus.clamp(1, CpuSet::MOST);
        Servers {
            rules,
            cpus,
            members: Vec::new(),
            servers: Vec::new(),
            vacant: Vec::new(),
            groups: Vec::new(),
            ready: Ready::new(cpus),
            expired: Queue::default(),
            advanced: 0,
            suspended: Queue::default(),
            returns: Queue::default(),
            ledger: Ledger::new(cpus),
            bandwidth: Bandwidth::new(),
            weights: [0; HEAVIEST + 1],
            settled: 0,
            risen: 0,
            leaving: 0,
            looked: 0,
            turns: 0,
            promises: Promises::default(),
        }
    }

    /// The rules in force.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Budget, period and deadline (an instant) of the server of a task, for plots and tests.
    pub fn server_of(&self, task: crate::TaskId) -> Option<(Span, Span, laxity_core::Time)> {
        let member = self.members.get(task.index()).filter(|m| m.is_here())?;
        let s = &self.servers[member.server as usize];
        Some((Span(s.budget), Span(s.period), laxity_core::Time(s.deadline)))
    }

    fn is_suspending(&self, s: u32) -> bool {
        let hard = self.servers[s as usize].kind == Kind::Hard;
        hard || self.rules.exhaustion == Exhaustion::Suspend
    }

    /// On several CPUs shares add up to less than all, so servers that recharge would run ahead of
    /// time for ever, and would hold what they give up for as long. There they wait at some point.
    fn is_too_far_ahead(&self, now: u64, end: u64) -> bool {
        self.cpus > 1 && end > now.saturating_add(self.rules.ahead.unwrap_or(AHEAD).0)
    }

    /// Budget and period of a release at `release`, and the release itself, which is put off when
    /// waiting for the full share gives the earlier deadline.
    fn size(&mut self, s: u32, release: u64) -> (u64, u64, u64) {
        let server = &mut self.servers[s as usize];
        let limited = release < server.limited_until;
        if server.kind != Kind::Shared {
            let Reservation { budget, period, .. } =
                if limited { server.held } else { server.declared };
            return (budget.0, period.0, release);
        }
        let (budget, period) = match &self.rules.sizing {
            Sizing::Adaptive(how) => {
                let (budget, basis) = how.budget(server);
                let period = self.bandwidth.period(basis, server.weight);
                match self.rules.longest.filter(|longest| period > longest.0) {
                    Some(longest) => {
                        let part = |whole: u64| {
                            let part = u128::from(whole) * u128::from(longest.0);
                            ((part / u128::from(period)) as u64).max(1)
                        };
                        (part(budget), self.bandwidth.period(part(basis), server.weight))
                    }
                    None => (budget, period),
                }
            }
            Sizing::Equal(period) if !limited => {
                return (self.bandwidth.budget(period.0, server.weight), period.0, release);
            }
            Sizing::Equal(period) => {
                let budget = self.bandwidth.budget(period.0, server.weight);
                (budget, self.bandwidth.period(budget, server.weight))
            }
        };
        if limited {
            let slower = server.limited_rate.time_for(Span(budget)).0.max(period);
            if release.saturating_add(slower) <= server.limited_until.saturating_add(period) {
                return (budget, slower, release);
            }
            return (budget, period, server.limited_until);
        }
        (budget, period, release)
    }

    /// A new period begins at `release`; `original` is when it would have begun without slack.
    fn renew(&mut self, s: u32, release: u64, original: u64) {
        let (budget, period, release) = self.size(s, release);
        let server = &mut self.servers[s as usize];
        server.budget = budget;
        server.left = budget;
        server.period = period;
        server.end = release.saturating_add(period);
        let base = match self.rules.slack {
            Slack::OriginalDeadline => original.max(release),
            _ => release,
        };
        let relative = match server.kind {
            Kind::Hard if release < server.limited_until => server.held.deadline.0,
            Kind::Hard => server.declared.deadline.0,
            _ => period,
        };
        server.deadline = base.saturating_add(relative);
        self.rotate(s);
    }

    /// A server competes from `at` on.
    fn enter_ready(&mut self, at: u64, s: u32) {
        let sample_by_state = self.sample() == Some(Sample::State);
        let server = &mut self.servers[s as usize];
        if server.state != State::Ready {
            server.state = State::Ready;
            if sample_by_state {
                server.execution = 0;
            }
            self.promises.enters_ready(s, at);
        }
        self.ready.enter(s, server.deadline);
    }

    /// Waits until `release`, which idle time may advance for best effort.
    fn enter_expired(&mut self, s: u32, release: u64) {
        self.ready.leave(s);
        self.turns += 1;
        let server = &mut self.servers[s as usize];
        server.state = State::Expired;
        server.original = release;
        if server.kind == Kind::Hard {
            self.suspended.set(s, release, self.turns);
        } else {
            self.expired.set(s, release.saturating_add(self.advanced), self.turns);
        }
    }

    /// The budget is used up.
    fn exhaust(&mut self, now: u64, s: u32) {
        if matches!(self.sample(), Some(Sample::State | Sample::Switch)) {
            self.servers[s as usize].sample();
        }
        let Server { end, deadline, .. } = self.servers[s as usize];
        if !(self.is_suspending(s) || self.is_too_far_ahead(now, end)) || end <= now {
            // A period that is over already, after an early release, is followed by the one that
            // starts at its end, not now: the server had idle time, its share is not more. Dated
            // back like that, a release must not be due before the one that it follows: the two
            // together fit their share from the first release on, and only there.
            let release = self.next_release(s, end, now);
            self.renew(s, release, release);
            let server = &mut self.servers[s as usize];
            server.deadline = server.deadline.max(deadline);
            self.enter_ready(now, s);
        } else {
            self.enter_expired(s, end);
        }
    }

    /// A server has something to run again.
    fn activate(&mut self, now: u64, s: u32) {
        if self.servers[s as usize].kind == Kind::Shared
            && self.servers[s as usize].counted < self.servers[s as usize].weight
        {
            self.count(now, s);
        }
        if self.rules.load == Load::Unblocked {
            self.returns.remove(s);
        }
        let server = &mut self.servers[s as usize];
        if self.rules.sizing.sample() != Some(Sample::Switch) {
            server.execution = 0;
        }
        if server.starts_afresh(now) {
            self.renew(s, now, now);
            self.enter_ready(now, s);
        } else if server.left == 0 || server.is_constrained() {
            let end = server.end;
            if self.is_suspending(s) || self.is_too_far_ahead(now, end) {
                self.enter_expired(s, end);
            } else {
                // It went to sleep just as its budget was used up. It is recharged as if it had not
                // slept, or it would wait for a period's end beside idle time.
                self.renew(s, end, end);
                self.enter_ready(now, s);
            }
        } else {
            self.enter_ready(now, s);
        }
        let server = &self.servers[s as usize];
        // Its weight was lowered, and it slept before that one was all that counts.
        if self.rules.load == Load::Unblocked
            && server.kind == Kind::Shared
            && server.counted > server.weight
        {
            self.uncount(now, now, s);
        }
    }

    /// Nothing of a server is runnable any more.
    fn deactivate(&mut self, now: u64, s: u32) {
        let sampled = self.sample().is_some();
        let server = &mut self.servers[s as usize];
        if server.state == State::Ready && sampled {
            server.sample();
        }
        server.state = State::Blocked;
        self.ready.leave(s);
        self.expired.remove(s);
        self.suspended.remove(s);
        if self.rules.load == Load::Unblocked && self.servers[s as usize].kind == Kind::Shared {
            self.uncount(now, now.saturating_add(self.rules.lapse.0), s);
        }
    }

    /// The release after one that would have been at `at`. A reservation that has lost a whole period since, as
    /// the CPU was elsewhere, begins anew: were it to make up for all of them, it would go before everybody for as
    /// long, and others would lose what they are promised from then on.
    ///
    /// A share that rose since counts from then on: a period is sized with the share of now, and must not have it
    /// for time in which it was smaller. What was not used of that is given up.
    fn next_release(&self, s: u32, at: u64, now: u64) -> u64 {
        let server = &self.servers[s as usize];
        match server.kind {
            Kind::Hard if now.saturating_sub(at) >= server.period => now,
            Kind::Shared => at.max(self.risen).max(server.risen).min(now.max(at)),
            _ => at,
        }
    }

    /// Releases what is due.
    fn release_due(&mut self, now: u64) {
        while let Some((at, s)) = self.suspended.first().filter(|(at, _)| *at <= now) {
            self.suspended.remove(s);
            let release = self.next_release(s, at, now);
            self.renew(s, release, release);
            self.enter_ready(release, s);
        }
        let advanced = self.advanced;
        while let Some((at, s)) = self.expired.first().filter(|(at, _)| at - advanced <= now) {
            self.expired.remove(s);
            let original = self.servers[s as usize].original;
            let release = self.next_release(s, at - advanced, now);
            self.renew(s, release, original);
            self.enter_ready(release, s);
        }
    }

    /// Would idle at `now`: every waiting best-effort release moves earlier by as much as brings
    /// the first one to now.
    fn use_slack(&mut self, now: u64) {
        if self.rules.slack == Slack::Unused {
            return;
        }
        if let Some((at, _)) = self.expired.first() {
            self.advanced += (at - self.advanced).saturating_sub(now);
            self.promises_advance(now);
            self.release_due(now);
        }
    }

    /// A server's budget was used.
    fn account(&mut self, s: u32, ran: u64) {
        let server = &mut self.servers[s as usize];
        self.promises.executed(s, ran, server.left);
        server.left = server.left.saturating_sub(ran);
        self.note_execution(s, ran);
    }

    /// Execution that becomes part of a sample.
    fn note_execution(&mut self, s: u32, ran: u64) {
        let most = match &self.rules.sizing {
            Sizing::Adaptive(how) if how.sample == Sample::Job => how.most.0.max(1),
            _ => u64::MAX,
        };
        let server = &mut self.servers[s as usize];
        server.execution = server.execution.saturating_add(ran);
        if server.execution >= most {
            // As often as it was used up, however execution is cut into reports; after so many
            // equal samples the average is theirs.
            let (times, rest) = (server.execution / most, server.execution % most);
            for _ in 0..times.min(64) {
                server.execution = most;
                server.sample();
            }
            server.execution = rest;
        }
    }

    fn sample(&self) -> Option<Sample> {
        self.rules.sizing.sample()
    }

    fn catch_up(&mut self, now: u64) {
        while let Some((_, s)) = self.returns.first().filter(|(at, _)| *at <= now) {
            let shared = self.servers[s as usize].kind == Kind::Shared;
            let one = self.cpus == 1;
            if one && !shared && self.ledger.is_constrained() && !self.is_clean(now) {
                // Shares that come back later stand behind it; they are free a little later.
                break;
            }
            self.settle(now, s);
        }
    }

    /// Whether nothing that is pending asks for more than a fresh start at `now` would: no hard
    /// job is, and no server has more to do than its share until its deadline. Whatever happened
    /// before such an instant cannot make anyone late after it.
    ///
    /// Reservations with deadlines shorter than periods are given back at such instants only: a
    /// job of theirs counts in full in intervals that a larger best-effort share may then fill.
    fn is_clean(&self, now: u64) -> bool {
        self.servers.iter().filter(|s| s.state == State::Ready).all(|s| {
            let until = u128::from(s.deadline.saturating_sub(now));
            let work = u128::from(s.left) * u128::from(s.period);
            s.kind != Kind::Hard && work <= until * u128::from(s.budget)
        })
    }

    /// The share that best effort divides at present; more than one CPU on several.
    pub fn best_effort(&self) -> Share {
        if self.cpus == 1 {
            return Share::ONE.minus(self.ledger.need());
        }
        let heaviest = self.weights.iter().rposition(|count| *count > 0).unwrap_or(0);
        let load = self.bandwidth.load();
        self.ledger.reserved().best_effort(self.cpus, load, heaviest as u32)
    }

    /// Another load, of which a server has more or less.
    fn set_counted(&mut self, now: u64, s: u32, counted: u32) {
        let server = &mut self.servers[s as usize];
        let before = core::mem::replace(&mut server.counted, counted);
        if before > 0 {
            self.weights[(before as usize).min(HEAVIEST)] -= 1;
        }
        if counted > 0 {
            self.weights[(counted as usize).min(HEAVIEST)] += 1;
        }
        let load = self.bandwidth.load() - u64::from(before) + u64::from(counted);
        let old = self.bandwidth;
        self.bandwidth.set_load(load);
        if self.cpus > 1 {
            self.bandwidth.set_best_effort(self.best_effort());
        }
        self.note_rise(now, &old);
    }

    fn divide(&mut self, now: u64) {
        let old = self.bandwidth;
        self.bandwidth.set_best_effort(self.best_effort());
        self.note_rise(now, &old);
    }

    fn note_rise(&mut self, now: u64, old: &Bandwidth) {
        if self.bandwidth.rises_from(old) {
            self.risen = now;
        }
    }
}

impl Sizing {
    fn sample(&self) -> Option<Sample> {
        match self {
            Sizing::Adaptive(how) => Some(how.sample),
            Sizing::Equal(_) => None,
        }
    }
}

impl Adaptation {
    /// The next budget, and the execution that its period is computed from.
    fn budget(&self, server: &mut Server) -> (u64, u64) {
        let used = server.average_used;
        let drift = u128::from(server.average.abs_diff(used)) * 1000;
        if used == 0 || drift > u128::from(used) * u128::from(self.lazy) {
            server.average_used = server.average;
        }
        let average = server.average_used;
        let margin = (u128::from(average) * u128::from(self.margin) / 1000) as u64;
        let bounds = (self.least.0.max(1), self.most.0.max(self.least.0).max(1));
        let clamp = |work: u64| work.clamp(bounds.0, bounds.1);
        let budget = clamp(average.saturating_add(margin));
        match self.basis {
            Basis::Budget => (budget, budget),
            Basis::Average => (budget, clamp(average)),
        }
    }
}
