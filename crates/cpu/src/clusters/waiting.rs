//! Runnable best-effort tasks without a CPU, in order of least service so far.

use alloc::vec::Vec;

use crate::queue::Queue;
use crate::{CpuId, CpuSet};

/// A queue for each affinity in use, so that a CPU finds its first candidate without skipping
/// tasks that may not run there.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    classes: Vec<(CpuSet, Queue)>,
    waiting: usize,
}

impl Waiting {
    /// The class of an affinity, with capacity for tasks numbered below `tasks`.
    pub(super) fn class(&mut self, affinity: CpuSet, tasks: usize) -> u32 {
        let found = self.classes.iter().position(|(set, _)| *set == affinity);
        let class = found.unwrap_or_else(|| {
            self.classes.push((affinity, Queue::default()));
            self.classes.len() - 1
        });
        self.classes[class].1.reserve(tasks);
        class as u32
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// A task waits.
    pub(super) fn enter(&mut self, class: u32, task: u32, service: u64) {
        self.waiting += 1;
        self.classes[class as usize].1.set(task, service, u64::from(task));
    }

    pub(super) fn leave(&mut self, class: u32, task: u32) {
        let queue = &mut self.classes[class as usize].1;
        self.waiting -= usize::from(queue.key(task).is_some());
        queue.remove(task);
    }

    /// The service and task of the least served task that may run on `cpu`; ties by task number.
    pub(super) fn first(&self, cpu: CpuId) -> Option<(u64, u32)> {
        let there = self.classes.iter().filter(|(set, _)| set.contains(cpu));
        there.filter_map(|(_, queue)| queue.first()).min()
    }
}
