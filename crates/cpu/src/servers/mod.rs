//! EDF over servers: the mechanism behind `edf`, `bebs`, `cbs`, `iris` and their variants.
//!
//! Each task, or group of tasks, has one server with a budget, a period and a deadline; the ready
//! server with the earliest deadline runs. Hard reservations have servers too, as overrun
//! protection: an exhausted budget suspends the task until its next period.
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
//! It remains to keep the sum of shares at 1 while bandwidth is redistributed. A server whose
//! share shrinks from `u` to `v` at `now` may have executed more than `u` times the time since its
//! release. It cannot give that back, so it keeps `u` until its zero-lag time `z`, when both are
//! equal; from there its remaining budget is stretched at share `v` ([`Transition::ZeroLag`]). A
//! new server gets at once the bandwidth freed by servers that are not ahead, and its full share
//! once the last server has passed its `z`. The share of a departed server is reclaimed at its `z`.
//! A reservation does not wait while no reserved job is pending: the busy interval of any later job
//! then starts no earlier than this instant, so it suffices that each server demands no more than
//! its new share from now on. Servers behind their shares lose the difference.
//!
//! Stretching alone, which is one reading of the paper, lets the new server use `u - v` during
//! `[now, z]` a second time; `crates/sim/tests/cpu_transitions.rs` shows a deadline missed that way.
//!
//! On several CPUs that share one queue a different sum is bounded, and idle time is used by a
//! layer above (`gfb`, [`crate::clusters`]): an idle CPU does not imply that nothing is pending, so
//! releases are not advanced.
//!
//! Nothing here allocates except joining and changing; a decision costs O(log n).

mod bandwidth;
pub(crate) mod describe;
mod members;
mod policy;
mod precedence;
mod promises;
mod protection;
mod reanchor;
mod rules;
mod server;
mod transition;
mod unhashed;

use alloc::vec::Vec;

use laxity_core::Span;

pub use rules::{Adaptation, Basis, Exhaustion, Load, Rules, Sample, Sizing, Slack, Transition};

use crate::admission::Ledger;
use crate::queue::Queue;
use crate::ready::Ready;
use crate::{CpuSet, GroupId, Reservation, Share};
use bandwidth::Bandwidth;
use members::Member;
use promises::Promises;
use server::{Kind, Server, State};
use unhashed::Unhashed;

/// The limit to how far deadlines run ahead on several CPUs, unless the rules set one.
const DEFAULT_AHEAD: Span = Span::from_millis(500);

/// The greatest weight of a nice value.
const MAX_WEIGHT: usize = 40;

/// EDF over servers, under the rules of one policy. For one CPU, or several that share a queue.
#[derive(Clone, Debug, Hash)]
pub struct Servers {
    rules: Rules,
    cpus: u32,
    /// By task.
    members: Vec<Member>,
    servers: Vec<Server>,
    free_slots: Vec<u32>,
    groups: Vec<(GroupId, u32)>,
    /// Ready servers by deadline.
    ready: Ready,
    /// Expired servers that may use slack, by next release plus the `slack_advance` at that time.
    expired: Queue,
    /// The total by which idle time has advanced all releases.
    slack_advance: u64,
    /// Hard servers suspended until their next release.
    suspended: Queue,
    /// Servers whose bandwidth is reclaimed later, by time.
    reclaim_queue: Queue,
    ledger: Ledger,
    bandwidth: Bandwidth,
    /// The number of servers with each active weight.
    weights: [u32; MAX_WEIGHT + 1],
    /// When all redistributed bandwidth is free.
    all_free_at: u64,
    /// When best-effort shares last rose: no best-effort release is backdated beyond it.
    last_rise: u64,
    /// The number of departed shared servers whose bandwidth is not reclaimed yet.
    leaving: u32,
    /// When the lead of deadlines was last checked.
    ahead_checked_at: u64,
    /// When the running server was picked.
    turn_began_at: u64,
    /// Whether best effort waits behind reservations with later deadlines (`precedence`).
    passed_over: bool,
    next_seq: u64,
    promises: Promises,
    /// How often promises were reset, and servers created; for records.
    resets: Unhashed,
    created: Unhashed,
}

