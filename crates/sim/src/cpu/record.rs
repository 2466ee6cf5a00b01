//! The schedule itself, for plots and trace viewers.

use laxity_core::Time;
use laxity_cpu::{CpuId, TaskId};

use super::{Job, Observer};

/// A task on a CPU without interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The CPU.
    pub cpu: CpuId,
    /// The task.
    pub task: TaskId,
    /// When its slice began.
    pub from: Time,
    /// When it lost it.
    pub to: Time,
}

/// Every slice and every job of a run, up to a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// In order of their ends.
    pub slices: Vec<Slice>,
    /// In order of their ends.
    pub jobs: Vec<(TaskId, Job)>,
    /// How many were left out because the limit was reached.
    pub left_out: u64,
    limit: Option<usize>,
    /// The last slice of each CPU.
    open: Vec<Option<usize>>,
}

impl Recording {
    /// Keeps everything.
    pub fn new() -> Recording {
        Recording::default()
    }

    /// Keeps at most so many slices, and as many jobs.
    pub fn limited(limit: usize) -> Recording {
        Recording { limit: Some(limit), ..Recording::default() }
    }
}

impl Observer for Recording {
    fn ran(&mut self, from: Time, to: Time, cpu: CpuId, task: TaskId) {
        if self.open.len() <= cpu.index() {
            self.open.resize(cpu.index() + 1, None);
        }
        // Instants at which nothing changed do not cut a slice.
        if let Some(last) = self.open[cpu.index()].and_then(|i| self.slices.get_mut(i)) {
            if last.task == task && last.to == from {
                last.to = to;
                return;
            }
        }
        if self.limit.is_some_and(|limit| self.slices.len() >= limit) {
            self.left_out += 1;
            return;
        }
        self.open[cpu.index()] = Some(self.slices.len());
        self.slices.push(Slice { cpu, task, from, to });
    }

    fn ended(&mut self, task: TaskId, job: &Job) {
        if self.limit.is_some_and(|limit| self.jobs.len() >= limit) {
            self.left_out += 1;
        } else {
            self.jobs.push((task, *job));
        }
    }
}
