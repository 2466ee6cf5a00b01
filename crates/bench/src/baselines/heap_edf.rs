//! The simplest baseline: EDF over a binary heap, with a quantum in place of servers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use laxity_core::{Span, Time};
use laxity_cpu::{Admitted, Attributes, CpuId, Pick, Policy, Refusal, TaskId};

/// A task is due a period after it wakes, and again so much later whenever it has computed for a
/// quantum. No budgets, no adaptation, no isolation: the least that orders tasks by deadlines.
#[derive(Debug, Default)]
pub struct HeapEdf {
    tasks: Vec<Entry>,
    /// Deadline, turn, task; those of tasks that have stopped or moved are passed over.
    ready: BinaryHeap<Reverse<(u64, u64, u32)>>,
    turns: u64,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    runnable: bool,
    deadline: u64,
    turn: u64,
    left: u64,
}

const QUANTUM: u64 = 10_000_000;

impl HeapEdf {
    /// No tasks yet.
    pub fn new() -> HeapEdf {
        HeapEdf::default()
    }

    fn period(&self) -> u64 {
        QUANTUM * self.tasks.len() as u64
    }

    fn enter(&mut self, task: u32, deadline: u64) {
        self.turns += 1;
        let entry = &mut self.tasks[task as usize];
        (entry.deadline, entry.turn, entry.left) = (deadline, self.turns, QUANTUM);
        self.ready.push(Reverse((deadline, self.turns, task)));
    }
}

impl Policy for HeapEdf {
    fn join(&mut self, now: Time, task: TaskId, _: &Attributes) -> Result<Admitted, Refusal> {
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, Entry::default());
        }
        Ok(Admitted { from: now })
    }

    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        self.block(now, task, ran);
    }

    fn change(&mut self, now: Time, _: TaskId, _: &Attributes) -> Result<Admitted, Refusal> {
        Ok(Admitted { from: now })
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        self.tasks[task.index()].runnable = true;
        self.enter(task.0, now.0 + self.period());
    }

    fn block(&mut self, _: Time, task: TaskId, _: Span) {
        self.tasks[task.index()].runnable = false;
    }

    fn ran(&mut self, _: Time, task: TaskId, ran: Span) {
        let entry = &mut self.tasks[task.index()];
        entry.left = entry.left.saturating_sub(ran.0);
        if entry.left == 0 {
            let deadline = entry.deadline + self.period();
            self.enter(task.0, deadline);
        }
    }

    fn timer(&mut self, _: Time) {}

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn pick(&mut self, now: Time, _: CpuId) -> Option<Pick> {
        while let Some(Reverse((_, turn, task))) = self.ready.peek().copied() {
            let entry = &self.tasks[task as usize];
            if entry.runnable && entry.turn == turn {
                return Some(Pick { task: TaskId(task), until: now + Span(entry.left) });
            }
            self.ready.pop();
        }
        None
    }
}
