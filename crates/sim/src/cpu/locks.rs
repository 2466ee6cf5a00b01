//! Locks that jobs take, and which task executes when a picked one waits.
//!
//! Each lock has a queue in order of arrival. A release hands the lock to the first waiter, so a task that waits
//! lets each other task pass at most once. Under [`LockProtocol::Inherit`] a waiter stays ready: when the policy
//! picks it, the task at the end of its chain of waits executes instead and the picked task pays (bandwidth
//! inheritance: Lamastra, Lipari, Abeni, RTSS 2001). Under [`LockProtocol::None`] a waiter sleeps.
//!
//! A task arrives at a lock when it executes, so a lock is taken at a pick; a section ends with its last instant of
//! execution. A job whose last section ends while another task pays is over when the policy next picks its own task.

use std::collections::VecDeque;

use laxity_core::Span;
use laxity_scenario::cpu::locks::{LockProtocol, LockStep, Nesting};

use super::cost::{Cost, LEAST};
use super::task::{Task, Workload};

/// A point of a job at which a section begins or ends.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Execution of the job before it.
    at: u64,
    lock: u32,
    takes: bool,
}

/// What locks know of a task.
#[derive(Clone, Debug, Default)]
struct User {
    /// Begins and ends of the sections of each job, in order.
    steps: Vec<Step>,
    /// The next of them in the current job.
    next: usize,
    /// Execution time of the current job.
    cost: u64,
    /// The lock for which it waits.
    awaits: Option<u32>,
}

#[derive(Clone, Debug, Default)]
struct Lock {
    holder: Option<u32>,
    waiters: VecDeque<u32>,
}

/// All locks of a run.
#[derive(Clone, Debug)]
pub(super) struct Locks {
    protocol: LockProtocol,
    users: Vec<User>,
    locks: Vec<Lock>,
}

/// Tasks wait for each other's locks in a circle.
#[derive(Debug)]
pub(super) struct Circle;

impl Locks {
    /// The locks of these tasks; `None` when no task takes one.
    ///
    /// # Errors
    /// The first task whose sections cross, or may not fit its jobs.
    pub(super) fn of(tasks: &[Task], protocol: LockProtocol) -> Result<Option<Locks>, u32> {
        if tasks.iter().all(|task| task.sections.is_empty()) {
            return Ok(None);
        }
        let mut users = Vec::with_capacity(tasks.len());
        for (i, task) in (0u32..).zip(tasks) {
            let steps = steps(task).ok_or(i)?;
            users.push(User { steps, ..User::default() });
        }
        let all = tasks.iter().flat_map(|task| &task.sections);
        let locks = all.map(|section| section.lock as usize + 1).max().unwrap_or(0);
        Ok(Some(Locks { protocol, users, locks: vec![Lock::default(); locks] }))
    }

    /// A task begins a job of this execution time.
    pub(super) fn begin_job(&mut self, task: u32, cost: u64) {
        let user = &mut self.users[task as usize];
        debug_assert!(user.next == 0 || user.next == user.steps.len(), "a section has no end");
        (user.next, user.cost) = (0, cost);
    }

    /// Execution up to the task's next begin or end of a section, or else the end of its job. What scheduling adds
    /// to a job comes before the job's own execution.
    pub(super) fn ahead(&self, task: u32, remaining: u64) -> u64 {
        let user = &self.users[task as usize];
        match user.steps.get(user.next) {
            Some(step) => remaining - (user.cost - step.at),
            None => remaining,
        }
    }

    /// Ends the sections of a task that end here, and hands their locks on. Returns the waiters that wake.
    pub(super) fn release_due(&mut self, task: u32, remaining: u64) -> Vec<u32> {
        debug_assert!(self.is_exclusive(task), "task {task} executes without its locks");
        let mut woken = Vec::new();
        while self.ahead(task, remaining) == 0 {
            let user = &mut self.users[task as usize];
            let Some(Step { lock, takes: false, .. }) = user.steps.get(user.next).copied() else {
                break;
            };
            user.next += 1;
            woken.extend(self.hand_on(lock));
        }
        woken
    }

