//! The servers of a cluster, and the rule by which they change.

use std::collections::BTreeSet;

use laxity_core::Time;
use laxity_results::csv::cpu_run::{RunKind, RunState, ServerRow};

use super::CpuFault;
use super::promise::{INSTANT, Promise, Share, Stated, WORK};

/// A place for servers.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub state: RunState,
    pub kind: RunKind,
    pub deadline: u64,
    /// The remaining budget, and of which replenishment.
    pub left: u64,
    /// What it executed beyond the budget since then.
    pub beyond: u64,
    replenished: u64,
    /// While it is expired: its release.
    release: Option<u64>,
    pub ready_since: u64,
    promise: Promise,
    /// Steps of the promise that are over.
    past: Vec<(u64, Share)>,
    /// The task that ran in it last.
    pub task: Option<u32>,
}

impl Server {
    fn new(now: u64) -> Server {
        Server {
            state: RunState::Vacant,
            kind: RunKind::Shared,
            deadline: 0,
            left: 0,
            beyond: 0,
            replenished: 0,
            release: None,
            ready_since: 0,
            promise: Promise::new(now),
            past: vec![(now, 0)],
            task: None,
        }
    }

    pub(super) fn is_hard(&self) -> bool {
        matches!(self.kind, RunKind::Hard | RunKind::Constrained)
    }

    fn is_reserved(&self) -> bool {
        self.kind != RunKind::Shared && self.state != RunState::Vacant
    }

    /// What is beyond the budget is judged against the tolerance, and is no use of the promise: the scheduler forgives
    /// it too.
    pub(super) fn executed(&mut self, ran: u64) {
        self.promise.executed(ran.min(self.left));
        self.beyond = self.beyond.saturating_add(ran.saturating_sub(self.left));
        self.left = self.left.saturating_sub(ran);
    }

    /// The remaining budget after a row. If the server was not replenished it is what slices leave: on several
    /// CPUs a scheduler may not have been told of all execution yet.
    fn left_after(&self, row: &ServerRow) -> u64 {
        match row.replenished == self.replenished && self.state != RunState::Vacant {
            true => self.left.min(row.remaining.0),
            false => row.remaining.0,
        }
    }

    /// All steps of its promise, and the share after them.
    pub(super) fn steps(&self) -> (Vec<(u64, Share)>, Share) {
        let (steps, rest) = self.promise.steps();
        (self.past.iter().chain(steps).copied().collect(), rest)
    }
}

/// What is wrong with a change, without the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    Share { from: u64, zero_lag: u64 },
    Early { deadline: u64, least: u64 },
    Back,
    Release { release: u64 },
}

impl Wrong {
    pub(super) fn named(self, at: Time, task: String) -> CpuFault {
        match self {
            Wrong::Share { from, zero_lag } => {
                CpuFault::Share { at, task, from: Time(from), zero_lag: Time(zero_lag) }
            }
            Wrong::Early { deadline, least } => {
                CpuFault::Early { at, task, deadline: Time(deadline), least: Time(least) }
            }
            Wrong::Back => CpuFault::Back { at, task },
            Wrong::Release { release } => CpuFault::Release { at, task, release: Time(release) },
        }
    }
}

/// The servers of one cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Servers {
    pub all: Vec<Server>,
    /// Ready ones by deadline.
    pub ready: BTreeSet<(u64, u32)>,
    /// The tolerance of a live CPU. Its scheduler learns of execution later, so changes of best effort are taken as they
    /// are, and its timers may be so late.
    pub live: Option<u64>,
    /// Expired ones that are not hard.
    pub expired: BTreeSet<u32>,
    reserved: usize,
    hard_ready: usize,
    constrained: usize,
}

impl Servers {
    /// Whether anything is reserved.
    pub(super) fn reserves(&self) -> bool {
        self.reserved > 0
    }

    /// Whether a hard reservation is ready.
    pub(super) fn has_hard_ready(&self) -> bool {
        self.hard_ready > 0
    }

    /// Whether a server may execute without budget while a higher scheduling class waits: of the reserved ones without
    /// budget it is released first, and no other server could run. A deadline server that finds nothing to run would
    /// stop for good.
    pub(super) fn may_go_on_without_budget(&self, server: &Server) -> bool {
        let held = |s: &&Server| s.is_hard() && s.state == RunState::Expired;
        let first = || self.all.iter().filter(held).filter_map(|s| s.release).min();
        let none_else = self.ready.is_empty() && self.expired.is_empty();
        held(&server) && none_else && server.release == first()
    }

