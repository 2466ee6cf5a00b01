//! The promises of all servers, and the assertions about them.

mod sum;

use alloc::vec::Vec;

use super::super::server::{Kind, Server, State};
use super::super::{Basis, Servers, Sizing, Transition};
use super::promise::Promise;
use super::tail::Tail;
use crate::{Policy, Share};
use laxity_core::Span;

/// The rounding error of instants in ns, as budgets and periods are whole. A deadline that moves later by
/// this much moves the zero-lag time computed from it.
const TIME_TOLERANCE: u64 = 8;
/// The lateness in ns that rounding may cause, of shares in the ledger and of period ends.
const LATENESS_TOLERANCE: u64 = 100;
/// Work in ns by which budgets and promises may differ: each change of a share rounds once, and one period may
/// have several.
const WORK_TOLERANCE: u64 = 8;
/// The number of steps of one promise beyond which checking stops: on several CPUs a server may run thousands
/// of periods ahead, and each adds a step.
const MAX_STEPS: usize = 128;

#[derive(Clone, Debug, Default, Hash)]
pub(in super::super) struct Promises {
    /// By server; `None` for free slots.
    rows: Vec<Option<Row>>,
    /// The first instant at which promises have changed since the sum was checked, if any.
    changed: Option<u64>,
    /// Whether the driver has violated the contract of [`Policy`]: nothing is asserted from then on.
    disabled: bool,
    /// The time of the last event, and the execution not yet reported then, on all CPUs.
    last: u64,
    unreported: u64,
    /// Whether a server has been ready since the last event, and whether the CPU was taken away meanwhile: then
    /// servers may be late, until none is ready.
    busy: bool,
    lost_time: bool,
}

#[derive(Clone, Debug, Hash)]
struct Row {
    promise: Promise,
    /// The deadline while ready.
    deadline: Option<u64>,
    /// The current step during a check of the sum; otherwise 0.
    cursor: usize,
}

impl Promises {
    fn row(&mut self, s: u32) -> Option<&mut Row> {
        self.rows.get_mut(s as usize).and_then(Option::as_mut)
    }

    /// Records that a promise has changed at `at` or later.
    fn changes(&mut self, at: u64) {
        self.changed = earlier(self.changed, Some(at));
    }

    /// A server is created in this slot; the promise of its predecessor is discarded.
    pub(in super::super) fn begins(&mut self, s: u32) {
        if let Some(row) = self.rows.get_mut(s as usize) {
            *row = None;
            self.changes(0);
        }
    }

    /// A server executed; `left` was its remaining budget before.
    pub(in super::super) fn executed(&mut self, s: u32, ran: u64, left: u64) {
        self.disabled |= ran > left || ran > self.unreported;
        self.unreported = self.unreported.saturating_sub(ran);
        if let Some(row) = self.row(s) {
            row.promise.executed(ran.min(left));
        }
    }

    /// A server that was not ready becomes ready at `at`.
    pub(in super::super) fn enters_ready(&mut self, s: u32, at: u64) {
        if let Some(row) = self.row(s) {
            row.promise.advance_zero_lag(at);
            row.deadline = None;
        }
    }
}

fn earlier(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.into_iter().chain(b).min()
}

impl Servers {
    fn is_checked(&self) -> bool {
        let paper = match &self.rules.sizing {
            Sizing::Adaptive(how) => how.basis == Basis::Budget,
            Sizing::Equal(_) => true,
        };
        paper && self.rules.transition == Transition::ZeroLag
    }

    /// The stated promise, and the instant from which it replaces the one before.
    fn tail(&self, now: u64, s: u32) -> (u64, Tail) {
        let (from, tail) = self.stated_promise(now, s);
        let Server { state, kind, .. } = self.servers[s as usize];
        // A shared server that is not ready executes nothing before that, and needs no share.
        let unneeded = state == State::Leaving || (kind == Kind::Shared && state != State::Ready);
        match self.promises.rows.get(s as usize).and_then(Option::as_ref) {
            Some(row) if unneeded => (from.min(row.promise.zero_lag().max(now)), tail),
            _ => (from, tail),
        }
    }

