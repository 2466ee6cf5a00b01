//! BeRate: deadlines from the rate at which a task recently used the CPU.

use laxity_core::{Choice as _, Live, OptionInfo, OptionKind, PolicyInfo, Span, Time};

use crate::options::Field;
use crate::quantum::{CLOCK, Clock};
use crate::queue::Queue;
use crate::ready::Ready;
use crate::table::Table;
use crate::{Admitted, Attributes, CpuId, CpuSet, Pick, Policy, Refusal, Share, TaskId};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "berate",
    summary: "Earliest deadline first, deadlines being what a task usually executes at once \
              divided by its fair share.",
    source: "BeRate, section 4.2",
    keeps_deadlines: false,
    live: &[Live::SchedExt(2)],
    options: &[
        OptionInfo {
            name: "deadline-base",
            kind: OptionKind::Choice(Base::NAMES),
            required: false,
            default: "previous-deadline",
            example: "\"previous-deadline\"",
            summary: "Base of the deadline after a quantum; `now` follows the letter of the \
                      paper and forgets work done early.",
            reference: None,
        },
        OptionInfo {
            name: "load",
            kind: OptionKind::Choice(LoadOf::NAMES),
            required: false,
            default: "live",
            example: "\"live\"",
            summary: "Tasks whose quanta make up the load.",
            reference: None,
        },
        CLOCK,
    ],
    table: options_table!("berate", "{ deadline-base = \"now\" }"),
};

/// The base of the deadline after a quantum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Base {
    /// The previous deadline.
    #[default]
    OldDeadline,
    /// The present time, as in the paper's text, which does not reproduce table 1 of the paper.
    Now,
}

/// Tasks whose quanta make up the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LoadOf {
    /// All tasks that have joined.
    #[default]
    Live,
    /// Runnable tasks.
    Runnable,
}

/// Options of BeRate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// The base of the deadline after a quantum.
    pub base: Base,
    /// Tasks whose quanta make up the load.
    pub load: LoadOf,
    /// The clock that defines quanta.
    pub clock: Clock,
    /// Limits for long-running systems of many tasks; not from the paper.
    pub limits: Option<Limits>,
}

impl Options {
    /// Where an option is kept.
    pub(crate) fn field(&mut self, option: &str) -> Option<Field<'_>> {
        Some(match option {
            "deadline-base" => Field::Choice(&mut self.base),
            "load" => Field::Choice(&mut self.load),
            "clock" => Field::Choice(&mut self.clock),
            _ => return None,
        })
    }
}

/// Limits of the load to active tasks, and of waiting times to seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The sleep after which a task is no longer part of the load.
    pub lapse: Span,
    /// How far ahead of now a deadline may be as the base of the next one. Without a limit a task
    /// that had the CPU to itself would wait for as long when others wake.
    pub ahead: Span,
    /// The longest relative deadline. Quanta are cut when the load is greater, so that every task
    /// runs within about this time.
    pub max_period: Span,
}

/// The parameters inferred for a task: its average execution, the time in which its share amounts to
/// that, and its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inferred {
    /// The average execution between deadlines.
    pub budget: Span,
    /// The present relative deadline.
    pub period: Span,
    /// The deadline.
    pub deadline: Time,
}

/// BeRate for one CPU, or several that share one queue; a task's fair share is then one of all CPUs.
#[derive(Clone, Debug, Hash)]
pub struct BeRate {
    options: Options,
    tasks: Table<Rate>,
    order: Ready,
    cpus: u32,
    /// The sum of the quanta in the load, in ns.
    load: u64,
    /// The share of each CPU that it divides.
    share: Share,
    /// Sleeping tasks, by the time at which they leave the load.
    asleep: Queue,
}

#[derive(Clone, Debug, Hash)]
struct Rate {
    quantum: u64,
    runnable: bool,
    /// Whether its quantum is part of the load.
    in_load: bool,
    fresh: bool,
    /// Execution since the last deadline was set.
    executed: u64,
    average: u64,
    /// The remaining execution before the next deadline is set.
    remaining_budget: u64,
    period: u64,
    deadline: u64,
}

impl Rate {
    fn new(quantum: Span) -> Rate {
        Rate {
            quantum: quantum.0,
            runnable: false,
            in_load: false,
            fresh: true,
            executed: 0,
            // As of a CPU-bound task.
            average: quantum.0,
            remaining_budget: quantum.0,
            period: 0,
            deadline: 0,
        }
    }

