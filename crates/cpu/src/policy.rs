//! The interface between a policy and its driver.

use laxity_core::{Span, Time};

use crate::{Attributes, Charge, Refusal, ServerView};

/// A task, as an index into the driver's tables. Indices are dense: policies have tables up to the
/// greatest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

/// A CPU of a policy, counted from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuId(pub u32);

impl TaskId {
    /// The task's index into tables.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl CpuId {
    /// The first CPU; the only one of a policy for one CPU.
    pub const FIRST: CpuId = CpuId(0);

    /// The CPU's index into tables.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The task that a CPU runs until the next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The task to run.
    pub task: TaskId,
    /// The latest time of the next pick, even without an event: the end of a budget or quantum.
    /// [`Time::MAX`] when only events matter.
    pub until: Time,
}

/// A task or a change was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The time from which the attributes are in force. Later than now when other tasks have used
    /// bandwidth ahead and must return it first.
    pub from: Time,
}

/// A CPU scheduler, sans-io: the driver reports events and asks for the task to run.
///
/// At one instant the driver reports, in this order:
/// 1. for each CPU, the execution of its task since the last report, by [`ran`](Self::ran), or by
///    [`block`](Self::block) or [`leave`](Self::leave) if its work ended then;
/// 2. external events: [`join`](Self::join), [`wake`](Self::wake), [`change`](Self::change);
/// 3. [`timer`](Self::timer), when [`next_event`](Self::next_event) is due;
///
/// and then calls [`pick`](Self::pick) once for each CPU. Instants never decrease. Execution is
/// reported in full before any other event of the instant, so policies always know the used
/// budgets. Reports about unknown tasks, or about tasks that are already in the reported state, have
/// no effect. Only [`join`](Self::join) and [`change`](Self::change) allocate.
pub trait Policy {
    /// A task joins, asleep.
    ///
    /// # Errors
    /// When its reservation is invalid or not admitted; the policy is then unchanged.
    fn join(
        &mut self,
        now: Time,
        task: TaskId,
        attributes: &Attributes,
    ) -> Result<Admitted, Refusal>;

    /// A task leaves, after running for `ran` since the last report.
    fn leave(&mut self, now: Time, task: TaskId, ran: Span);

    /// A task gets another nice value, reservation or group. It stays awake or asleep.
    ///
    /// # Errors
    /// As [`join`](Self::join); the old attributes then stay in force.
    fn change(
        &mut self,
        now: Time,
        task: TaskId,
        attributes: &Attributes,
    ) -> Result<Admitted, Refusal>;

    /// A task becomes runnable.
    fn wake(&mut self, now: Time, task: TaskId);

    /// A task becomes runnable because the running one has woken it, with a message for example. A
    /// policy may then let the running one go on for a while: it often sends more, or sleeps soon.
    fn wake_by_running(&mut self, now: Time, task: TaskId) {
        self.wake(now, task);
    }

    /// A preempted task goes on at `now` without a [`pick`](Self::pick), since the system resumed it by itself when
    /// the task above it stopped.
    fn resume(&mut self, now: Time, task: TaskId) {
        let _ = (now, task);
    }

    /// A task ran for `ran` since the last report and blocks.
    fn block(&mut self, now: Time, task: TaskId, ran: Span);

    /// A task ran for `ran` since the last report and stays runnable.
    fn ran(&mut self, now: Time, task: TaskId, ran: Span);

    /// The instant of [`next_event`](Self::next_event) has come: releases, ticks.
    fn timer(&mut self, now: Time);

    /// The latest time of the next call of [`timer`](Self::timer).
    fn next_event(&self) -> Option<Time>;

    /// The task that runs on `cpu` from now on; `None` leaves it idle.
    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick>;

    /// The same while a higher scheduling class waits for `cpu` and leaves only a part of it: ready hard
    /// reservations precede best effort, whatever the deadlines. Policies without deadlines of best effort among
    /// those of reservations pick as always.
    fn pick_reserved_first(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        self.pick(now, cpu)
    }

    /// A policy above this one takes `cpu`: the task picked last no longer runs, but stays
    /// runnable. Policies that inspect their running task at ticks depend on this.
    fn displace(&mut self, now: Time, cpu: CpuId) {
        let _ = (now, cpu);
    }

    /// A task ran for `ran` in background time, not allocated by this policy, so no budget is
    /// charged. It stays runnable.
    fn ran_in_background(&mut self, now: Time, task: TaskId, ran: Span) {
        let _ = (now, task, ran);
    }

    /// The estimated execution of a task, for a policy of the same kind to which it migrates.
    fn execution_estimate(&self, task: TaskId) -> Option<Span> {
        let _ = task;
        None
    }

    /// Takes over the estimate of another policy of the same kind.
    fn set_execution_estimate(&mut self, task: TaskId, execution_estimate: Span) {
        let _ = (task, execution_estimate);
    }

    /// Hands over each server, also vacant places, as it is at `now`; for records. Policies without servers
    /// have none.
    fn servers(&self, now: Time, each: &mut dyn FnMut(&ServerView)) {
        let _ = (now, each);
    }

    /// How often the promises of servers in a cluster were reset, at instants at which no hard job was pending; for
    /// records.
    fn resets(&self, cluster: u32) -> u64 {
        let _ = cluster;
        0
    }

    /// What the execution of the task that was picked for `cpu` is charged to; for records.
    fn charged_to(&self, cpu: CpuId, task: TaskId) -> Charge {
        let _ = (cpu, task);
        Charge::Unserved
    }
}

impl<P: Policy + ?Sized> Policy for alloc::boxed::Box<P> {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        (**self).join(now, task, a)
    }
    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        (**self).leave(now, task, ran);
    }
    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        (**self).change(now, task, a)
    }
    fn wake(&mut self, now: Time, task: TaskId) {
        (**self).wake(now, task);
    }
    fn wake_by_running(&mut self, now: Time, task: TaskId) {
        (**self).wake_by_running(now, task);
    }
    fn resume(&mut self, now: Time, task: TaskId) {
        (**self).resume(now, task);
    }
    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        (**self).block(now, task, ran);
    }
    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        (**self).ran(now, task, ran);
    }
    fn timer(&mut self, now: Time) {
        (**self).timer(now);
    }
    fn next_event(&self) -> Option<Time> {
        (**self).next_event()
    }
    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        (**self).pick(now, cpu)
    }
    fn pick_reserved_first(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        (**self).pick_reserved_first(now, cpu)
    }
    fn displace(&mut self, now: Time, cpu: CpuId) {
        (**self).displace(now, cpu);
    }
    fn ran_in_background(&mut self, now: Time, task: TaskId, ran: Span) {
        (**self).ran_in_background(now, task, ran);
    }
    fn execution_estimate(&self, task: TaskId) -> Option<Span> {
        (**self).execution_estimate(task)
    }
    fn set_execution_estimate(&mut self, task: TaskId, execution_estimate: Span) {
        (**self).set_execution_estimate(task, execution_estimate);
    }
    fn servers(&self, now: Time, each: &mut dyn FnMut(&ServerView)) {
        (**self).servers(now, each);
    }
    fn resets(&self, cluster: u32) -> u64 {
        (**self).resets(cluster)
    }
    fn charged_to(&self, cpu: CpuId, task: TaskId) -> Charge {
        (**self).charged_to(cpu, task)
    }
}
