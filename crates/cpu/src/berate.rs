//! BeRate: deadlines from the rate at which a task used the CPU lately.

use laxity_core::{OptionInfo, OptionKind, PolicyInfo, Span, Time};

use crate::quantum::{CLOCK, Clock};
use crate::queue::Queue;
use crate::several::Ready;
use crate::table::Table;
use crate::{Admitted, Attributes, CpuId, CpuSet, Pick, Policy, Refusal, Share, TaskId};

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
            summary: "Base of the deadline after a quantum; `now` follows the letter of the \
                      paper and forgets work done early.",
        },
        OptionInfo {
            name: "load",
            kind: OptionKind::Choice(&["live", "runnable"]),
            default: "live",
            summary: "Tasks whose quanta make up the load.",
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

/// Tasks whose quanta make up the load.
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
    /// Tasks whose quanta make up the load.
    pub load: LoadOf,
    /// Where quanta come from.
    pub clock: Clock,
    /// Not of the paper: what a system of many tasks needs that runs for long.
    pub limits: Option<Limits>,
}

/// What keeps the load to tasks that do something, and waiting to some seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// After sleeping for so long a task is no longer part of the load.
    pub lapse: Span,
    /// How far ahead of now a deadline may be when the next one counts from it. A task that had
    /// the CPU to itself would otherwise wait for as long when others come.
    pub ahead: Span,
    /// The longest relative deadline. Quanta are cut when the load is greater, so that all tasks
    /// have a turn in about this time.
    pub longest: Span,
}

/// What is known of a task: what it executes at once, in which time its share comes to that, and
/// its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inferred {
    /// What it executes at once, on average.
    pub budget: Span,
    /// From the start of its present deadline to the deadline.
    pub period: Span,
    /// The deadline.
    pub deadline: Time,
}

/// BeRate for one CPU, or several that share one queue: each task's fair share then is of all of
/// them.
#[derive(Clone, Debug, Hash)]
pub struct BeRate {
    options: Options,
    tasks: Table<Rate>,
    order: Ready,
    cpus: u32,
    /// Sum of the quanta that count, in ns.
    load: u64,
    /// What of each CPU it divides.
    share: Share,
    /// Tasks that sleep, by when they are no longer part of the load.
    asleep: Queue,
}

#[derive(Clone, Debug, Hash)]
struct Rate {
    quantum: u64,
    runnable: bool,
    /// Whether its quantum is part of the load.
    counted: bool,
    fresh: bool,
    /// Executed since the last deadline was set.
    executed: u64,
    average: u64,
    /// Execution until the deadline expires.
    left: u64,
    period: u64,
    deadline: u64,
}

impl Rate {
    fn new(quantum: Span) -> Rate {
        Rate {
            quantum: quantum.0,
            runnable: false,
            counted: false,
            fresh: true,
            executed: 0,
            // As if it had always computed.
            average: quantum.0,
            left: quantum.0,
            period: 0,
            deadline: 0,
        }
    }

    /// The average weighs three times as much as what is new.
    fn next_average(&self) -> u64 {
        self.average.saturating_mul(3).saturating_add(self.executed) / 4
    }