    /// The old average weighs three times as much as the new execution.
    fn next_average(&self) -> u64 {
        self.average.saturating_mul(3).saturating_add(self.executed) / 4
    }

    /// A new deadline, `executed L / q` on average after `base` but at most `max_period`, when the
    /// quanta of all take `load`.
    fn set_deadline(&mut self, base: u64, load: u64, max_period: u64) {
        if !core::mem::take(&mut self.fresh) {
            self.average = self.next_average();
        }
        self.executed = 0;
        let relative = u128::from(self.average) * u128::from(load) / u128::from(self.quantum);
        self.period = u64::try_from(relative).unwrap_or(u64::MAX).min(max_period);
        self.deadline = base.saturating_add(self.period);
        self.remaining_budget = self.quantum;
        if load > max_period {
            let cut = u128::from(self.quantum) * u128::from(max_period) / u128::from(load);
            self.remaining_budget = (cut as u64).max(1);
        }
    }
}

impl BeRate {
    /// No tasks yet.
    pub fn new(options: &Options) -> BeRate {
        BeRate::global(options, 1)
    }

    /// No tasks yet; global EDF on `cpus` CPUs.
    pub fn global(options: &Options, cpus: u32) -> BeRate {
        let cpus = cpus.clamp(1, CpuSet::MOST);
        let order = Ready::new(cpus);
        BeRate {
            options: *options,
            tasks: Table::new(),
            order,
            cpus,
            load: 0,
            share: Share::ONE,
            asleep: Queue::default(),
        }
    }

    /// Sets the share of each CPU that a policy above leaves; it applies from the next deadlines on.
    pub fn set_share(&mut self, share: Share) {
        self.share = share;
    }

    /// The parameters inferred for a task that has been awake.
    pub fn inferred(&self, task: TaskId) -> Option<Inferred> {
        let rate = self.tasks.get(task)?;
        let (budget, period) = (Span(rate.average), Span(rate.period));
        Some(Inferred { budget, period, deadline: Time(rate.deadline) })
    }

    /// Sets the deadline of a task relative to `base`.
    fn set_deadline(&mut self, now: Time, task: TaskId, base: u64) {
        self.lapse(now);
        let Some(rate) = self.tasks.get_mut(task) else { return };
        // No task's share exceeds one CPU.
        let load = (self.load / u64::from(self.cpus)).max(rate.quantum);
        let load = self.share.time_for(Span(load)).0;
        let max_period = self.options.limits.map_or(u64::MAX, |limits| limits.max_period.0);
        rate.set_deadline(base, load, max_period);
        self.order.rekey(task.0, rate.deadline);
    }

    fn charge(&mut self, now: Time, task: TaskId, ran: Span) {
        let Some(rate) = self.tasks.get_mut(task) else { return };
        rate.executed = rate.executed.saturating_add(ran.0);
        rate.remaining_budget = rate.remaining_budget.saturating_sub(ran.0);
        if rate.remaining_budget == 0 {
            let ahead = self.options.limits.map_or(u64::MAX, |limits| limits.ahead.0);
            let base = match self.options.base {
                Base::OldDeadline => rate.deadline.min(now.0.saturating_add(ahead)),
                Base::Now => now.0,
            };
            self.set_deadline(now, task, base);
        }
    }

    fn set_in_load(&mut self, task: TaskId, in_load: bool) {
        self.asleep.remove(task.0);
        let Some(rate) = self.tasks.get_mut(task) else { return };
        match (core::mem::replace(&mut rate.in_load, in_load), in_load) {
            (false, true) => self.load += rate.quantum,
            (true, false) => self.load -= rate.quantum,
            _ => {}
        }
    }

    /// Removes tasks from the load whose sleep has exceeded the limit.
    fn lapse(&mut self, now: Time) {
        while let Some((_, task)) = self.asleep.first().filter(|(at, _)| *at <= now.0) {
            self.set_in_load(TaskId(task), false);
        }
    }

