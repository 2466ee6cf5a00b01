//! The next action of a task: the workloads as state machines.

use laxity_core::{Span, Time};
use laxity_cpu::TaskId;

use super::cost::CostState;
use super::task::{Late, Step, Workload};
use super::{Job, Task};
use crate::Random;

/// The next action of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Computes for so many ns, then says what comes next.
    Run(u64),
    /// Sleeps until an instant.
    Sleep(Time),
    /// Sleeps until woken.
    Await,
    /// Wakes another and continues.
    Wake(TaskId),
    /// Wakes another, if it waits now, and continues.
    Notify(TaskId),
    /// Writes a message to a buffer of some capacity and continues.
    Send(u32, u32),
    /// Reads one.
    Receive(u32),
    /// Takes a spin lock and continues.
    Lock(u32),
    /// Gives it back and continues.
    Unlock(u32),
    /// Ends.
    Exit,
}

/// Timers of a task beyond this are one.
const MOST_TIMERS: usize = 1 << 16;

/// Longer than any run.
pub(super) const FOR_EVER: u64 = u64::MAX / 4;

#[derive(Clone, Debug)]
pub(super) struct Model {
    random: Random,
    cost: CostState,
    /// The job that is being computed.
    job: Option<Job>,
    /// When the next job is, or was, to be released.
    release: Time,
    first: Option<Time>,
    step: usize,
    /// When each timer was due last.
    timers: Vec<Time>,
}

impl Model {
    pub(super) fn new(seed: u64, index: u32) -> Model {
        Model {
            random: Random::new(seed, index),
            cost: CostState::default(),
            job: None,
            release: Time::ZERO,
            first: None,
            step: 0,
            timers: Vec::new(),
        }
    }

    pub(super) fn gap(&mut self, gap: &super::Gap) -> Span {
        Span(gap.draw(&mut self.random))
    }

    /// The job that is being computed, as if it ended now.
    pub(super) fn unfinished(&mut self, now: Time) -> Option<Job> {
        self.job.take().map(|job| Job { end: now, ..job })
    }

    /// The task's action after a wake-up or after its last computation; a job that ended with
    /// it is handed to `ended`.
    pub(super) fn next(&mut self, now: Time, task: &Task, mut ended: impl FnMut(Job)) -> Action {
        let first = *self.first.get_or_insert(now);
        if let Some(job) = self.job.take() {
            ended(Job { end: now, ..job });
        }
        match &task.workload {
            Workload::CpuBound | Workload::Poller { .. } => Action::Run(FOR_EVER),
            Workload::Interactive { sleep, burst } => {
                self.step += 1;
                if self.step % 2 == 1 {
                    return Action::Sleep(now + Span(sleep.draw(&mut self.random)));
                }
                self.job = Some(Job { release: now, deadline: None, end: now });
                Action::Run(burst.draw(&mut self.cost, &mut self.random))
            }
            Workload::Frames { period, deadline, cost, late } => {
                let release =
                    if self.step == 0 { now } else { self.next_release(now, *late, *period) };
                self.step = 1;
                if release > now {
                    return Action::Sleep(release);
                }
                self.release = release + *period;
                let deadline = Some(release + *deadline);
                self.job = Some(Job { release, deadline, end: now });
                Action::Run(cost.draw(&mut self.cost, &mut self.random))
            }
            Workload::Script { steps, repeat } => {
                if self.step >= steps.len() {
                    if !*repeat || steps.is_empty() {
                        return Action::Exit;
                    }
                    self.step = 0;
                }
                let step = steps[self.step];
                self.step += 1;
                match step {
                    Step::Run(length) => Action::Run(length.0),
                    Step::Sleep(length) => Action::Sleep(now + length),
                    Step::SleepUntil(offset) => Action::Sleep(first + offset),
                    Step::Timer { timer, period, relative } => {
                        Action::Sleep(self.due(now, first, timer, period, relative))
                    }
                    Step::Await => Action::Await,
                    Step::Wake(other) => Action::Wake(other),
                    Step::Notify(other) => Action::Notify(other),
                    Step::Send { buffer, capacity } => Action::Send(buffer, capacity),
                    Step::Receive(buffer) => Action::Receive(buffer),
                    Step::SpinLock(lock) => Action::Lock(lock),
                    Step::SpinUnlock(lock) => Action::Unlock(lock),
                }
            }
        }
    }

    /// When a timer is due next.
    fn due(&mut self, now: Time, first: Time, timer: u32, period: Span, relative: bool) -> Time {
        let timer = (timer as usize).min(MOST_TIMERS);
        if self.timers.len() <= timer {
            self.timers.resize(timer + 1, first);
        }
        let due = self.timers[timer] + period;
        self.timers[timer] = if relative { due.max(now) } else { due };
        due
    }

    /// The release due now or next; `release` was planned.
    fn next_release(&self, now: Time, late: Late, period: Span) -> Time {
        let planned = self.release;
        if planned >= now || period == Span::ZERO {
            return planned;
        }
        match late {
            Late::Grid => planned,
            Late::Rephase => now,
            Late::Skip => {
                let periods = now.since(planned).0.div_ceil(period.0);
                planned + Span(period.0.saturating_mul(periods))
            }
        }
    }
}
