//! Measurement after the start-up phase.

use laxity_core::Time;
use laxity_cpu::{Admitted, CpuId, Refusal, TaskId};
use laxity_sim::cpu::{Job, Measure, Observer};

/// Counts nothing before an instant. Tasks that joined before count as joining then, so shares are of
/// the time that is counted.
pub struct Settled {
    /// The instant.
    pub from: Time,
    /// The measures.
    pub measure: Measure,
}

impl Observer for Settled {
    fn asked(&mut self, now: Time, task: TaskId, answer: &Result<Admitted, Refusal>) {
        self.measure.asked(now.max(self.from), task, answer);
    }

    fn woke(&mut self, now: Time, task: TaskId) {
        if now >= self.from {
            self.measure.woke(now, task);
        }
    }

    fn slept(&mut self, now: Time, task: TaskId) {
        self.measure.slept(now, task);
    }

    fn dispatched(&mut self, now: Time, cpu: CpuId, task: Option<TaskId>) {
        if now >= self.from {
            self.measure.dispatched(now, cpu, task);
        }
    }

    fn ran(&mut self, from: Time, to: Time, cpu: CpuId, task: TaskId) {
        if to > self.from {
            self.measure.ran(from.max(self.from), to, cpu, task);
        }
    }

    fn ended(&mut self, task: TaskId, job: &Job) {
        if job.release >= self.from {
            self.measure.ended(task, job);
        }
    }

    fn unfinished(&mut self, task: TaskId, job: &Job) {
        if job.release >= self.from {
            self.measure.unfinished(task, job);
        }
    }

    fn saw(&mut self, now: Time, task: TaskId, since: Time) {
        if since >= self.from {
            self.measure.saw(now, task, since);
        }
    }
}
