//! The premises about jobs: each keeps the budget, period and deadline that were reserved for it.

use laxity_core::{Span, Time};
use laxity_results::csv::cpu_run::{RequestRow, RunJob};

use super::{LateJob, Live, Premise};

/// Timestamps of a simulated run are exact; deadlines of servers are rounded up.
pub(super) const ROUNDING: u64 = 100;

/// What is reserved from some instant on.
#[derive(Clone, Copy, Debug)]
struct InForce {
    at: Time,
    from: Time,
    /// Budget, period, deadline; none for best effort.
    reserved: Option<[Span; 3]>,
}

/// One task.
#[derive(Clone, Debug, Default)]
pub(super) struct Task {
    requests: Vec<InForce>,
    /// All it has executed, and by the end of its last job.
    pub executed: u64,
    executed_before: u64,
    /// What it has executed without budget since its last job ended.
    pub without_budget: u64,
    /// The last job, and whether it was promised to be in time.
    last: Option<(RunJob, bool)>,
    /// A premise failed: later jobs of the task may be late too.
    broken: bool,
    /// On live CPUs, when its server has caught up with the jobs so far.
    caught_up: Option<Time>,
}

/// What a job was promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Promised {
    /// Nothing.
    Nothing,
    /// Its deadline, as all premises hold.
    Deadline(Time),
    /// Its deadline, if this premise had held.
    Broken(Premise),
}

impl Task {
    /// Takes a request over. Answers that a task was refused that had nothing before. Another live reservation is a new
    /// server, which owes nothing for the jobs of the one before.
    pub(super) fn request(&mut self, row: &RequestRow, is_live: bool) -> bool {
        let Some(from) = row.from else { return row.hard && self.requests.is_empty() };
        let reserved = row.hard.then_some([row.budget, row.period, row.deadline]);
        if is_live && self.requests.last().is_some_and(|last| last.reserved != reserved) {
            (self.last, self.broken, self.caught_up, self.without_budget) = (None, false, None, 0);
        }
        self.requests.push(InForce { at: row.at, from, reserved });
        false
    }

    /// The greatest demands that hold under every reservation that was in force at some time of an interval: the
    /// least budget, the longest period, the longest deadline.
    fn reserved(&self, from: Time, until: Time) -> Option<[Span; 3]> {
        let first = self.requests.iter().rposition(|r| r.from <= from)?;
        let some = self.requests[first..].iter().take_while(|r| r.at <= until);
        some.map(|r| r.reserved).reduce(|a, b| {
            let ([a, b, c], [d, e, f]) = (a?, b?);
            Some([a.min(d), b.max(e), c.max(f)])
        })?
    }

    /// Enters a job, at its end.
    pub(super) fn job(&mut self, name: &str, job: &RunJob) -> Promised {
        let work = self.executed - std::mem::replace(&mut self.executed_before, self.executed);
        let last = self.last.replace((*job, false));
        let Some(due) = job.deadline else { return Promised::Nothing };
        let Some([budget, _, deadline]) = self.reserved(job.release, job.end) else {
            return Promised::Nothing;
        };
        // One that no reservation was in force for has still run.
        if self.broken || last.is_some_and(|(last, ok)| !ok && last.end > job.release) {
            return Promised::Nothing;
        }
        let near = last.filter(|(_, ok)| *ok).and_then(|(last, _)| {
            let [_, period, _] = self.reserved(last.release, job.release)?;
            let distance = job.release.since(last.release);
            (distance < period).then_some((distance, period))
        });
        let of_period = near.map(|(distance, declared)| {
            let (task, release) = (name.to_owned(), job.release);
            Premise::Period { task, release, distance, declared }
        });
        let broken = beyond_budget(name, job, work, budget).or(of_period);
        if let Some(broken) = broken.or_else(|| due_early(name, job, due, deadline)) {
            self.broken = true;
            return Promised::Broken(broken);
        }
        self.last = Some((*job, true));
        Promised::Deadline(due)
    }

