//! Promises beside the servers, and the assertions.

mod sum;

use alloc::vec::Vec;

use super::super::bandwidth::Bandwidth;
use super::super::server::{Kind, Server, State};
use super::super::{Basis, Servers, Sizing, Transition};
use super::promise::{Fine, Promise, Tail};
use crate::{Policy, Reservation, Share};

/// What rounding moves instants by, in ns: budgets and periods are whole. A deadline that moved later by
/// this much moves the zero-lag time that is computed from it.
const ROUNDING: u64 = 8;
/// What rounding may make a server late by: shares in the ledger and ends of periods.
const LATE: u64 = 100;
/// Work in ns by which budgets and promises may differ: each change of a share rounds once, and several may
/// come within one period.
const ROUNDED: u64 = 8;
/// Steps of one promise from which on nothing is asserted: on several CPUs a server may run thousands of
/// periods ahead, and each leaves a step.
const MOST_STEPS: usize = 128;

#[derive(Clone, Debug, Default, Hash)]
pub(in super::super) struct Promises {
    /// By server; `None` for vacant places.
    rows: Vec<Option<Row>>,
    /// From when on promises have changed since the sum was checked, if any.
    changed: Option<u64>,
    /// Whether the driver has broken its part: nothing is asserted from then on.
    void: bool,
    /// The last event, and the execution that was not reported then, on all CPUs.
    last: u64,
    unreported: u64,
    /// Whether a server has been ready since the last event, and whether nobody executed meanwhile: then
    /// servers may be late, until none is ready.
    busy: bool,
    lost: bool,
}

#[derive(Clone, Debug, Hash)]
struct Row {
    promise: Promise,
    /// The deadline while ready.
    deadline: Option<u64>,
    /// The step at which the sum is looked at; 0 in between.
    cursor: usize,
}

impl Promises {
    fn row(&mut self, s: u32) -> Option<&mut Row> {
        self.rows.get_mut(s as usize).and_then(Option::as_mut)
    }

    /// A promise has another share at `at` or later.
    fn changes(&mut self, at: u64) {
        self.changed = earlier(self.changed, Some(at));
    }

    /// A server begins at this place; of the one before nothing is left.
    pub(in super::super) fn begins(&mut self, s: u32) {
        if let Some(row) = self.rows.get_mut(s as usize) {
            *row = None;
            self.changes(0);
        }
    }

    /// A server ran, with so much left of its budget before.
    pub(in super::super) fn executed(&mut self, s: u32, ran: u64, left: u64) {
        self.void |= ran > left || ran > self.unreported;
        self.unreported = self.unreported.saturating_sub(ran);
        if let Some(row) = self.row(s) {
            row.promise.executed(ran.min(left));
        }
    }

    /// A server that was not ready becomes ready at `at`.
    pub(in super::super) fn enters_ready(&mut self, s: u32, at: u64) {
        if let Some(row) = self.row(s) {
            row.promise.waited(at);
            row.deadline = None;
        }
    }
}

fn earlier(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.into_iter().chain(b).min()
}

fn reserved(r: Reservation) -> Fine {
    (u128::from(r.budget.0) << 56).div_ceil(u128::from(r.deadline.0.max(1)))
}

impl Servers {
    fn is_checked(&self) -> bool {
        let paper = match &self.rules.sizing {
            Sizing::Adaptive(how) => how.basis == Basis::Budget,
            Sizing::Equal(_) => true,
        };
        paper && self.rules.transition == Transition::ZeroLag
    }

