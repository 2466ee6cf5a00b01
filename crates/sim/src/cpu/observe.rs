//! Events of an engine.

use laxity_core::{Span, Time};
use laxity_cpu::{Admitted, CpuId, Refusal, TaskId};

/// A job that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// When it could start.
    pub release: Time,
    /// When it was due, if it was.
    pub deadline: Option<Time>,
    /// When it ended.
    pub end: Time,
}

impl Job {
    /// By how much it was late, zero on time.
    pub fn tardiness(&self) -> Span {
        self.deadline.map_or(Span::ZERO, |deadline| self.end.since(deadline))
    }

    /// By how much a job that is unfinished at `end` is late at least: it ends after that instant,
    /// so one that is due there is late by at least a nanosecond. None if it may still be on time.
    pub fn overdue(&self) -> Option<Span> {
        let deadline = self.deadline.filter(|deadline| *deadline <= self.end)?;
        Some(self.end.since(deadline).max(Span(1)))
    }
}

/// Observes all events, in order of time. Each method has an empty default.
pub trait Observer {
    /// A task appeared, or changed, and was admitted or not.
    fn asked(&mut self, now: Time, task: TaskId, answer: &Result<Admitted, Refusal>) {
        let _ = (now, task, answer);
    }
    /// A task became runnable.
    fn woke(&mut self, now: Time, task: TaskId) {
        let _ = (now, task);
    }
    /// A task went to sleep, or left.
    fn slept(&mut self, now: Time, task: TaskId) {
        let _ = (now, task);
    }
    /// A CPU goes to a task, or idle.
    fn dispatched(&mut self, now: Time, cpu: CpuId, task: Option<TaskId>) {
        let _ = (now, cpu, task);
    }
    /// A task executed.
    fn ran(&mut self, from: Time, to: Time, cpu: CpuId, task: TaskId) {
        let _ = (from, to, cpu, task);
    }
    /// A job ended.
    fn ended(&mut self, task: TaskId, job: &Job) {
        let _ = (task, job);
    }
    /// A job was not done when the run ended, or its task left; its `end` is that instant.
    fn unfinished(&mut self, task: TaskId, job: &Job) {
        let _ = (task, job);
    }
    /// A poller saw an event that came at `since`.
    fn saw(&mut self, now: Time, task: TaskId, since: Time) {
        let _ = (now, task, since);
    }
}

impl Observer for () {}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn asked(&mut self, now: Time, task: TaskId, answer: &Result<Admitted, Refusal>) {
        self.0.asked(now, task, answer);
        self.1.asked(now, task, answer);
    }
    fn woke(&mut self, now: Time, task: TaskId) {
        self.0.woke(now, task);
        self.1.woke(now, task);
    }
    fn slept(&mut self, now: Time, task: TaskId) {
        self.0.slept(now, task);
        self.1.slept(now, task);
    }
    fn dispatched(&mut self, now: Time, cpu: CpuId, task: Option<TaskId>) {
        self.0.dispatched(now, cpu, task);
        self.1.dispatched(now, cpu, task);
    }
    fn ran(&mut self, from: Time, to: Time, cpu: CpuId, task: TaskId) {
        self.0.ran(from, to, cpu, task);
        self.1.ran(from, to, cpu, task);
    }
    fn ended(&mut self, task: TaskId, job: &Job) {
        self.0.ended(task, job);
        self.1.ended(task, job);
    }
    fn unfinished(&mut self, task: TaskId, job: &Job) {
        self.0.unfinished(task, job);
        self.1.unfinished(task, job);
    }
    fn saw(&mut self, now: Time, task: TaskId, since: Time) {
        self.0.saw(now, task, since);
        self.1.saw(now, task, since);
    }
}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn asked(&mut self, now: Time, task: TaskId, answer: &Result<Admitted, Refusal>) {
        (**self).asked(now, task, answer);
    }
    fn woke(&mut self, now: Time, task: TaskId) {
        (**self).woke(now, task);
    }
    fn slept(&mut self, now: Time, task: TaskId) {
        (**self).slept(now, task);
    }
    fn dispatched(&mut self, now: Time, cpu: CpuId, task: Option<TaskId>) {
        (**self).dispatched(now, cpu, task);
    }
    fn ran(&mut self, from: Time, to: Time, cpu: CpuId, task: TaskId) {
        (**self).ran(from, to, cpu, task);
    }
    fn ended(&mut self, task: TaskId, job: &Job) {
        (**self).ended(task, job);
    }
    fn unfinished(&mut self, task: TaskId, job: &Job) {
        (**self).unfinished(task, job);
    }
    fn saw(&mut self, now: Time, task: TaskId, since: Time) {
        (**self).saw(now, task, since);
    }
}

/// An observer, if there is one: one type, and with it one engine a policy for all of them.
impl Observer for Option<&mut dyn Observer> {
    fn asked(&mut self, now: Time, task: TaskId, answer: &Result<Admitted, Refusal>) {
        if let Some(observer) = self {
            observer.asked(now, task, answer);
        }
    }
    fn woke(&mut self, now: Time, task: TaskId) {
        if let Some(observer) = self {
            observer.woke(now, task);
        }
    }
    fn slept(&mut self, now: Time, task: TaskId) {
        if let Some(observer) = self {
            observer.slept(now, task);
        }
    }
    fn dispatched(&mut self, now: Time, cpu: CpuId, task: Option<TaskId>) {
        if let Some(observer) = self {
            observer.dispatched(now, cpu, task);
        }
    }
    fn ran(&mut self, from: Time, to: Time, cpu: CpuId, task: TaskId) {
        if let Some(observer) = self {
            observer.ran(from, to, cpu, task);
        }
    }
    fn ended(&mut self, task: TaskId, job: &Job) {
        if let Some(observer) = self {
            observer.ended(task, job);
        }
    }
    fn unfinished(&mut self, task: TaskId, job: &Job) {
        if let Some(observer) = self {
            observer.unfinished(task, job);
        }
    }
    fn saw(&mut self, now: Time, task: TaskId, since: Time) {
        if let Some(observer) = self {
            observer.saw(now, task, since);
        }
    }
}