    /// Whether a reservation has a deadline shorter than its period.
    pub(super) fn is_constrained(&self) -> bool {
        self.constrained > 0
    }

    /// Applies the rows of one call, in the order of their places.
    pub(super) fn call(&mut self, rows: &[ServerRow]) -> Result<(), (u32, Wrong)> {
        self.admit(rows);
        for row in rows {
            let promise = match later(&self.all[row.slot as usize], row, self.live) {
                Err(_) if self.live.is_some() && row.kind == RunKind::Shared => Ok(self.taken(row)),
                judged => judged,
            };
            self.enter(row, promise.map_err(|wrong| (row.slot, wrong))?);
        }
        Ok(())
    }

    /// Takes the rows of one call as they are. While nothing is reserved a live scheduler changes shares before it is
    /// told what the running task has executed.
    pub(super) fn accept(&mut self, now: u64, rows: &[ServerRow], reset: bool) {
        self.admit(rows);
        for row in rows {
            self.enter(row, self.taken(row));
        }
        for server in self.all.iter_mut().filter(|server| reset && !server.is_hard()) {
            server.promise.retire(now, &mut server.past);
            server.promise.forgive(now);
        }
    }

    /// The promise of a row as it is.
    fn taken(&self, row: &ServerRow) -> Promise {
        let mut promise = self.all[row.slot as usize].promise.clone();
        promise.reset(row.at.0, &stated(row, row.from.0.max(row.at.0)));
        promise
    }

    /// Makes places for servers that have none yet.
    fn admit(&mut self, rows: &[ServerRow]) {
        for row in rows {
            let now = row.at.0;
            while self.all.len() <= row.slot as usize {
                self.all.push(Server::new(now));
            }
            let server = &mut self.all[row.slot as usize];
            server.promise.retire(now, &mut server.past);
        }
    }

    /// The hard server that is ready, if one is.
    pub(super) fn pending(&self) -> Option<u32> {
        let pending =
            |(_, slot): &(u64, u32)| Some(*slot).filter(|s| self.all[*s as usize].is_hard());
        (self.hard_ready > 0).then(|| self.ready.iter().find_map(pending))?
    }

    /// While no hard job is pending all promises may be reset, if no ready server but hard ones then demands
    /// more than one that is released now. What was executed ahead is forgotten.
    pub(super) fn reset(&mut self, now: u64, rows: &[ServerRow]) -> Result<(), (u32, Wrong)> {
        self.admit(rows);
        for row in rows {
            let server = &self.all[row.slot as usize];
            let promise = match row.kind {
                RunKind::Hard | RunKind::Constrained => later(server, row, self.live),
                RunKind::Soft | RunKind::Shared => reset(server, row),
            };
            self.enter(row, promise.map_err(|wrong| (row.slot, wrong))?);
        }
        // Rows come in order of their places.
        let others = |s: usize, server: &Server| {
            !server.is_hard() && rows.binary_search_by_key(&s, |row| row.slot as usize).is_err()
        };
        for (s, server) in self.all.iter_mut().enumerate().filter(|(s, server)| others(*s, server))
        {
            server.promise.retire(now, &mut server.past);
            if server.state == RunState::Ready {
                server.promise.advance(now);
                on_time(&server.promise, server.left, server.deadline)
                    .map_err(|wrong| (s as u32, wrong))?;
            }
            server.promise.forgive(now);
        }
        Ok(())
    }

    fn enter(&mut self, row: &ServerRow, promise: Promise) {
        let s = row.slot;
        self.count(s, false);
        let server = &mut self.all[s as usize];
        if server.state != RunState::Ready || row.state != RunState::Ready {
            server.ready_since = row.at.0;
        }
        server.left = server.left_after(row);
        if server.replenished != row.replenished || server.state == RunState::Vacant {
            server.beyond = 0;
        }
        server.replenished = row.replenished;
        server.release = row.release.map(|release| release.0);
        server.promise = promise;
        server.state = row.state;
        server.kind = row.kind;
        server.deadline = row.deadline.0;
        if row.state == RunState::Vacant {
            server.task = None;
        }
        self.count(s, true);
    }