    /// Schedules the removal of a sleeping task from the load.
    fn start_lapse(&mut self, now: Time, task: TaskId) {
        match (self.options.load, self.options.limits) {
            (LoadOf::Runnable, _) => self.set_in_load(task, false),
            (LoadOf::Live, Some(limits)) => {
                self.asleep.set(task.0, now.0.saturating_add(limits.lapse.0), 0);
            }
            (LoadOf::Live, None) => {}
        }
    }

    fn stop(&mut self, now: Time, task: TaskId) {
        let Some(rate) = self.tasks.get_mut(task) else { return };
        if core::mem::take(&mut rate.runnable) {
            self.order.leave(task.0);
            self.start_lapse(now, task);
        }
    }
}

impl Policy for BeRate {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let quantum = self.options.clock.quantum(a.nice);
        let reach = self.tasks.join(task, Rate::new(quantum))?;
        self.order.reserve(reach);
        self.asleep.reserve(reach);
        self.set_in_load(task, self.options.load == LoadOf::Live);
        self.start_lapse(now, task);
        Ok(Admitted { from: now })
    }

    fn leave(&mut self, now: Time, task: TaskId, _: Span) {
        self.stop(now, task);
        self.set_in_load(task, false);
        self.tasks.leave(task);
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.lapse(now);
        let rate = self.tasks.known(task)?;
        let quantum = self.options.clock.quantum(a.nice).0;
        if rate.in_load {
            self.load = self.load - rate.quantum + quantum;
        }
        rate.quantum = quantum;
        rate.remaining_budget = rate.remaining_budget.min(quantum);
        Ok(Admitted { from: now })
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        let Some(rate) = self.tasks.get_mut(task).filter(|r| !r.runnable) else { return };
        rate.runnable = true;
        self.set_in_load(task, true);
        self.set_deadline(now, task, now.0);
        let deadline = self.tasks.get(task).map_or(0, |rate| rate.deadline);
        self.order.enter(task.0, deadline);
    }

    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        self.charge(now, task, ran);
        self.stop(now, task);
    }

    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        self.charge(now, task, ran);
    }

    fn timer(&mut self, _: Time) {}

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        let task = TaskId(self.order.pick(cpu).1?);
        let left = self.tasks.get(task).map_or(0, |r| r.remaining_budget);
        Some(Pick { task, until: now + Span(left) })
    }

    fn execution_estimate(&self, task: TaskId) -> Option<Span> {
        let rate = self.tasks.get(task).filter(|rate| !rate.fresh)?;
        // The next deadline would include the execution before it blocked.
        Some(Span(if rate.runnable { rate.average } else { rate.next_average() }))
    }

    fn set_execution_estimate(&mut self, task: TaskId, execution_estimate: Span) {
        if let Some(rate) = self.tasks.get_mut(task) {
            rate.average = execution_estimate.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a task that had the CPU to itself for a minute waits when another one computes.
    fn wait_after_idle_use(limits: Option<Limits>) -> Span {
        let mut policy = BeRate::new(&Options { limits, ..Options::default() });
        let (old, new) = (TaskId(0), TaskId(1));
        let mut now = Time(0);
        for task in [old, new] {
            policy.join(now, task, &Attributes::default()).expect("best effort");
        }
        policy.wake(now, old);
        let run = |policy: &mut BeRate, now: &mut Time| {
            let pick = policy.pick(*now, CpuId::FIRST).expect("one is awake");
            policy.ran(pick.until, pick.task, pick.until.since(*now));
            *now = pick.until;
            pick.task
        };
        while now < Time(60_000_000_000) {
            run(&mut policy, &mut now);
        }
        policy.wake(now, new);
        let since = now;
        loop {
            let began = now;
            if run(&mut policy, &mut now) == old {
                return began.since(since);
            }
        }
    }

    /// Fails when `ahead` is ignored.
    #[test]
    fn idle_time_use_delays_a_task_up_to_the_limit() {
        let ms = Span::from_millis;
        let limits = Limits { lapse: ms(1000), ahead: ms(500), max_period: ms(5000) };
        assert!(
            wait_after_idle_use(Some(limits)) <= ms(500),
            "{}",
            wait_after_idle_use(Some(limits))
        );
        assert!(wait_after_idle_use(None) > ms(30_000), "{}", wait_after_idle_use(None));
        let short = Limits { lapse: ms(1000), ahead: Span::ZERO, max_period: ms(5000) };
        assert!(wait_after_idle_use(Some(short)) <= ms(120));
    }
}