impl Servers {
    /// No tasks yet.
    pub fn new(rules: Rules) -> Servers {
        Servers::global(rules, 1)
    }

    /// No tasks yet; global EDF on `cpus` CPUs that share one queue.
    pub fn global(rules: Rules, cpus: u32) -> Servers {
        let cpus = cpus.clamp(1, CpuSet::MOST);
        Servers {
            rules,
            cpus,
            members: Vec::new(),
            servers: Vec::new(),
            free_slots: Vec::new(),
            groups: Vec::new(),
            ready: Ready::new(cpus),
            expired: Queue::default(),
            slack_advance: 0,
            suspended: Queue::default(),
            reclaim_queue: Queue::default(),
            ledger: Ledger::new(cpus),
            bandwidth: Bandwidth::new(),
            weights: [0; MAX_WEIGHT + 1],
            all_free_at: 0,
            last_rise: 0,
            leaving: 0,
            ahead_checked_at: 0,
            turn_began_at: 0,
            passed_over: false,
            next_seq: 0,
            promises: Promises::default(),
            resets: Unhashed::default(),
            created: Unhashed::default(),
        }
    }

    /// The rules in force.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Budget, period and absolute deadline of a task's server, for plots and tests.
    pub fn server_of(&self, task: crate::TaskId) -> Option<(Span, Span, laxity_core::Time)> {
        let member = self.members.get(task.index()).filter(|m| m.is_present())?;
        let s = &self.servers[member.server as usize];
        Some((Span(s.budget), Span(s.period), laxity_core::Time(s.deadline)))
    }

    fn is_suspending(&self, s: u32) -> bool {
        let hard = self.servers[s as usize].kind == Kind::Hard;
        hard || self.rules.exhaustion == Exhaustion::Suspend
    }

    /// On several CPUs the shares add up to less than the capacity, so servers that recharge would
    /// run ahead without bound, and so would the time until their bandwidth can be reclaimed.
    /// There they expire at this limit.
    fn is_too_far_ahead(&self, now: u64, end: u64) -> bool {
        self.cpus > 1 && end > now.saturating_add(self.rules.ahead.unwrap_or(DEFAULT_AHEAD).0)
    }

    /// Budget and period of a release at `release`, the release itself, which is postponed when waiting for the
    /// full share gives the earlier deadline, and how much later than the period's end the deadline is.
    fn size(&mut self, s: u32, release: u64) -> (u64, u64, u64, u64) {
        let server = &mut self.servers[s as usize];
        let limited = release < server.limited_until;
        if server.kind != Kind::Shared {
            let Reservation { budget, period, .. } =
                if limited { server.previous } else { server.declared };
            return (budget.0, period.0, release, 0);
        }
        let mut later = 0;
        let (budget, period) = match &self.rules.sizing {
            Sizing::Adaptive(how) => {
                let (mut budget, mut basis) = how.budget(server);
                let mut period = self.bandwidth.period(basis, server.weight);
                if let Some(slice) = self.rules.slice.filter(|_| server.compute_bound) {
                    later = how.max_budget.0;
                    budget = slice.0.min(how.max_budget.0);
                    period = self.bandwidth.period(budget, server.weight);
                    basis = budget;
                }
                match self.rules.max_period.filter(|max_period| period > max_period.0) {
                    Some(max_period) => {
                        let part = |whole: u64| {
                            let part = u128::from(whole) * u128::from(max_period.0);
                            ((part / u128::from(period)) as u64).max(1)
                        };
                        (part(budget), self.bandwidth.period(part(basis), server.weight))
                    }
                    None => (budget, period),
                }
            }
            Sizing::Equal(period) if !limited => {
                return (self.bandwidth.budget(period.0, server.weight), period.0, release, 0);
            }
            Sizing::Equal(period) => {
                let budget = self.bandwidth.budget(period.0, server.weight);
                (budget, self.bandwidth.period(budget, server.weight))
            }
        };
        if limited {
            let slower = server.limited_rate.time_for(Span(budget)).0.max(period);
            if release.saturating_add(slower) <= server.limited_until.saturating_add(period) {
                return (budget, slower, release, later);
            }
            return (budget, period, server.limited_until, later);
        }
        (budget, period, release, later)
    }

