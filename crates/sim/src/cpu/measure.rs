//! Measures of a run.

use laxity_core::{Histogram, Span, Time};
use laxity_cpu::{Admitted, CpuId, Refusal, TaskId};

use super::{Job, Observer};

/// One task under one policy.
#[derive(Clone, Debug)]
pub struct TaskMeasure {
    /// CPU time in ns.
    pub executed: Span,
    /// When it was first admitted.
    pub joined: Option<Time>,
    /// Why it was not, or a change was not: the last refusal.
    pub refused: Option<Refusal>,
    /// Switches to it on a CPU that another task had used last.
    pub switches: u64,
    /// Migrations: times it ran on another CPU than before.
    pub migrations: u64,
    /// Jobs that ended.
    pub jobs: u64,
    /// Jobs that ended after their deadline.
    pub missed: u64,
    /// From a job's release to its end, in ns.
    pub response: Histogram,
    /// By how much late jobs were late, in ns. The mean over all jobs counts the others as zero:
    /// [`TaskMeasure::mean_tardiness`].
    pub tardiness: Histogram,
    /// From a wake-up to the CPU, in ns; for pollers from an event to seeing it.
    pub latency: Histogram,
    /// The longest time that it was runnable and did not run.
    pub longest_gap: Span,
    /// Runnable without a CPU since.
    waiting: Option<Time>,
    /// Woken and not yet served.
    woken: Option<Time>,
    /// Where it ran last.
    cpu: Option<CpuId>,
}

impl TaskMeasure {
    fn new() -> TaskMeasure {
        TaskMeasure {
            executed: Span::ZERO,
            joined: None,
            refused: None,
            switches: 0,
            migrations: 0,
            jobs: 0,
            missed: 0,
            response: Histogram::on_demand(),
            tardiness: Histogram::on_demand(),
            latency: Histogram::on_demand(),
            longest_gap: Span::ZERO,
            waiting: None,
            woken: None,
            cpu: None,
        }
    }

    /// Mean tardiness over all jobs in ns.
    pub fn mean_tardiness(&self) -> Option<f64> {
        (self.jobs > 0).then(|| self.tardiness.sum() as f64 / self.jobs as f64)
    }

    /// Per cent of jobs that missed their deadline.
    pub fn missed_percent(&self) -> Option<f64> {
        (self.jobs > 0).then(|| self.missed as f64 * 100.0 / self.jobs as f64)
    }

    fn served(&mut self, now: Time) {
        if let Some(since) = self.waiting.take() {
            self.longest_gap = self.longest_gap.max(now.since(since));
        }
    }
}

/// All tasks under one policy.
#[derive(Clone, Debug)]
pub struct Measure {
    /// By task.
    pub tasks: Vec<TaskMeasure>,
    /// Times a CPU went from one task to another; going idle and back to the same task is none.
    pub switches: u64,
    /// Migrations: times a task ran on another CPU than before.
    pub migrations: u64,
    /// Time that each CPU was not idle. CPUs that never ran anything may be missing at the end.
    pub busy: Vec<Span>,
    /// The task that each CPU had last.
    last: Vec<Option<TaskId>>,
}

impl Measure {
    /// Nothing seen yet of so many tasks.
    pub fn new(tasks: usize) -> Measure {
        Measure {
            tasks: vec![TaskMeasure::new(); tasks],
            switches: 0,
            migrations: 0,
            busy: Vec::new(),
            last: Vec::new(),
        }
    }

    /// Ends gaps that were still open at the end of the run.
    pub fn finish(&mut self, end: Time) {
        for task in &mut self.tasks {
            task.served(end);
        }
    }

    /// The share of one CPU that a task had from its joining to `end`.
    pub fn share(&self, task: usize, end: Time) -> f64 {
        let task = &self.tasks[task];
        let there = task.joined.map_or(0, |joined| end.since(joined).0);
        if there == 0 { 0.0 } else { task.executed.0 as f64 / there as f64 }
    }
}

impl Observer for Measure {
    fn asked(&mut self, now: Time, task: TaskId, answer: &Result<Admitted, Refusal>) {
        let task = &mut self.tasks[task.index()];
        match answer {
            Ok(_) => {
                task.joined.get_or_insert(now);
            }
            Err(refusal) => task.refused = Some(*refusal),
        }
    }

    fn woke(&mut self, now: Time, task: TaskId) {
        let task = &mut self.tasks[task.index()];
        task.waiting = Some(now);
        task.woken = Some(now);
    }

    fn slept(&mut self, now: Time, task: TaskId) {
        let task = &mut self.tasks[task.index()];
        task.served(now);
        task.woken = None;
    }

    fn dispatched(&mut self, now: Time, cpu: CpuId, task: Option<TaskId>) {
        if self.last.len() <= cpu.index() {
            self.last.resize(cpu.index() + 1, None);
        }
        let Some(id) = task else { return };
        let measure = &mut self.tasks[id.index()];
        measure.served(now);
        if let Some(woken) = measure.woken.take() {
            measure.latency.record(now.since(woken).0);
        }
        if self.last[cpu.index()].replace(id) != Some(id) {
            measure.switches += 1;
            self.switches += 1;
        }
        if measure.cpu.replace(cpu).is_some_and(|before| before != cpu) {
            measure.migrations += 1;
            self.migrations += 1;
        }
    }

    fn ran(&mut self, from: Time, to: Time, cpu: CpuId, task: TaskId) {
        if self.busy.len() <= cpu.index() {
            self.busy.resize(cpu.index() + 1, Span::ZERO);
        }
        self.busy[cpu.index()] = self.busy[cpu.index()] + to.since(from);
        let task = &mut self.tasks[task.index()];
        task.executed = task.executed + to.since(from);
        // If the CPU switches to another task now, the wait begins at this instant.
        task.waiting = Some(to);
    }

    fn ended(&mut self, task: TaskId, job: &Job) {
        let task = &mut self.tasks[task.index()];
        task.jobs += 1;
        task.response.record(job.end.since(job.release).0);
        let tardiness = job.tardiness();
        if tardiness > Span::ZERO {
            task.missed += 1;
            task.tardiness.record(tardiness.0);
        }
    }

    fn unfinished(&mut self, task: TaskId, job: &Job) {
        // Late already, by at least so much; whether others would have been in time is unknown.
        let task = &mut self.tasks[task.index()];
        if let Some(tardiness) = job.overdue() {
            task.jobs += 1;
            task.missed += 1;
            task.tardiness.record(tardiness.0);
        }
    }

    fn saw(&mut self, now: Time, task: TaskId, since: Time) {
        self.tasks[task.index()].latency.record(now.since(since).0);
    }
}
