//! The premises about jobs: each keeps the budget, period and deadline that were reserved for it.

use laxity_core::{Span, Time};
use laxity_results::csv::cpu_run::{RequestRow, RunJob};

use super::{LateJob, Premise};

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
    /// The last job, and whether it was promised to be in time.
    last: Option<(RunJob, bool)>,
    /// A premise failed: later jobs of the task may be late too.
    broken: bool,
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
    /// Takes a request over. Answers that a task was refused that had nothing before.
    pub(super) fn request(&mut self, row: &RequestRow) -> bool {
        let Some(from) = row.from else { return row.hard && self.requests.is_empty() };
        let reserved = row.hard.then_some([row.budget, row.period, row.deadline]);
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
        let (task, release) = (name.to_owned(), job.release);
        let broken = if work > budget.0 {
            Some(Premise::Budget { task, release, needed: Span(work), declared: budget })
        } else if let Some((distance, declared)) = near {
            Some(Premise::Period { task, release, distance, declared })
        } else if due.since(release) < deadline {
            let within = due.since(release);
            Some(Premise::Deadline { task, release, within, declared: deadline })
        } else {
            None
        };
        if let Some(broken) = broken {
            self.broken = true;
            return Promised::Broken(broken);
        }
        self.last = Some((*job, true));
        Promised::Deadline(due)
    }
}

/// The job, if it was late.
pub(super) fn late(name: &str, job: &RunJob, promised: bool) -> Option<LateJob> {
    let deadline = job.deadline?;
    let by = match job.ended {
        true => job.end.since(deadline),
        // It ends after that.
        false if job.end >= deadline => job.end.since(deadline).max(Span(1)),
        false => Span::ZERO,
    };
    (by > Span::ZERO).then(|| LateJob {
        task: name.to_owned(),
        release: job.release,
        deadline,
        by,
        promised,
    })
}
