//! Round robin: a quantum each, in turn.

use alloc::collections::VecDeque;

use laxity_core::{Span, Time};

use crate::table::Table;
use crate::{Admitted, Attributes, CpuId, Pick, Policy, Refusal, TaskId};

/// Tasks in turn, a quantum each, whatever their nice value.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    quantum: Span,
    tasks: Table<Turn>,
    runnable: VecDeque<TaskId>,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    runnable: bool,
    left: Span,
}

impl RoundRobin {
    /// No tasks yet; a quantum is at least 1 ns.
    pub fn new(quantum: Span) -> RoundRobin {
        let quantum = quantum.max(Span(1));
        RoundRobin { quantum, tasks: Table::new(), runnable: VecDeque::new() }
    }

    fn stop(&mut self, task: TaskId) {
        if let Some(turn) = self.tasks.get_mut(task) {
            turn.runnable = false;
            self.runnable.retain(|t| *t != task);
        }
    }
}

impl Policy for RoundRobin {
    fn join(&mut self, now: Time, task: TaskId, _: &Attributes) -> Result<Admitted, Refusal> {
        let reach = self.tasks.join(task, Turn { runnable: false, left: self.quantum })?;
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
        *turn = Turn { runnable: true, left: quantum };
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
            if self.runnable.front() == Some(&task) {
                self.runnable.rotate_left(1);
            }
        }
    }

    fn timer(&mut self, _: Time) {}

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn pick(&mut self, now: Time, _: CpuId) -> Option<Pick> {
        let task = *self.runnable.front()?;
        let left = self.tasks.get(task).map_or(self.quantum, |t| t.left);
        Some(Pick { task, until: now + left })
    }
}