    /// The promise of a server as its state has it, and from when on: the share of its period to its end,
    /// then what it is limited to, then its present share.
    fn tail(&self, now: u64, s: u32) -> (u64, Tail) {
        let server = &self.servers[s as usize];
        let row = self.promises.rows.get(s as usize).and_then(Option::as_ref);
        if server.state == State::Leaving {
            let used = row.map_or(now, |row| row.promise.zero_lag());
            return (self.returns.key(s).unwrap_or(now).min(used).max(now), Tail::default());
        }
        if server.kind != Kind::Shared {
            let rest = reserved(server.declared);
            let held = (server.limited_until, reserved(server.held));
            if server.period == 0 {
                return (server.end.max(now), Tail { steps: [(0, 0), (0, 0), held], rest });
            }
            let rate = (u128::from(server.budget) << 56).div_ceil(server.period.into());
            let constrained = reserved(server.declared);
            let rate = if server.is_constrained() { constrained } else { rate };
            let tail = Tail { steps: [(0, 0), (server.end, rate), held], rest };
            return (server.zero_lag(now), tail);
        }
        let uses_from = match server.state {
            State::Expired => self.release_of(s).unwrap_or(now).max(now),
            _ if server.period == 0 => now,
            _ => server.zero_lag(now),
        };
        // One that does not compete executes nothing before that, and needs nothing.
        let from = match row {
            Some(row) if server.state != State::Ready => {
                uses_from.min(row.promise.zero_lag().max(now))
            }
            _ => uses_from,
        };
        if server.counted == 0 {
            return (from, Tail::default());
        }
        let rate = (u128::from(server.budget) << 56) / u128::from(server.period.max(1));
        let period = match server.state {
            State::Expired => (0, 0),
            _ => (server.end, rate),
        };
        // Asleep under `Load::Unblocked` it has what it counts with until it wakes.
        let weight = u128::from(server.dividing());
        let share = (u128::from(self.divided().0) << 16) * weight
            / u128::from(self.bandwidth.load().max(1));
        let limit = u128::from(server.limited_rate.0) << 16;
        let limited = (server.limited_until, share.min(limit));
        let tail = Tail { steps: [(uses_from, 0), period, limited], rest: share };
        (from, tail)
    }

    /// What shared servers divide: where reservations leave nothing, the little that periods are made for.
    fn divided(&self) -> Share {
        self.best_effort().max(Bandwidth::LEAST)
    }

    /// When an expired server is released.
    fn release_of(&self, s: u32) -> Option<u64> {
        let expired = self.expired.key(s).map(|at| at - self.advanced);
        expired.or_else(|| self.suspended.key(s))
    }

    /// After `begin_anew`: shared servers have their shares from `now` on.
    pub(in super::super) fn promises_begin_anew(&mut self, now: u64) {
        self.set_anew(now, |server| server.counted > 0 && server.state != State::Leaving);
    }

    /// After idle time was given to expired servers.
    pub(in super::super) fn promises_advance(&mut self, now: u64) {
        self.set_anew(now, |server| server.state == State::Expired);
    }