    /// The task that executes when the policy picks `picked`: itself, once it has the locks of its place, or the one
    /// at the end of its chain of waits. Under [`LockProtocol::None`] a task that must wait is returned; see
    /// [`waits`](Self::waits).
    ///
    /// # Errors
    /// When the chain does not end.
    pub(super) fn resolve(
        &mut self,
        picked: u32,
        remaining: impl Fn(u32) -> u64,
    ) -> Result<u32, Circle> {
        let mut task = picked;
        // A chain without a circle has each task once.
        for _ in 0..=self.users.len() {
            self.take_due(task, remaining(task));
            match self.users[task as usize].awaits {
                Some(lock) if self.protocol == LockProtocol::Inherit => {
                    task = self.locks[lock as usize].holder.unwrap_or(task);
                }
                _ => return Ok(task),
            }
        }
        Err(Circle)
    }

    /// Whether a task waits for a lock.
    pub(super) fn waits(&self, task: u32) -> bool {
        self.users[task as usize].awaits.is_some()
    }

    /// A task leaves: it waits for nothing, and its locks go on. Returns the waiters that wake.
    pub(super) fn depart(&mut self, task: u32) -> Vec<u32> {
        let user = &mut self.users[task as usize];
        user.next = user.steps.len();
        if let Some(lock) = user.awaits.take() {
            self.locks[lock as usize].waiters.retain(|waiter| *waiter != task);
        }
        let holds = |lock: &u32| self.locks[*lock as usize].holder == Some(task);
        let held: Vec<u32> = (0..self.locks.len() as u32).filter(holds).collect();
        held.into_iter().filter_map(|lock| self.hand_on(lock)).collect()
    }

    /// Takes the locks that a task takes here, up to one for which it must wait.
    fn take_due(&mut self, task: u32, remaining: u64) {
        while self.users[task as usize].awaits.is_none() && self.ahead(task, remaining) == 0 {
            let user = &mut self.users[task as usize];
            let Some(Step { lock, takes: true, .. }) = user.steps.get(user.next).copied() else {
                return;
            };
            user.next += 1;
            let place = &mut self.locks[lock as usize];
            if place.holder.is_none() {
                place.holder = Some(task);
            } else {
                place.waiters.push_back(task);
                user.awaits = Some(lock);
            }
        }
    }

    /// Hands a lock to its first waiter, and returns it if it slept.
    fn hand_on(&mut self, lock: u32) -> Option<u32> {
        let place = &mut self.locks[lock as usize];
        place.holder = place.waiters.pop_front();
        let next = place.holder?;
        self.users[next as usize].awaits = None;
        (self.protocol == LockProtocol::None).then_some(next)
    }

    /// Whether a task waits for nothing and holds the lock of each section that it is in.
    fn is_exclusive(&self, task: u32) -> bool {
        let user = &self.users[task as usize];
        let passed = || user.steps[..user.next].iter();
        let inside = |step: &Step| {
            let same = |other: &&Step| other.lock == step.lock;
            passed().rfind(same).is_some_and(|last| last.takes)
        };
        let holds = |step: &Step| self.locks[step.lock as usize].holder == Some(task);
        user.awaits.is_none() && passed().all(|step| !inside(step) || holds(step))
    }
}

/// Begins and ends of the sections of each job, in order; `None` where they do not nest, or may not fit a job.
fn steps(task: &Task) -> Option<Vec<Step>> {
    let sections = &task.sections;
    if sections.is_empty() {
        return Some(Vec::new());
    }
    let least = least_job(&task.workload)?;
    if sections.iter().any(|s| s.hold == Span::ZERO || s.end() > least) {
        return None;
    }
    let step = |step: LockStep| {
        let LockStep { at, section, takes } = step;
        Step { at: at.0, lock: sections[section].lock, takes }
    };
    Some(Nesting::of(sections).ok()?.steps.into_iter().map(step).collect())
}

/// The shortest job of a workload; `None` where there are no jobs, or no shortest.
fn least_job(workload: &Workload) -> Option<Span> {
    let (Workload::Interactive { burst: cost, .. } | Workload::Frames { cost, .. }) = workload
    else {
        return None;
    };
    match *cost {
        Cost::Fixed(cost) | Cost::Uniform(cost, _) => Some(cost.max(Span(LEAST))),
        _ => None,
    }
}
