//! Round robin with a fixed quantum.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use laxity_core::{Span, Time};

use crate::table::Table;
use crate::{Admitted, Attributes, CpuId, Pick, Policy, Refusal, TaskId};

/// Round robin on any number of CPUs; nice values have no effect.
#[derive(Clone, Debug, Hash)]
pub struct RoundRobin {
    quantum: Span,
    tasks: Table<Turn>,
    runnable: VecDeque<TaskId>,
    /// By CPU: the running task. Grows at the first pick for a CPU.
    running_on: Vec<Option<TaskId>>,
}

#[derive(Clone, Copy, Debug, Hash)]
struct Turn {
    runnable: bool,
    remaining: Span,
    cpu: Option<CpuId>,
}

impl RoundRobin {
    /// No tasks yet; a quantum is at least 1 ns.
    pub fn new(quantum: Span) -> RoundRobin {
        let quantum = quantum.max(Span(1));
        RoundRobin {
            quantum,
            tasks: Table::new(),
            runnable: VecDeque::new(),
            running_on: alloc::vec![None],
        }
    }

    fn stop(&mut self, task: TaskId) {
        if let Some(turn) = self.tasks.get_mut(task) {
            turn.runnable = false;
            self.runnable.retain(|t| *t != task);
            self.clear_cpu(task);
        }
    }

    /// Takes the CPU from a task.
    fn clear_cpu(&mut self, task: TaskId) {
        let cpu = self.tasks.get_mut(task).and_then(|turn| turn.cpu.take());
        if let Some(running_on) = cpu.and_then(|cpu| self.running_on.get_mut(cpu.index())) {
            *running_on = None;
        }
    }
}

impl Policy for RoundRobin {
    fn join(&mut self, now: Time, task: TaskId, _: &Attributes) -> Result<Admitted, Refusal> {
        let reach =
            self.tasks.join(task, Turn { runnable: false, remaining: self.quantum, cpu: None })?;
        self.runnable.reserve(reach - self.runnable.len().min(reach));
        Ok(Admitted { from: now })
    }

    fn leave(&mut self, _: Time, task: TaskId, _: Span) {
        self.stop(task);
        self.tasks.leave(task);
    }

    fn change(&mut self, now: Time, task: TaskId, _: &Attributes) -> Result<Admitted, Refusal> {
        self.tasks.known(task).map(|_| Admitted { from: now })
    }

    fn wake(&mut self, _: Time, task: TaskId) {
        let quantum = self.quantum;
        let Some(turn) = self.tasks.get_mut(task).filter(|t| !t.runnable) else { return };
        *turn = Turn { runnable: true, remaining: quantum, cpu: None };
        self.runnable.push_back(task);
    }

    fn block(&mut self, _: Time, task: TaskId, _: Span) {
        self.stop(task);
    }

    fn ran(&mut self, _: Time, task: TaskId, ran: Span) {
        let quantum = self.quantum;
        let Some(turn) = self.tasks.get_mut(task).filter(|t| t.runnable) else { return };
        turn.remaining = Span(turn.remaining.0.saturating_sub(ran.0));
        if turn.remaining == Span::ZERO {
            turn.remaining = quantum;
            if let Some(at) = self.runnable.iter().position(|t| *t == task) {
                self.runnable.remove(at);
                self.runnable.push_back(task);
            }
            self.clear_cpu(task);
        }
    }

    fn timer(&mut self, _: Time) {}

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        if self.running_on.len() <= cpu.index() {
            self.running_on.resize(cpu.index() + 1, None);
        }
        let is_free = |task: &&TaskId| self.tasks.get(**task).is_some_and(|t| t.cpu.is_none());
        let task = match self.running_on[cpu.index()] {
            Some(task) => task,
            None => *self.runnable.iter().find(is_free)?,
        };
        self.running_on[cpu.index()] = Some(task);
        let turn = self.tasks.get_mut(task)?;
        turn.cpu = Some(cpu);
        Some(Pick { task, until: now + turn.remaining })
    }

    fn displace(&mut self, _: Time, cpu: CpuId) {
        if let Some(task) = self.running_on.get(cpu.index()).copied().flatten() {
            self.clear_cpu(task);
        }
    }
}