    /// Called after `reset_lag`: shared servers have their shares from `now` on.
    pub(in super::super) fn promises_reset_lag(&mut self, now: u64) {
        self.reset_promises(now, |server| {
            server.active_weight > 0 && server.state != State::Leaving
        });
    }

    /// Called after idle time has advanced the releases of expired servers.
    pub(in super::super) fn promises_advance(&mut self, now: u64) {
        self.reset_promises(now, |server| server.state == State::Expired);
    }

    fn reset_promises(&mut self, now: u64, which: impl Fn(&Server) -> bool) {
        self.assert_clean(now, Kind::Hard);
        for s in 0..self.servers.len() as u32 {
            let server = &self.servers[s as usize];
            if server.kind == Kind::Hard || !which(server) {
                continue;
            }
            let state = self.servers[s as usize].state;
            let (from, tail) = match self.tail(now, s) {
                (_, tail) if state != State::Ready => (now, tail),
                from => from,
            };
            let ready = state == State::Ready;
            if let Some(row) = self.promises.row(s) {
                row.promise.reset(from, &tail);
                if !ready {
                    row.deadline = None;
                }
            }
        }
        self.promises.changes(0);
    }

    /// Called after the deadlines of all but hard servers have moved back by `excess`.
    pub(in super::super) fn promises_move_back(&mut self, now: u64, excess: u64) {
        self.assert_clean(now, Kind::Hard);
        for s in 0..self.servers.len() as u32 {
            let server = &self.servers[s as usize];
            if matches!(server.kind, Kind::Hard) || server.state == State::Vacant {
                continue;
            }
            let (state, deadline) = (server.state, server.deadline);
            let release = self.release_of(s);
            let disabled = self.promises.disabled;
            let Some(row) = self.promises.row(s) else { continue };
            row.promise.move_back(excess);
            if disabled {
                continue;
            }
            if state == State::Ready {
                row.promise.advance_zero_lag(now);
                row.deadline = Some(deadline);
            }
            if let Some(release) = release {
                assert!(release >= now, "server {s} is to be released at {release} < {now}");
            }
        }
        self.promises.changes(0);
    }

    fn assert_clean(&self, now: u64, kind: Kind) {
        let pending = |s: &Server| s.state == State::Ready && s.kind == kind;
        assert!(
            self.promises.disabled || !self.is_checked() || !self.servers.iter().any(pending),
            "promises are reset at {now} while a hard job is pending"
        );
    }

    /// Called before an event: checks the contract of the driver ([`Policy`]), on which the rule depends. Time
    /// does not go back, timers are not late, and only picked tasks execute, no longer than allowed.
    pub(in super::super) fn check_driver(&mut self, now: u64) {
        let passed = now.saturating_sub(self.promises.last);
        if passed > 0 {
            let lost_time = self.promises.unreported > 0 && self.promises.busy;
            self.promises.lost_time = self.promises.busy && (self.promises.lost_time || lost_time);
            self.promises.busy = !self.ready.is_empty();
            self.promises.unreported = passed.saturating_mul(self.cpus.into());
        }
        let late = self.next_event().is_some_and(|due| due.0 < now);
        // Beyond that periods saturate.
        self.promises.disabled |= self.bandwidth.total_weight() >= 1 << 20;
        self.promises.disabled |= now < self.promises.last || now > 1 << 62 || late;
        self.promises.last = now;
    }

    /// Called after an event: updates the promises and asserts the rule.
    pub(in super::super) fn check_promises(&mut self, now: u64) {
        if self.promises.disabled || !self.is_checked() {
            return;
        }
        self.promises.rows.resize(self.servers.len(), None);
        for s in 0..self.servers.len() as u32 {
            self.check_promise(now, s);
        }
        let changed = self.promises.changed.take().filter(|_| !self.ledger.is_constrained());
        if let Some(from) = changed {
            self.assert_sum(now, from.max(now));
        }
    }