    /// Replenishes a server at `release`; `nominal_release` is the release without slack.
    fn replenish(&mut self, s: u32, release: u64, nominal_release: u64) {
        let (budget, period, release, later) = self.size(s, release);
        let server = &mut self.servers[s as usize];
        server.budget = budget;
        server.remaining_budget = budget;
        server.replenished.0 += 1;
        server.period = period;
        server.period_end = release.saturating_add(period);
        let base = match self.rules.slack {
            Slack::OriginalDeadline => nominal_release.max(release),
            _ => release,
        };
        let relative = match server.kind {
            Kind::Hard if release < server.limited_until => server.previous.deadline.0,
            Kind::Hard => server.declared.deadline.0,
            _ => period.saturating_add(later),
        };
        server.deadline = base.saturating_add(relative);
        self.rotate(s);
    }

    /// Makes a server ready from `at` on.
    fn enter_ready(&mut self, at: u64, s: u32) {
        let sample_by_state = self.sampling() == Some(Sample::State);
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

    /// Makes a server wait until `release`, which idle time may advance for best effort.
    fn enter_expired(&mut self, s: u32, release: u64) {
        self.ready.leave(s);
        self.next_seq += 1;
        let server = &mut self.servers[s as usize];
        server.state = State::Expired;
        server.nominal_release = release;
        if server.kind == Kind::Hard {
            self.suspended.set(s, release, self.next_seq);
        } else {
            self.expired.set(s, release.saturating_add(self.slack_advance), self.next_seq);
        }
    }

    /// Recharges or expires a server whose budget is exhausted.
    fn on_budget_exhausted(&mut self, now: u64, s: u32) {
        if matches!(self.sampling(), Some(Sample::State | Sample::Switch)) {
            self.servers[s as usize].record_sample();
        }
        if let Some(slice) = self.rules.slice {
            let server = &mut self.servers[s as usize];
            let usual = server.average.saturating_mul(4).saturating_add(slice.0);
            server.compute_bound |= server.execution >= usual;
        }
        let Server { period_end: end, deadline, .. } = self.servers[s as usize];
        if !(self.is_suspending(s) || self.is_too_far_ahead(now, end)) || end <= now {
            // A period that has already ended, after an early release, is followed by one that
            // starts at its end, not now: idle time does not increase the share. A backdated
            // release must not be due before the one it follows: only from the first release on
            // do the two together fit the share.
            let release = self.next_release(s, end, now);
            self.replenish(s, release, release);
            let server = &mut self.servers[s as usize];
            server.deadline = server.deadline.max(deadline);
            self.enter_ready(now, s);
        } else {
            self.enter_expired(s, end);
        }
    }

    /// A member of a blocked server becomes runnable.
    fn activate(&mut self, now: u64, s: u32) {
        if self.servers[s as usize].kind == Kind::Shared
            && self.servers[s as usize].active_weight < self.servers[s as usize].weight
        {
            self.activate_weight(now, s);
        }
        if self.rules.load == Load::Unblocked {
            self.reclaim_queue.remove(s);
        }
        let server = &mut self.servers[s as usize];
        if self.rules.sizing.sampling() != Some(Sample::Switch) {
            server.execution = 0;
        }
        let is_new = server.kind == Kind::Shared && server.period == 0;
        if server.needs_new_release(now) {
            let release = if is_new { self.first_release(now) } else { now };
            self.replenish(s, release, release);
            self.enter_ready(now, s);
        } else if server.remaining_budget == 0 || server.is_constrained() {
            let end = server.period_end;
            if self.is_suspending(s) || self.is_too_far_ahead(now, end) {
                self.enter_expired(s, end);
            } else {
                // It blocked at the instant at which its budget was exhausted. It is recharged as if
                // it had not blocked, or it would wait for the period's end while the CPU idles.
                self.replenish(s, end, end);
                self.enter_ready(now, s);
            }
        } else {
            self.enter_ready(now, s);
        }
        let server = &self.servers[s as usize];
        // Its weight was lowered, and it blocked before the lower weight became the active one.
        if self.rules.load == Load::Unblocked
            && server.kind == Kind::Shared
            && server.active_weight > server.weight
        {
            self.deactivate_weight(now, now, s);
        }
    }

    /// The last runnable member of a server blocks or leaves.
    fn deactivate(&mut self, now: u64, s: u32) {
        let sampled = self.sampling().is_some();
        let server = &mut self.servers[s as usize];
        if server.state == State::Ready && sampled {
            server.record_sample();
        }
        server.state = State::Blocked;
        server.compute_bound = false;
        self.ready.leave(s);
        self.expired.remove(s);
        self.suspended.remove(s);
        if self.rules.load == Load::Unblocked && self.servers[s as usize].kind == Kind::Shared {
            self.deactivate_weight(now, now.saturating_add(self.rules.lapse.0), s);
        }
    }

    /// The actual release for one that was due at `at`. A reservation that has lost a whole period since, because
    /// the CPU was taken away, is released at `now`: making up for all lost periods would give it the CPU for as
    /// long, and other servers would miss their guarantees from then on.
    ///
    /// A release is not backdated beyond the last rise of its share: a period is sized with the present share, which
    /// must not apply to time in which the share was smaller. The unused bandwidth of that time is lost.
    fn next_release(&self, s: u32, at: u64, now: u64) -> u64 {
        let server = &self.servers[s as usize];
        match server.kind {
            Kind::Hard if now.saturating_sub(at) >= server.period => now,
            Kind::Shared => at.max(self.last_rise).max(server.last_rise).min(now.max(at)),
            _ => at,
        }
    }

    /// Performs all releases that are due.
    fn release_due(&mut self, now: u64) {
        while let Some((at, s)) = self.suspended.first().filter(|(at, _)| *at <= now) {
            self.suspended.remove(s);
            let release = self.next_release(s, at, now);
            self.replenish(s, release, release);
            self.enter_ready(release, s);
        }
        let slack_advance = self.slack_advance;
        while let Some((at, s)) = self.expired.first().filter(|(at, _)| at - slack_advance <= now) {
            self.expired.remove(s);
            let nominal_release = self.servers[s as usize].nominal_release;
            let release = self.next_release(s, at - slack_advance, now);
            self.replenish(s, release, nominal_release);
            self.enter_ready(release, s);
        }
    }

    /// Uses slack when the CPU would idle at `now`: advances all pending best-effort releases by
    /// the same amount, so that the first one is now.
    fn use_slack(&mut self, now: u64) {
        if self.rules.slack == Slack::Unused {
            return;
        }
        if let Some((at, _)) = self.expired.first() {
            self.slack_advance += (at - self.slack_advance).saturating_sub(now);
            self.resets.0 += 1;
            self.promises_advance(now);
            self.release_due(now);
        }
    }

    /// The first release of a best-effort server: where deadlines may run ahead and tasks have slices, a task
    /// that has just begun is as far ahead as the one with the earliest deadline. Only by sleep does a task
    /// gain on those that run ahead; otherwise starting ever new processes would pay.
    fn first_release(&self, now: u64) -> u64 {
        let running = match (self.rules.ahead, self.rules.slice) {
            (Some(_), Some(_)) if self.cpus == 1 => self.ready.first(),
            _ => None,
        };
        let shared = |s: &u32| self.servers[*s as usize].kind == Kind::Shared;
        running.filter(shared).map_or(now, |s| self.servers[s as usize].zero_lag(now))
    }

    /// Charges execution to a server's budget.
    fn charge(&mut self, s: u32, ran: u64) {
        let server = &mut self.servers[s as usize];
        self.promises.executed(s, ran, server.remaining_budget);
        server.remaining_budget = server.remaining_budget.saturating_sub(ran);
        self.sample_execution(s, ran);
    }

    /// Adds execution to the current sample.
    fn sample_execution(&mut self, s: u32, ran: u64) {
        let most = match &self.rules.sizing {
            Sizing::Adaptive(how) if how.sample == Sample::Job => how.max_budget.0.max(1),
            _ => u64::MAX,
        };
        let server = &mut self.servers[s as usize];
        server.execution = server.execution.saturating_add(ran);
        if server.execution >= most {
            // One sample for each full budget, however execution is split into reports. After 64
            // equal samples the average has converged to them.
            let (times, rest) = (server.execution / most, server.execution % most);
            for _ in 0..times.min(64) {
                server.execution = most;
                server.record_sample();
            }
            server.execution = rest;
            server.compute_bound |= self.rules.slice.is_some();
        }
    }

    fn sampling(&self) -> Option<Sample> {
        self.rules.sizing.sampling()
    }

    fn reclaim_due(&mut self, now: u64) {
        while let Some((_, s)) = self.reclaim_queue.first().filter(|(at, _)| *at <= now) {
            let shared = self.servers[s as usize].kind == Kind::Shared;
            let one = self.cpus == 1;
            if one && !shared && self.ledger.is_constrained() && !self.is_clean(now) {
                // Later entries wait behind this one and are reclaimed a little late.
                break;
            }
            self.reclaim(now, s);
        }
    }

    /// Whether pending work demands no more than servers released at `now` would: no hard job is
    /// pending, and no server has more remaining budget than its share until its deadline. Nothing
    /// that happened before such an instant can cause a deadline miss after it.
    ///
    /// Reservations with deadlines shorter than periods are reclaimed at such instants only: their
    /// jobs count in full in intervals that a larger best-effort share may then fill.
    fn is_clean(&self, now: u64) -> bool {
        self.servers.iter().filter(|s| s.state == State::Ready).all(|s| {
            let until = u128::from(s.deadline.saturating_sub(now));
            let work = u128::from(s.remaining_budget) * u128::from(s.period);
            s.kind != Kind::Hard && work <= until * u128::from(s.budget)
        })
    }

    /// The share that best-effort servers divide at present; it may exceed one on several CPUs.
    pub fn best_effort(&self) -> Share {
        if self.cpus == 1 {
            return Share::ONE.minus(self.ledger.reserved_bw());
        }
        let heaviest = self.weights.iter().rposition(|count| *count > 0).unwrap_or(0);
        let load = self.bandwidth.total_weight();
        self.ledger.reserved().best_effort(self.cpus, load, heaviest as u32)
    }

    /// Changes the active weight of a server, and with it the total.
    fn set_active_weight(&mut self, now: u64, s: u32, active_weight: u32) {
        let server = &mut self.servers[s as usize];
        let before = core::mem::replace(&mut server.active_weight, active_weight);
        if before > 0 {
            self.weights[(before as usize).min(MAX_WEIGHT)] -= 1;
        }
        if active_weight > 0 {
            self.weights[(active_weight as usize).min(MAX_WEIGHT)] += 1;
        }
        let load = self.bandwidth.total_weight() - u64::from(before) + u64::from(active_weight);
        let old = self.bandwidth;
        self.bandwidth.set_total_weight(load);
        if self.cpus > 1 {
            self.bandwidth.set_best_effort(self.best_effort());
        }
        self.record_rise(now, &old);
    }

    fn update_best_effort_bw(&mut self, now: u64) {
        let old = self.bandwidth;
        self.bandwidth.set_best_effort(self.best_effort());
        self.record_rise(now, &old);
    }

    fn record_rise(&mut self, now: u64, old: &Bandwidth) {
        if self.bandwidth.rises_from(old) {
            self.last_rise = now;
        }
    }
}

impl Sizing {
    fn sampling(&self) -> Option<Sample> {
        match self {
            Sizing::Adaptive(how) => Some(how.sample),
            Sizing::Equal(_) => None,
        }
    }
}

impl Adaptation {
    /// The next budget, and the execution from which its period is computed.
    fn budget(&self, server: &mut Server) -> (u64, u64) {
        let used = server.applied_average;
        let drift = u128::from(server.average.abs_diff(used)) * 1000;
        if used == 0 || drift > u128::from(used) * u128::from(self.hysteresis) {
            server.applied_average = server.average;
        }
        let average = server.applied_average;
        let margin = (u128::from(average) * u128::from(self.margin) / 1000) as u64;
        let bounds = (self.min_budget.0.max(1), self.max_budget.0.max(self.min_budget.0).max(1));
        let clamp = |work: u64| work.clamp(bounds.0, bounds.1);
        let budget = clamp(average.saturating_add(margin));
        match self.basis {
            Basis::Budget => (budget, budget),
            Basis::Average => (budget, clamp(average)),
        }
    }
}