    fn set_anew(&mut self, now: u64, which: impl Fn(&Server) -> bool) {
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

    /// After all but hard servers moved back by `excess`.
    pub(in super::super) fn promises_move_back(&mut self, now: u64, excess: u64) {
        self.assert_clean(now, Kind::Hard);
        for s in 0..self.servers.len() as u32 {
            let server = &self.servers[s as usize];
            if matches!(server.kind, Kind::Hard) || server.state == State::Vacant {
                continue;
            }
            let (state, deadline) = (server.state, server.deadline);
            let release = self.release_of(s);
            let void = self.promises.void;
            let Some(row) = self.promises.row(s) else { continue };
            row.promise.move_back(excess);
            if void {
                continue;
            }
            if state == State::Ready {
                row.promise.waited(now);
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
            self.promises.void || !self.is_checked() || !self.servers.iter().any(pending),
            "promises are set anew at {now} while a hard job is pending"
        );
    }

    /// Before an event. The rule is the servers' as long as the driver keeps to its own ([`Policy`]): time
    /// does not go back, timers are not late, nobody runs who was not chosen or for longer than allowed.
    pub(in super::super) fn expect_driver(&mut self, now: u64) {
        let passed = now.saturating_sub(self.promises.last);
        if passed > 0 {
            let lost = self.promises.unreported > 0 && self.promises.busy;
            self.promises.lost = self.promises.busy && (self.promises.lost || lost);
            self.promises.busy = !self.ready.is_empty();
            self.promises.unreported = passed.saturating_mul(self.cpus.into());
        }
        let late = self.next_event().is_some_and(|due| due.0 < now);
        // Beyond that periods saturate.
        self.promises.void |= self.bandwidth.load() >= 1 << 20;
        self.promises.void |= now < self.promises.last || now > 1 << 62 || late;
        self.promises.last = now;
    }

    /// Follows what an event has changed, and asserts the rule.
    pub(in super::super) fn keep_promises(&mut self, now: u64) {
        if self.promises.void || !self.is_checked() {
            return;
        }
        self.promises.rows.resize(self.servers.len(), None);
        for s in 0..self.servers.len() as u32 {
            self.keep_promise(now, s);
        }
        let changed = self.promises.changed.take().filter(|_| !self.ledger.is_constrained());
        if let Some(from) = changed {
            self.assert_sum(now, from.max(now));
        }
    }

    fn keep_promise(&mut self, now: u64, s: u32) {
        let server = &self.servers[s as usize];
        let (state, kind) = (server.state, server.kind);
        if state == State::Vacant {
            if self.promises.rows[s as usize].take().is_some() {
                self.promises.changes(0);
            }
            return;
        }
        let (left, deadline) = (server.left, server.deadline);
        let (from, tail) = self.tail(now, s);
        let constrained = self.servers[s as usize].is_constrained();
        let release = self.release_of(s);
        let lost = self.promises.lost || self.promises.unreported > 0 && self.promises.busy;
        let may_be_late = lost || self.ledger.is_constrained();
        let row = &mut self.promises.rows[s as usize];
        let row = row.get_or_insert_with(|| {
            let promise = Promise::starting(now, from);
            Row { promise, deadline: None, cursor: 0 }
        });
        row.promise.forget(now.min(row.promise.zero_lag()));
        row.promise.round_to(from, ROUNDED);
        let owes = matches!(state, State::Ready | State::Expired);
        let tolerance = ROUNDING + row.promise.time_of(ROUNDED);
        let changed = row.promise.change(from, &tail);
        self.promises.void |= self.cpus > 1 && row.promise.breakpoints().len() > MOST_STEPS;
        self.promises.changed = earlier(self.promises.changed, changed);
        if let Some(at) = changed {
            let zero_lag = row.promise.zero_lag();
            // 1. Only later. One that sleeps or has left has used nothing ahead beyond its zero-lag time.
            assert!(
                at + tolerance >= zero_lag.min(if owes { u64::MAX } else { now.max(zero_lag) }),
                "the promise of server {s} changes at {at}, before its zero-lag time {zero_lag}, now {now}"
            );
        }
        // 3. Keys.
        match state {
            State::Ready => {
                // Of a period that others' limits follow, rounding may leave the last bit for after them.
                let gives = row.promise.gives(left.saturating_sub(ROUNDED));
                let tolerance = ROUNDING + (gives.saturating_sub(row.promise.zero_lag()) >> 28);
                assert!(
                    constrained || deadline.saturating_add(tolerance) >= gives,
                    "server {s} ({kind:?}) is due at {deadline}, before its promise gives {left}: {gives}; \
                     now {now}, {:?}",
                    row.promise
                );
                assert!(
                    left == 0 || may_be_late || deadline + LATE >= now,
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
                // Executed ahead of the release; while its share is limited to nothing it may be released before
                // its zero-lag time, with a deadline after that.
                let ahead = row.promise.given(release, zero_lag);
                assert!(
                    ahead <= ROUNDED,
                    "server {s} ({kind:?}) is released at {release}, {ahead} ns of work before its zero-lag time \
                     {zero_lag}, now {now}, {:?}",
                    row.promise
                );
            }
            _ => row.deadline = None,
        }
    }
}
