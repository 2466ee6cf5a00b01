//! Round robin: a quantum each, in turn.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use laxity_core::{Span, Time};

use crate::{Admitted, Attributes, CpuId, Pick, Policy, Refusal, TaskId};

/// Tasks in turn, a quantum each, whatever their nice value.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    quantum: Span,
    tasks: Vec<Option<Turn>>,
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
        RoundRobin { quantum, tasks: Vec::new(), runnable: VecDeque::new() }
    }

    fn turn(&mut self, task: TaskId) -> Option<&mut Turn> {
        self.tasks.get_mut(task.index())?.as_mut()
    }

    fn stop(&mut self, task: TaskId) {
        if let Some(turn) = self.turn(task) {
            turn.runnable = false;
            self.runnable.retain(|t| *t != task);
        }
    }
}

impl Policy for RoundRobin {
    fn join(&mut self, now: Time, task: TaskId, _: &Attributes) -> Result<Admitted, Refusal> {
        if self.turn(task).is_some() {
            return Err(Refusal::Known(task));
        }
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, None);
        }
        self.runnable.reserve(self.tasks.len() - self.runnable.len());
        self.tasks[task.index()] = Some(Turn { runnable: false, left: self.quantum });
        Ok(Admitted { from: now })
    }

    fn leave(&mut self, _: Time, task: TaskId, _: Span) {
        self.stop(task);
        if let Some(place) = self.tasks.get_mut(task.index()) {
            *place = None;
        }
    }

    fn change(&mut self, now: Time, task: TaskId, _: &Attributes) -> Result<Admitted, Refusal> {
        self.turn(task).map(|_| Admitted { from: now }).ok_or(Refusal::Unknown(task))
    }

    fn wake(&mut self, _: Time, task: TaskId) {
        let quantum = self.quantum;
        let Some(turn) = self.turn(task).filter(|t| !t.runnable) else { return };
        *turn = Turn { runnable: true, left: quantum };
        self.runnable.push_back(task);
    }

    fn block(&mut self, _: Time, task: TaskId, _: Span) {
        self.stop(task);
    }

    fn ran(&mut self, _: Time, task: TaskId, ran: Span) {
        let quantum = self.quantum;
        let Some(turn) = self.turn(task).filter(|t| t.runnable) else { return };
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
        let left = self.tasks[task.index()].as_ref().map_or(self.quantum, |t| t.left);
        Some(Pick { task, until: now + left })
    }
}
