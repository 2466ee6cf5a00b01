//! POSIX real-time scheduling: fixed priorities above a time-share policy.

use laxity_core::{Choice as _, OptionInfo, OptionKind, PolicyInfo, Span, Time};

use crate::order::Order;
use crate::registry::Below;
use crate::table::Table;
use crate::{Admitted, Attributes, CpuId, Pick, Policy, Refusal, Service, TaskId};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "posix",
    summary: "Hard tasks first in, first out by fixed rate-monotonic priorities, neither admitted \
              nor held to their budgets; the rest below them.",
    source: "IEEE Std 1003.1, SCHED_FIFO; Liu and Layland 1973",
    keeps_deadlines: false,
    live: &[],
    options: &[BELOW],
    table: options_table!("posix", "{ best-effort-policy = \"eevdf\" }"),
};

/// The policy for tasks that are not hard.
pub(crate) const BELOW: OptionInfo = OptionInfo {
    name: "best-effort-policy",
    kind: OptionKind::Choice(Below::NAMES),
    required: false,
    default: "linux-2.6",
    example: "\"linux-2.6\"",
    summary: "The policy for tasks that are not hard.",
    reference: None,
};

/// `SCHED_FIFO`: the shorter the period, the higher the priority.
#[derive(Clone, Debug)]
pub struct FixedPriority {
    tasks: Table<u64>,
    order: Order,
}

impl Default for FixedPriority {
    fn default() -> FixedPriority {
        FixedPriority::new()
    }
}

impl FixedPriority {
    /// No tasks yet.
    pub fn new() -> FixedPriority {
        FixedPriority { tasks: Table::new(), order: Order::default() }
    }

    /// Tasks without a period come last.
    fn rank(a: &Attributes) -> Result<u64, Refusal> {
        match a.service {
            Service::Hard(r) | Service::Soft(r) => {
                r.check()?;
                Ok(r.period.0)
            }
            Service::BestEffort => Ok(u64::MAX),
        }
    }
}

impl Policy for FixedPriority {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let reach = self.tasks.join(task, FixedPriority::rank(a)?)?;
        self.order.reserve(reach);
        Ok(Admitted { from: now })
    }

    fn leave(&mut self, _: Time, task: TaskId, _: Span) {
        self.order.leave(task.0);
        self.tasks.leave(task);
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let rank = FixedPriority::rank(a)?;
        *self.tasks.known(task)? = rank;
        self.order.rekey(task.0, rank);
        Ok(Admitted { from: now })
    }

    fn wake(&mut self, _: Time, task: TaskId) {
        if let Some(rank) = self.tasks.get(task) {
            self.order.enter(task.0, *rank);
        }
    }

    fn block(&mut self, _: Time, task: TaskId, _: Span) {
        self.order.leave(task.0);
    }

    fn ran(&mut self, _: Time, _: TaskId, _: Span) {}

    fn timer(&mut self, _: Time) {}

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn pick(&mut self, _: Time, _: CpuId) -> Option<Pick> {
        self.order.choose().map(|task| Pick { task: TaskId(task), until: Time::MAX })
    }
}
