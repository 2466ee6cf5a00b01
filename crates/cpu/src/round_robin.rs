//! Round robin: a quantum each, in turn.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use laxity_core::{Span, Time};

use crate::table::Table;
use crate::{Admitted, Attributes, CpuId, Pick, Policy, Refusal, TaskId};

/// Tasks in turn, a quantum each, whatever their nice value, on any number of CPUs.
#[derive(Clone, Debug, Hash)]
pub struct RoundRobin {
    quantum: Span,
    tasks: Table<Turn>,
    runnable: VecDeque<TaskId>,
    /// By CPU: who has it. Grows when a CPU first asks.
    on: Vec<Option<TaskId>>,
}

#[derive(Clone, Copy, Debug, Hash)]
struct Turn {
    runnable: bool,
    left: Span,
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
            on: alloc::vec![None],
        }
    }

    fn stop(&mut self, task: TaskId) {
        if let Some(turn) = self.tasks.get_mut(task) {
            turn.runnable = false;
            self.runnable.retain(|t| *t != task);
            self.lose(task);
        }
    }

    /// A task has no CPU any more.
    fn lose(&mut self, task: TaskId) {
        let cpu = self.tasks.get_mut(task).and_then(|turn| turn.cpu.take());
        if let Some(on) = cpu.and_then(|cpu| self.on.get_mut(cpu.index())) {
            *on = None;
        }
    }
}

impl Policy for RoundRobin {
    fn join(&mut self, now: Time, task: TaskId, _: &Attributes) -> Result<Admitted, Refusal> {
        let reach =
            self.tasks.join(task, Turn { runnable: false, left: self.quantum, cpu: None })?;
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
        *turn = Turn { runnable: true, left: quantum, cpu: None };
        self.runnable.push_back(task);
    }

    fn block(&mut self, _: Time, task: TaskId, _: Span) {
        self.stop(task);
    }

    fn ran(&mut self, _: Time, task: TaskId, ran: Span) {
        let quantum = self.quantum;
        let Some(turn) = self.tasks.get_mut(task).filter(|t| t.runnable) else { return };
        turn.left = Span(turn.left.0.saturating_sub(ran.0));
        if turn.left == Span::ZERO {
            turn.left = quantum;
            if let Some(at) = self.runnable.iter().position(|t| *t == task) {
                self.runnable.remove(at);
                self.runnable.push_back(task);
            }
            self.lose(task);
        }
    }

    fn timer(&mut self, _: Time) {}

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        if self.on.len() <= cpu.index() {
            self.on.resize(cpu.index() + 1, None);
        }
        let is_free = |task: &&TaskId| self.tasks.get(**task).is_some_and(|t| t.cpu.is_none());
        let task = match self.on[cpu.index()] {
            Some(task) => task,
            None => *self.runnable.iter().find(is_free)?,
        };
        self.on[cpu.index()] = Some(task);
        let turn = self.tasks.get_mut(task)?;
        turn.cpu = Some(cpu);
        Some(Pick { task, until: now + turn.left })
    }

    fn displace(&mut self, _: Time, cpu: CpuId) {
        if let Some(task) = self.on.get(cpu.index()).copied().flatten() {
            self.lose(task);
        }
    }
}