    /// The same of a live job. Timers wake tasks a little sooner or later. A job that comes before its server has
    /// caught up with those before it is not promised: it shares their budget. The server catches up after a period for
    /// each budget that they needed, and in proportion, unless deadlines are shorter than periods. What the task executed
    /// without budget needs none.
    pub(super) fn live_job(&mut self, name: &str, job: &RunJob, work: u64, live: Live) -> Promised {
        let release = job.release;
        let Some(due) = job.deadline else { return Promised::Nothing };
        let Some([budget, period, deadline]) = self.reserved(release, job.end) else {
            return Promised::Nothing;
        };
        let of_budgets = work.saturating_sub(std::mem::take(&mut self.without_budget));
        let served = self.caught_up.map_or(release, |at| at.max(release));
        let needs = match deadline < period {
            true => u128::from(of_budgets.div_ceil(budget.0.max(1)).max(1)) * u128::from(period.0),
            false => {
                (u128::from(of_budgets) * u128::from(period.0)).div_ceil(budget.0.max(1).into())
            }
        };
        let needs = u64::try_from(needs).unwrap_or(u64::MAX);
        self.caught_up = Some(Time(served.0.saturating_add(needs)));
        let last = self.last.replace((*job, true));
        let of_period = (served.since(release) > live.tolerance).then(|| {
            let distance = last.map_or(Span::ZERO, |(last, _)| release.since(last.release));
            Premise::Period { task: name.to_owned(), release, distance, declared: period }
        });
        let broken = of_period
            .or_else(|| beyond_budget(name, job, work, budget))
            .or_else(|| due_early(name, job, due, deadline));
        let before = std::mem::replace(&mut self.broken, broken.is_some());
        match broken {
            None => Promised::Deadline(due),
            // Said once until the server has caught up.
            Some(_) if before => Promised::Nothing,
            Some(broken) => Promised::Broken(broken),
        }
    }
}

/// The premise that a job needs no more than its budget, if it failed.
fn beyond_budget(name: &str, job: &RunJob, work: u64, budget: Span) -> Option<Premise> {
    (work > budget.0).then(|| {
        let (task, release) = (name.to_owned(), job.release);
        Premise::Budget { task, release, needed: Span(work), declared: budget }
    })
}

/// The premise that a job is due no sooner than reserved, if it failed.
fn due_early(name: &str, job: &RunJob, due: Time, deadline: Span) -> Option<Premise> {
    let within = due.since(job.release);
    (within < deadline).then(|| {
        let (task, release) = (name.to_owned(), job.release);
        Premise::Deadline { task, release, within, declared: deadline }
    })
}

/// The job, if it was late by more than the tolerance.
pub(super) fn late(name: &str, job: &RunJob, tolerance: u64, promised: bool) -> Option<LateJob> {
    let deadline = job.deadline?;
    let by = match job.ended {
        true => job.end.since(deadline),
        // It ends after that.
        false if job.end >= deadline => job.end.since(deadline).max(Span(1)),
        false => Span::ZERO,
    };
    (by > Span(tolerance)).then(|| LateJob {
        task: name.to_owned(),
        release: job.release,
        deadline,
        by,
        promised,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const LIVE: Live = Live { tolerance: Span(1000) };

    fn reserved(at: u64, budget: u64, period: u64) -> RequestRow {
        let (at, period) = (Time(at * MS), Span(period * MS));
        let budget = Span(budget * MS);
        RequestRow { at, task: 0, hard: true, budget, period, deadline: period, from: Some(at) }
    }

    fn job(release: u64, end: u64, deadline: u64) -> RunJob {
        let [release, end, due] = [release, end, release + deadline].map(|ms| Time(ms * MS));
        RunJob { task: 0, release, end, deadline: Some(due), ended: true }
    }

    /// A job with 2 in 10 ms needs 6 ms, executes 2 of them without budget, and its server has caught up after two
    /// periods. The job after it, released then, is promised its deadline.
    ///
    /// Fails when execution without budget counts as execution of the server: the second job comes too early then.
    #[test]
    fn execution_without_budget_leaves_the_next_job_its_promise() {
        let promised = |without_budget: u64| {
            let mut task = Task::default();
            task.request(&reserved(0, 2, 10), true);
            task.without_budget = without_budget;
            let first = task.live_job("a", &job(0, 13, 10), 6 * MS, LIVE);
            assert!(matches!(first, Promised::Broken(Premise::Budget { .. })), "{first:?}");
            task.live_job("a", &job(20, 22, 10), 2 * MS, LIVE)
        };
        assert_eq!(promised(2 * MS), Promised::Deadline(Time(30 * MS)));
        assert_eq!(promised(0), Promised::Nothing);
    }

    /// A job with 2 in 10 ms needs 60. Its task then has 20 in 40 ms, in a server that owes nothing.
    ///
    /// Fails when the backlog of a reservation counts against the next one.
    #[test]
    fn a_new_reservation_owes_nothing() {
        let mut task = Task::default();
        task.request(&reserved(0, 2, 10), true);
        let first = task.live_job("a", &job(0, 80, 10), 60 * MS, LIVE);
        assert!(matches!(first, Promised::Broken(Premise::Budget { .. })), "{first:?}");
        task.request(&reserved(90, 20, 40), true);
        let next = task.live_job("a", &job(100, 120, 40), 20 * MS, LIVE);
        assert_eq!(next, Promised::Deadline(Time(140 * MS)));
    }
}
