//! What a policy is to whoever drives it.

use laxity_core::{Span, Time};

use crate::{Attributes, Refusal};

/// A task by its place in the tables of whoever drives the policy. Places are dense: policies
/// keep tables up to the greatest one.
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
    /// The only CPU there is.
    pub const FIRST: CpuId = CpuId(0);

    /// The CPU's index into tables.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a CPU shall do until the next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The task to run.
    pub task: TaskId,
    /// Without any other event, ask again then: the end of a budget or quantum. [`Time::MAX`] when
    /// only events matter.
    pub until: Time,
}

/// A task or a change was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// From then on what was asked for holds. Later than now when others must first give
    /// bandwidth back that they have used ahead.
    pub from: Time,
}

/// A CPU scheduler, sans-io: it is told what happens and asked who runs.
///
/// At one instant the driver reports, in this order:
/// 1. for each CPU what its task executed since the last report, by [`ran`](Self::ran), or by
///    [`block`](Self::block) or [`leave`](Self::leave) if its work ended then;
/// 2. what happens outside: [`join`](Self::join), [`wake`](Self::wake), [`change`](Self::change);
/// 3. [`timer`](Self::timer), when [`next_event`](Self::next_event) is due;
///
/// and then asks [`pick`](Self::pick) once for each CPU. Instants never decrease. Execution is
/// reported in full before anything else of the instant, so policies always know how much was
/// used. Reports about tasks that are not there, or that are already in the state reported, change
/// nothing. Only [`join`](Self::join) and [`change`](Self::change) allocate.
pub trait Policy {
    /// A task appears, asleep.
    ///
    /// # Errors
    /// When its reservation is impossible or does not fit; nothing has changed then.
    fn join(
        &mut self,
        now: Time,
        task: TaskId,
        attributes: &Attributes,
    ) -> Result<Admitted, Refusal>;

    /// A task is gone, after running for `ran` since the last report.
    fn leave(&mut self, now: Time, task: TaskId, ran: Span);

    /// Another nice value, reservation or group. The task stays awake or asleep.
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

    /// A task ran for `ran` since the last report and goes to sleep.
    fn block(&mut self, now: Time, task: TaskId, ran: Span);

    /// A task ran for `ran` since the last report and would go on.
    fn ran(&mut self, now: Time, task: TaskId, ran: Span);

    /// The instant of [`next_event`](Self::next_event) has come: releases, ticks.
    fn timer(&mut self, now: Time);

    /// When the policy wants [`timer`](Self::timer) to be called, at the latest.
    fn next_event(&self) -> Option<Time>;

    /// Who runs on `cpu` from now on; `None` leaves it idle.
    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick>;

    /// Something above this policy takes `cpu`: the task picked last no longer runs, though it
    /// stays runnable. Policies that look at their running task at ticks need to know.
    fn displace(&mut self, now: Time, cpu: CpuId) {
        let _ = (now, cpu);
    }

    /// A task ran for `ran` on time that this policy did not give: no budget is charged. It stays
    /// runnable.
    fn lent(&mut self, now: Time, task: TaskId, ran: Span) {
        let _ = (now, task, ran);
    }

    /// What was learnt of a task's executions, for a policy of the same kind that it moves to.
    fn learnt(&self, task: TaskId) -> Option<Span> {
        let _ = task;
        None
    }

    /// Takes over what another policy of the same kind has learnt of a task.
    fn recall(&mut self, task: TaskId, learnt: Span) {
        let _ = (task, learnt);
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
    fn displace(&mut self, now: Time, cpu: CpuId) {
        (**self).displace(now, cpu);
    }
    fn lent(&mut self, now: Time, task: TaskId, ran: Span) {
        (**self).lent(now, task, ran);
    }
    fn learnt(&self, task: TaskId) -> Option<Span> {
        (**self).learnt(task)
    }
    fn recall(&mut self, task: TaskId, learnt: Span) {
        (**self).recall(task, learnt);
    }
}
