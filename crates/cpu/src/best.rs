//! BEST: deadlines from the distances between wake-ups.
//!
//! The paper itself (Banachowski and Brandt, MMCN 2002) was not available; this follows the
//! description in BeRate (sections 2.1 and 5) and common knowledge of the policy. Results are
//! uncertain to that extent.

use laxity_core::{PolicyInfo, Span, Time};

use crate::order::Order;
use crate::quantum::{CLOCK, Clock};
use crate::table::Table;
use crate::{Admitted, Attributes, CpuId, Nice, Pick, Policy, Refusal, TaskId};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "best",
    summary: "Earliest deadline first, deadlines being the average distance between a task's \
              wake-ups; nice values and shares are disregarded.",
    source: "BEST, as BeRate section 2.1 describes it",
    keeps_deadlines: false,
    live: &[],
    options: &[CLOCK],
    table: options_table!("best", "{ clock = \"100-hz\" }"),
};

/// The greatest distance between wake-ups that is averaged, and the greatest relative deadline.
const CAP: u64 = 1_000_000_000;

/// BEST for one CPU.
#[derive(Clone, Debug)]
pub struct Best {
    quantum: u64,
    tasks: Table<TaskState>,
    order: Order,
}

#[derive(Clone, Debug, Default)]
struct TaskState {
    runnable: bool,
    woken: Option<u64>,
    period: Option<u64>,
    remaining_quantum: u64,
}

impl Best {
    /// No tasks yet.
    pub fn new(clock: Clock) -> Best {
        let quantum = clock.quantum(Nice::default()).0;
        Best { quantum, tasks: Table::new(), order: Order::default() }
    }
}

impl Policy for Best {
    fn join(&mut self, now: Time, task: TaskId, _: &Attributes) -> Result<Admitted, Refusal> {
        let reach = self.tasks.join(task, TaskState::default())?;
        self.order.reserve(reach);
        Ok(Admitted { from: now })
    }

    fn leave(&mut self, _: Time, task: TaskId, _: Span) {
        self.order.leave(task.0);
        self.tasks.leave(task);
    }

    fn change(&mut self, now: Time, task: TaskId, _: &Attributes) -> Result<Admitted, Refusal> {
        self.tasks.known(task).map(|_| Admitted { from: now })
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        let quantum = self.quantum;
        let Some(state) = self.tasks.get_mut(task).filter(|h| !h.runnable) else { return };
        state.runnable = true;
        state.remaining_quantum = quantum;
        if let Some(before) = state.woken.replace(now.0) {
            let interarrival = (now.0 - before.min(now.0)).min(CAP);
            state.period = Some(state.period.map_or(interarrival, |p| (interarrival + 3 * p) / 4));
        }
        self.order.enter(task.0, now.0.saturating_add(state.period.unwrap_or(CAP)));
    }

    fn block(&mut self, _: Time, task: TaskId, _: Span) {
        let Some(state) = self.tasks.get_mut(task) else { return };
        state.runnable = false;
        self.order.leave(task.0);
    }

    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        let quantum = self.quantum;
        let Some(state) = self.tasks.get_mut(task) else { return };
        state.remaining_quantum = state.remaining_quantum.saturating_sub(ran.0);
        if state.remaining_quantum == 0 {
            state.remaining_quantum = quantum;
            self.order.rekey(task.0, now.0.saturating_add(CAP));
        }
    }

    fn timer(&mut self, _: Time) {}

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn pick(&mut self, now: Time, _: CpuId) -> Option<Pick> {
        let task = TaskId(self.order.choose()?);
        let left = self.tasks.get(task).map_or(0, |h| h.remaining_quantum);
        Some(Pick { task, until: now + Span(left) })
    }
}
