//! The record of a run for plots and files: the schedule, jobs and waits of tasks.

use laxity_core::Time;
use laxity_cpu::{Admitted, CpuId, Refusal, TaskId};
use laxity_sim::cpu::{Job, Observer, Recording, Slice};

/// A task was ready and did not run.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The task.
    pub task: TaskId,
    /// Since when.
    pub from: Time,
    /// End of the wait: it ran or left.
    pub to: Time,
}

/// The schedule of one run.
#[derive(Clone, Debug)]
pub struct Schedule {
    recording: Recording,
    /// Jobs that had not ended when the run ended or their task left.
    pub unfinished: Vec<(TaskId, Job)>,
    /// In order of their ends.
    pub waits: Vec<Wait>,
    /// Refusals with their instants.
    pub refusals: Vec<(TaskId, Time, Refusal)>,
    /// Ready without a CPU since, by task.
    ready: Vec<Option<Time>>,
    limit: usize,
    left_out: u64,
}

impl Schedule {
    /// An empty record for a number of tasks. Of slices, jobs and waits `limit` each are kept, others
    /// counted.
    pub fn new(tasks: usize, limit: usize) -> Schedule {
        Schedule {
            recording: Recording::limited(limit),
            unfinished: Vec::new(),
            waits: Vec::new(),
            refusals: Vec::new(),
            ready: vec![None; tasks],
            limit,
            left_out: 0,
        }
    }

    /// In order of their ends.
    pub fn slices(&self) -> &[Slice] {
        &self.recording.slices
    }

    /// Jobs that ended, in order of their ends.
    pub fn jobs(&self) -> &[(TaskId, Job)] {
        &self.recording.jobs
    }

    /// The number of entries that were not kept.
    pub fn left_out(&self) -> u64 {
        self.recording.left_out + self.left_out
    }

    /// Ends waits that were still open at the end of the run.
    pub fn finish(&mut self, end: Time) {
        for task in (0..self.ready.len() as u32).map(TaskId) {
            self.served(end, task);
        }
    }

    fn served(&mut self, now: Time, task: TaskId) {
        let Some(from) = self.ready.get_mut(task.index()).and_then(Option::take) else { return };
        if from == now {
            return;
        }
        if self.waits.len() < self.limit {
            self.waits.push(Wait { task, from, to: now });
        } else {
            self.left_out += 1;
        }
    }

    fn waits(&mut self, since: Time, task: TaskId) {
        if let Some(ready) = self.ready.get_mut(task.index()) {
            *ready = Some(since);
        }
    }
}

impl Observer for Schedule {
    fn asked(&mut self, now: Time, task: TaskId, answer: &Result<Admitted, Refusal>) {
        if let Err(refusal) = answer {
            self.refusals.push((task, now, *refusal));
        }
    }

    fn woke(&mut self, now: Time, task: TaskId) {
        self.waits(now, task);
    }

    fn slept(&mut self, now: Time, task: TaskId) {
        self.served(now, task);
    }

    fn ran(&mut self, from: Time, to: Time, cpu: CpuId, task: TaskId) {
        self.served(from, task);
        self.recording.ran(from, to, cpu, task);
        // When the CPU switches to another task now, the wait begins now.
        self.waits(to, task);
    }

    fn ended(&mut self, task: TaskId, job: &Job) {
        self.recording.ended(task, job);
    }

    fn unfinished(&mut self, task: TaskId, job: &Job) {
        self.unfinished.push((task, *job));
    }
}