    /// A new deadline, `executed L / q` on average after `base` but at most `longest`, when the
    /// quanta of all take `load`.
    fn set_deadline(&mut self, base: u64, load: u64, longest: u64) {
        if !core::mem::take(&mut self.fresh) {
            self.average = self.next_average();
        }
        self.executed = 0;
        let relative = u128::from(self.average) * u128::from(load) / u128::from(self.quantum);
        self.period = u64::try_from(relative).unwrap_or(u64::MAX).min(longest);
        self.deadline = base.saturating_add(self.period);
        self.left = self.quantum;
        if load > longest {
            let cut = u128::from(self.quantum) * u128::from(longest) / u128::from(load);
            self.left = (cut as u64).max(1);
        }
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

    /// From the next deadlines on this much of each CPU is divided: what something above leaves.
    pub fn set_share(&mut self, share: Share) {
        self.share = share;
    }

    /// What is known of a task that has been awake.
    pub fn inferred(&self, task: TaskId) -> Option<Inferred> {
        let rate = self.tasks.get(task)?;
        let (budget, period) = (Span(rate.average), Span(rate.period));
        Some(Inferred { budget, period, deadline: Time(rate.deadline) })
    }

    /// A deadline from `base` on.
    fn set_deadline(&mut self, now: Time, task: TaskId, base: u64) {
        self.lapse(now);
        let Some(rate) = self.tasks.get_mut(task) else { return };
        // Nobody's share is more than one CPU.
        let load = (self.load / u64::from(self.cpus)).max(rate.quantum);
        let load = self.share.time_for(Span(load)).0;
        let longest = self.options.limits.map_or(u64::MAX, |limits| limits.longest.0);
        rate.set_deadline(base, load, longest);
        self.order.rekey(task.0, rate.deadline);
    }

    fn account(&mut self, now: Time, task: TaskId, ran: Span) {
        let Some(rate) = self.tasks.get_mut(task) else { return };
        rate.executed = rate.executed.saturating_add(ran.0);
        rate.left = rate.left.saturating_sub(ran.0);
        if rate.left == 0 {
            let ahead = self.options.limits.map_or(u64::MAX, |limits| limits.ahead.0);
            let base = match self.options.base {
                Base::OldDeadline => rate.deadline.min(now.0.saturating_add(ahead)),
                Base::Now => now.0,
            };
            self.set_deadline(now, task, base);
        }
    }

    fn count(&mut self, task: TaskId, counted: bool) {
        self.asleep.remove(task.0);
        let Some(rate) = self.tasks.get_mut(task) else { return };
        match (core::mem::replace(&mut rate.counted, counted), counted) {
            (false, true) => self.load += rate.quantum,
            (true, false) => self.load -= rate.quantum,
            _ => {}
        }
    }

    /// Takes those out of the load who have slept for too long.
    fn lapse(&mut self, now: Time) {
        while let Some((_, task)) = self.asleep.first().filter(|(at, _)| *at <= now.0) {
            self.count(TaskId(task), false);
        }
    }

    /// Part of the load for some time yet.
    fn sleeps(&mut self, now: Time, task: TaskId) {
        match (self.options.load, self.options.limits) {
            (LoadOf::Runnable, _) => self.count(task, false),
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
            self.sleeps(now, task);
        }
    }
}

impl Policy for BeRate {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let quantum = self.options.clock.quantum(a.nice);
        let reach = self.tasks.join(task, Rate::new(quantum))?;
        self.order.reserve(reach);
        self.asleep.reserve(reach);
        self.count(task, self.options.load == LoadOf::Live);
        self.sleeps(now, task);
        Ok(Admitted { from: now })
    }

    fn leave(&mut self, now: Time, task: TaskId, _: Span) {
        self.stop(now, task);
        self.count(task, false);
        self.tasks.leave(task);
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.lapse(now);
        let rate = self.tasks.known(task)?;
        let quantum = self.options.clock.quantum(a.nice).0;
        if rate.counted {
            self.load = self.load - rate.quantum + quantum;
        }
        rate.quantum = quantum;
        rate.left = rate.left.min(quantum);
        Ok(Admitted { from: now })
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        let Some(rate) = self.tasks.get_mut(task).filter(|r| !r.runnable) else { return };
        rate.runnable = true;
        self.count(task, true);
        self.set_deadline(now, task, now.0);
        let deadline = self.tasks.get(task).map_or(0, |rate| rate.deadline);
        self.order.enter(task.0, deadline);
    }

    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        self.account(now, task, ran);
        self.stop(now, task);
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
        let rate = self.tasks.get(task).filter(|rate| !rate.fresh)?;
        // What was executed before it fell asleep would be taken with the next deadline.
        Some(Span(if rate.runnable { rate.average } else { rate.next_average() }))
    }

    fn recall(&mut self, task: TaskId, learnt: Span) {
        if let Some(rate) = self.tasks.get_mut(task) {
            rate.average = learnt.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a task that had the CPU to itself for a minute waits when another computes too.
    fn waits_for(limits: Option<Limits>) -> Span {
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

    /// Fails when `ahead` is not looked at.
    #[test]
    fn idle_time_used_is_held_against_a_task_up_to_a_limit() {
        let ms = Span::from_millis;
        let limits = Limits { lapse: ms(1000), ahead: ms(500), longest: ms(5000) };
        assert!(waits_for(Some(limits)) <= ms(500), "{}", waits_for(Some(limits)));
        assert!(waits_for(None) > ms(30_000), "{}", waits_for(None));
        let short = Limits { lapse: ms(1000), ahead: Span::ZERO, longest: ms(5000) };
        assert!(waits_for(Some(short)) <= ms(120));
    }
}
