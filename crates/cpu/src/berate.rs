//! BeRate: deadlines from the rate at which a task used the CPU lately.

use laxity_core::{OptionInfo, OptionKind, PolicyInfo, Span, Time};

use crate::quantum::{CLOCK, Clock};
use crate::several::Ready;
use crate::table::Table;
use crate::{Admitted, Attributes, CpuId, CpuSet, Pick, Policy, Refusal, TaskId};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "berate",
    summary: "Earliest deadline first, deadlines being what a task usually executes at once \
              divided by its fair share.",
    source: "BeRate, section 4.2",
    keeps_deadlines: false,
    options: &[
        OptionInfo {
            name: "base",
            kind: OptionKind::Choice(&["old-deadline", "now"]),
            default: "old-deadline",
            summary: "From where the deadline after a quantum counts; `now` is the letter of the \
                      paper, under which work done early is forgotten.",
        },
        OptionInfo {
            name: "load",
            kind: OptionKind::Choice(&["live", "runnable"]),
            default: "live",
            summary: "Whose quanta make up the load.",
        },
        CLOCK,
    ],
};

/// From where the deadline after a quantum counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Base {
    /// From the deadline before.
    #[default]
    OldDeadline,
    /// From now, as the paper's text says. Table 1 of the paper does not come out so.
    Now,
}

/// Whose quanta make up the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LoadOf {
    /// All tasks that are there.
    #[default]
    Live,
    /// Those that are runnable.
    Runnable,
}

/// Readings of BeRate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// From where the deadline after a quantum counts.
    pub base: Base,
    /// Whose quanta make up the load.
    pub load: LoadOf,
    /// Where quanta come from.
    pub clock: Clock,
}

/// BeRate for one CPU, or several that share one queue: each task's fair share then is of all of
/// them.
#[derive(Clone, Debug)]
pub struct BeRate {
    options: Options,
    tasks: Table<Rate>,
    order: Ready,
    cpus: u32,
    /// Sum of the quanta that count, in ns.
    load: u64,
}

#[derive(Clone, Debug)]
struct Rate {
    quantum: u64,
    runnable: bool,
    fresh: bool,
    /// Executed since the last deadline was set.
    executed: u64,
    average: u64,
    /// Execution until the deadline expires.
    left: u64,
    deadline: u64,
}

impl Rate {
    fn new(quantum: Span) -> Rate {
        Rate {
            quantum: quantum.0,
            runnable: false,
            fresh: true,
            executed: 0,
            // As if it had always computed.
            average: quantum.0,
            left: quantum.0,
            deadline: 0,
        }
    }

    /// A new deadline, `executed L / q` on average after `base`.
    fn set_deadline(&mut self, base: u64, load: u64, cpus: u32) {
        if !core::mem::take(&mut self.fresh) {
            self.average = self.average.saturating_mul(3).saturating_add(self.executed) / 4;
        }
        self.executed = 0;
        self.left = self.quantum;
        // Nobody's share is more than one CPU.
        let load = (load / u64::from(cpus)).max(self.quantum);
        let relative = u128::from(self.average) * u128::from(load) / u128::from(self.quantum);
        self.deadline = base.saturating_add(u64::try_from(relative).unwrap_or(u64::MAX));
    }
}

impl BeRate {
    /// No tasks yet.
    pub fn new(options: &Options) -> BeRate {
        BeRate::on_several(options, 1)
    }

    /// No tasks yet, on so many CPUs.
    pub fn on_several(options: &Options, cpus: u32) -> BeRate {
        let cpus = cpus.clamp(1, CpuSet::MOST);
        let order = Ready::new(cpus);
        BeRate { options: *options, tasks: Table::new(), order, cpus, load: 0 }
    }

    fn account(&mut self, now: Time, task: TaskId, ran: Span) {
        let (base, load, cpus) = (self.options.base, self.load, self.cpus);
        let Some(rate) = self.tasks.get_mut(task) else { return };
        rate.executed = rate.executed.saturating_add(ran.0);
        rate.left = rate.left.saturating_sub(ran.0);
        if rate.left == 0 {
            let base = match base {
                Base::OldDeadline => rate.deadline,
                Base::Now => now.0,
            };
            rate.set_deadline(base, load, cpus);
            self.order.rekey(task.0, rate.deadline);
        }
    }

    fn stop(&mut self, task: TaskId) {
        let Some(rate) = self.tasks.get_mut(task) else { return };
        if core::mem::take(&mut rate.runnable) && self.options.load == LoadOf::Runnable {
            self.load -= rate.quantum;
        }
        self.order.leave(task.0);
    }
}

impl Policy for BeRate {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let quantum = self.options.clock.quantum(a.nice);
        let reach = self.tasks.join(task, Rate::new(quantum))?;
        self.order.reserve(reach);
        if self.options.load == LoadOf::Live {
            self.load += quantum.0;
        }
        Ok(Admitted { from: now })
    }

    fn leave(&mut self, _: Time, task: TaskId, _: Span) {
        self.stop(task);
        if let Some(rate) = self.tasks.leave(task) {
            if self.options.load == LoadOf::Live {
                self.load -= rate.quantum;
            }
        }
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let rate = self.tasks.known(task)?;
        let quantum = self.options.clock.quantum(a.nice).0;
        if rate.runnable || self.options.load == LoadOf::Live {
            self.load = self.load - rate.quantum + quantum;
        }
        rate.quantum = quantum;
        rate.left = rate.left.min(quantum);
        Ok(Admitted { from: now })
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        let Some(rate) = self.tasks.get_mut(task).filter(|r| !r.runnable) else { return };
        rate.runnable = true;
        if self.options.load == LoadOf::Runnable {
            self.load += rate.quantum;
        }
        rate.set_deadline(now.0, self.load, self.cpus);
        self.order.enter(task.0, rate.deadline);
    }

    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        self.account(now, task, ran);
        self.stop(task);
    }

    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        self.account(now, task, ran);
    }

    fn timer(&mut self, _: Time) {}

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        let task = TaskId(self.order.pick(cpu).1?);
        let left = self.tasks.get(task).map_or(0, |r| r.left);
        Some(Pick { task, until: now + Span(left) })
    }

    fn learnt(&self, task: TaskId) -> Option<Span> {
        self.tasks.get(task).filter(|rate| !rate.fresh).map(|rate| Span(rate.average))
    }

    fn recall(&mut self, task: TaskId, learnt: Span) {
        if let Some(rate) = self.tasks.get_mut(task) {
            rate.average = learnt.0;
        }
    }
}