    fn check_promise(&mut self, now: u64, s: u32) {
        let server = &self.servers[s as usize];
        let (state, kind) = (server.state, server.kind);
        if state == State::Vacant {
            if self.promises.rows[s as usize].take().is_some() {
                self.promises.changes(0);
            }
            return;
        }
        let (left, deadline) = (server.remaining_budget, server.deadline);
        let (from, tail) = self.tail(now, s);
        let constrained = self.servers[s as usize].is_constrained();
        let release = self.release_of(s);
        let lost_time =
            self.promises.lost_time || self.promises.unreported > 0 && self.promises.busy;
        // Without reservations best effort waits for a task that is protected.
        let waits =
            self.rules.wakeup_granularity > Span::ZERO && self.ledger.reserved_bw() == Share::ZERO;
        let passed_over = self.passed_over && kind == Kind::Shared;
        let may_be_late = lost_time || waits || passed_over || self.ledger.is_constrained();
        let row = &mut self.promises.rows[s as usize];
        let row = row.get_or_insert_with(|| {
            let promise = Promise::starting(now, from);
            Row { promise, deadline: None, cursor: 0 }
        });
        row.promise.drop_history(now.min(row.promise.zero_lag()));
        row.promise.absorb_rounding(from, WORK_TOLERANCE);
        let owes = matches!(state, State::Ready | State::Expired);
        let changed = row.promise.first_difference(from, &tail);
        if let Some(at) = changed {
            // Nearly no share takes nearly for ever.
            let tolerance = row.promise.time_of(WORK_TOLERANCE).saturating_add(TIME_TOLERANCE);
            row.promise.change(from, &tail);
            self.promises.disabled |= self.cpus > 1 && row.promise.breakpoints().len() > MAX_STEPS;
            self.promises.changed = earlier(self.promises.changed, changed);
            let zero_lag = row.promise.zero_lag();
            // 1. Only later. A blocked or departed server has used nothing ahead beyond its zero-lag time.
            assert!(
                at.saturating_add(tolerance)
                    >= zero_lag.min(if owes { u64::MAX } else { now.max(zero_lag) }),
                "the promise of server {s} changes at {at}, before its zero-lag time {zero_lag}, now {now}"
            );
        }
        // 3. Keys.
        match state {
            State::Ready => {
                // Where limits follow the period, rounding may defer the last nanoseconds until after them.
                let finish_time = row.promise.finish_time(left.saturating_sub(WORK_TOLERANCE));
                let tolerance =
                    TIME_TOLERANCE + (finish_time.saturating_sub(row.promise.zero_lag()) >> 28);
                assert!(
                    constrained || deadline.saturating_add(tolerance) >= finish_time,
                    "server {s} ({kind:?}) is due at {deadline}, before its promise gives {left}: {finish_time}; \
                     now {now}, {:?}",
                    row.promise
                );
                assert!(
                    left == 0 || may_be_late || deadline.saturating_add(LATENESS_TOLERANCE) >= now,
                    "server {s} ({kind:?}) was due at {deadline} with {left} left, now {now}"
                );
                assert!(
                    row.deadline.is_none_or(|before| deadline >= before),
                    "the deadline of ready server {s} moves back from {:?} to {deadline}, now {now}",
                    row.deadline
                );
                row.deadline = Some(deadline);
            }
            State::Expired => {
                row.deadline = None;
                let (release, zero_lag) = (release.unwrap_or(u64::MAX), row.promise.zero_lag());
                // Work executed ahead of the release. While its share is limited to zero, a server may be released
                // before its zero-lag time, with a deadline after it.
                let ahead = row.promise.work_between(release, zero_lag);
                assert!(
                    ahead <= WORK_TOLERANCE,
                    "server {s} ({kind:?}) is released at {release}, {ahead} ns of work before its zero-lag time \
                     {zero_lag}, now {now}, {:?}",
                    row.promise
                );
            }
            _ => row.deadline = None,
        }
    }
}