    /// Adds a server to the counts and queues, or removes it.
    fn count(&mut self, s: u32, add: bool) {
        let server = &self.all[s as usize];
        let by = |count: &mut usize, counts: bool| {
            if counts {
                *count = if add { *count + 1 } else { *count - 1 };
            }
        };
        let ready = server.state == RunState::Ready;
        by(&mut self.reserved, server.is_reserved());
        by(&mut self.hard_ready, ready && server.is_hard());
        let constrained = server.kind == RunKind::Constrained && server.state != RunState::Vacant;
        by(&mut self.constrained, constrained);
        if ready {
            let entry = (server.deadline, s);
            if add {
                self.ready.insert(entry)
            } else {
                self.ready.remove(&entry)
            };
        }
        if server.state == RunState::Expired && !server.is_hard() {
            if add {
                self.expired.insert(s)
            } else {
                self.expired.remove(&s)
            };
        }
    }
}

/// The promise of a row, from `from` on.
fn stated(row: &ServerRow, from: u64) -> Stated {
    let [first, second] = row.steps.map(|(until, share)| (until.0, Share::from(share)));
    // Before it a shared server has nothing.
    let before = if row.kind == RunKind::Shared { row.from.0 } else { 0 };
    Stated { from, steps: [(before, 0), first, second], rest: row.rest.into() }
}

/// The promise after a row by the rule that changes begin at the zero-lag time.
fn later(server: &Server, row: &ServerRow, live: Option<u64>) -> Result<Promise, Wrong> {
    let now = row.at.0;
    let mut promise = server.promise.clone();
    let ready = row.state == RunState::Ready;
    if ready && server.state != RunState::Ready {
        // A late timer of a live CPU delays what its server may execute, not the server's release.
        let released = server.release.filter(|at| now.saturating_sub(*at) <= live.unwrap_or(0));
        promise.advance(released.map_or(now, |at| at.min(now)));
    }
    // A server that is not ready executes nothing until it is, and needs no share: the change may come sooner.
    let unneeded = matches!(row.state, RunState::Leaving | RunState::Vacant)
        || (row.kind == RunKind::Shared && !ready);
    let from = match unneeded {
        true => row.from.0.min(promise.zero_lag().max(now)),
        false => row.from.0,
    };
    let stated = stated(row, from.max(now));
    promise.absorb(stated.from);
    if let Some(at) = promise.first_difference(&stated) {
        let zero_lag = promise.zero_lag();
        if at.saturating_add(promise.tolerance()) < zero_lag {
            return Err(Wrong::Share { from: at, zero_lag });
        }
        promise.change(&stated);
    }
    if ready && server.state == RunState::Ready && row.deadline.0 < server.deadline {
        return Err(Wrong::Back);
    }
    keys(&promise, row, server.left_after(row))?;
    Ok(promise)
}

/// The promise after a row that resets it.
fn reset(server: &Server, row: &ServerRow) -> Result<Promise, Wrong> {
    let now = row.at.0;
    let mut promise = server.promise.clone();
    let from = match row.state {
        RunState::Expired => row.release.unwrap_or(row.from),
        _ => row.from,
    };
    promise.reset(now, &stated(row, from.0.max(now)));
    keys(&promise, row, server.left_after(row))?;
    Ok(promise)
}

/// The deadline of a ready server, and the release of an expired one.
fn keys(promise: &Promise, row: &ServerRow, left: u64) -> Result<(), Wrong> {
    match (row.state, row.release) {
        (RunState::Ready, _) if row.kind != RunKind::Constrained => {
            on_time(promise, left, row.deadline.0)
        }
        (RunState::Expired, Some(release)) if promise.is_ahead_of(release.0) => {
            Err(Wrong::Release { release: release.0 })
        }
        _ => Ok(()),
    }
}

/// Whether the promise has given the remaining budget by the deadline.
fn on_time(promise: &Promise, left: u64, deadline: u64) -> Result<(), Wrong> {
    let least = promise.finish(left.saturating_sub(WORK));
    // Where limits follow the period, rounding may defer the last nanoseconds until after them.
    let tolerance = INSTANT + (least.saturating_sub(promise.zero_lag()) >> 28);
    match deadline.saturating_add(tolerance) < least {
        true => Err(Wrong::Early { deadline, least }),
        false => Ok(()),
    }
}
