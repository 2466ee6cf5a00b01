//! The engine: tasks, CPUs, one policy, integer time.
//!
//! At one instant: the tasks that ran are charged; those that finished a step continue, sleep or
//! leave; then what happens outside, in the order in which it was posted; then the policy's own
//! timers; then each CPU runs the task that the policy picks.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::fmt;

use laxity_core::{Span, Time};
use laxity_cpu::{CpuId, Pick, Policy, TaskId};
use laxity_scenario::cpu::locks::LockProtocol;

use super::buffers::Buffers;
use super::locks::{Circle, Locks};
use super::model::{Action, FOR_EVER, Model};
use super::run_record::{Jobs, Log, Recorded, RowSink};
use super::{Observer, Task, Workload};
use crate::Control;

/// The machine of a run, and the run's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Number of CPUs of the policy.
    pub cpus: u32,
    /// The end of the run.
    pub until: Time,
    /// For what tasks draw.
    pub seed: u64,
    /// What scheduling adds to the work of a task after each wake-up.
    pub job_overhead: Span,
    /// What a switch adds to the work of the task to which a CPU goes, from another task or from idle.
    pub switch: Span,
    /// What a task does that meets a held lock. Tasks with locks need one CPU.
    pub locks: LockProtocol,
}

impl Machine {
    /// One CPU.
    pub fn single(until: Time, seed: u64) -> Machine {
        let locks = LockProtocol::default();
        Machine { cpus: 1, until, seed, job_overhead: Span::ZERO, switch: Span::ZERO, locks }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The last instant.
    pub time: Time,
    /// Instants at which the policy decided.
    pub decisions: u64,
    /// Whether the run completed.
    pub complete: bool,
}

/// Why a run cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineError {
    /// A task computes nothing and sleeps for no time, over and over.
    NoProgress {
        /// The task.
        task: TaskId,
        /// When.
        at: Time,
    },
    /// The policy requests decisions without end at one instant.
    EndlessDecisions {
        /// When.
        at: Time,
    },
    /// The policy picked a task that sleeps, has left, or runs on another CPU.
    BadPick {
        /// The task.
        task: TaskId,
        /// When.
        at: Time,
    },
    /// More tasks than ids.
    TooManyTasks,
    /// Tasks take locks on several CPUs.
    SharedLocks,
    /// Sections of a task cross, or may not fit its jobs.
    BadSections {
        /// The task.
        task: TaskId,
    },
    /// Tasks wait for each other's locks in a circle.
    Deadlock {
        /// The task that the policy picked.
        task: TaskId,
        /// When.
        at: Time,
    },
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::NoProgress { task, at } => write!(
                f,
                "task {} neither computes nor sleeps at {at}: give its steps some length",
                task.0
            ),
            EngineError::EndlessDecisions { at } => {
                write!(f, "the policy never stops deciding at {at}")
            }
            EngineError::BadPick { task, at } => {
                write!(f, "the policy picked task {} at {at}, which cannot run", task.0)
            }
            EngineError::TooManyTasks => write!(f, "more than {} tasks", u32::MAX - 1),
            EngineError::SharedLocks => {
                write!(f, "tasks take locks on several CPUs: simulate them on one")
            }
            EngineError::BadSections { task } => write!(
                f,
                "task {} takes locks in sections that cross or may not fit its jobs: nest them and \
                 end them within the shortest job",
                task.0
            ),
            EngineError::Deadlock { task, at } => write!(
                f,
                "task {} waits for itself at {at}: nest locks in one order in all tasks",
                task.0
            ),
        }
    }
}

impl std::error::Error for EngineError {}

/// Steps of one task, or decisions, at one instant beyond which nothing else will happen.
const MOST_STEPS: u32 = 10_000;
/// Decisions between two looks at the control.
const STRIDE: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Join(u32),
    Wake(u32),
    /// A running task wakes it.
    WakeByRunning(u32),
    /// A task that slept for a lock has it.
    Locked(u32),
    Poll(u32),
    Change(u32, u32),
    Leave(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Absent,
    Asleep,
    /// Asleep until it has a lock.
    Locking,
    Runnable,
}

struct Actor {
    presence: Presence,
    /// Of the current computation.
    remaining: u64,
    cpu: Option<u32>,
    /// Wake-ups by others that it has not slept for yet.
    wakeups: u64,
    /// Whether it sleeps until another wakes it.
    awaits: bool,
    /// What it does again before all else: it waits for a lock or a buffer.
    again: Option<Action>,
    /// An event that a poller has not seen.
    unseen: Option<Time>,
    model: Model,
}

#[derive(Clone, Copy)]
struct Running {
    /// The task that the policy picked and charges.
    task: u32,
    /// The task that executes: another one, if the picked one waits for its lock.
    executes: u32,
    since: Time,
    until: Time,
}

struct Engine<'a, P, O> {
    policy: &'a mut P,
    observer: &'a mut O,
    tasks: &'a [Task],
    actors: Vec<Actor>,
    running: Vec<Option<Running>>,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    posted: u64,
    unseen: usize,
    job_overhead: u64,
    switch: u64,
    /// Spin locks that are held.
    held: BTreeSet<u32>,
    buffers: Buffers,
    /// `None` when no task has locks.
    locks: Option<Locks>,
}

/// Simulates `tasks` under `policy`. Task ids are the places in `tasks`.
///
/// # Errors
/// When a task or the policy stops making progress, or the policy picks what cannot run.
pub fn run<P: Policy, O: Observer>(
    policy: &mut P,
    tasks: &[Task],
    machine: Machine,
    observer: &mut O,
    control: &Control,
) -> Result<Ending, EngineError> {
    if u32::try_from(tasks.len()).map_or(true, |n| n == u32::MAX) {
        return Err(EngineError::TooManyTasks);
    }
    let locks = Locks::of(tasks, machine.locks)
        .map_err(|task| EngineError::BadSections { task: TaskId(task) })?;
    if locks.is_some() && machine.cpus > 1 {
        return Err(EngineError::SharedLocks);
    }
    let actor = |i: usize| Actor {
        presence: Presence::Absent,
        remaining: 0,
        cpu: None,
        wakeups: 0,
        awaits: false,
        again: None,
        unseen: None,
        model: Model::new(machine.seed, i as u32),
    };
    let mut engine = Engine {
        policy,
        observer,
        tasks,
        actors: (0..tasks.len()).map(actor).collect(),
        running: vec![None; machine.cpus.max(1) as usize],
        events: BinaryHeap::with_capacity(2 * tasks.len()),
        posted: 0,
        unseen: 0,
        job_overhead: machine.job_overhead.0,
        switch: machine.switch.0,
        held: BTreeSet::new(),
        buffers: Buffers::default(),
        locks,
    };
    for (i, task) in tasks.iter().enumerate() {
        engine.post(task.joins, Event::Join(i as u32));
    }
    engine.play(machine.until, control)
}

/// The same, with a record of the run ([`RowSink`]).
///
/// # Errors
/// As [`run`].
pub fn run_recorded<P: Policy, O: Observer>(
    policy: &mut P,
    tasks: &[Task],
    machine: Machine,
    observer: &mut O,
    sink: RowSink<'_>,
    control: &Control,
) -> Result<Ending, EngineError> {
    let log = RefCell::new(Log::new(machine.cpus, sink));
    let mut both = (observer, Jobs(&log));
    let ending = run(&mut Recorded::new(policy, &log), tasks, machine, &mut both, control)?;
    log.borrow_mut().finish(ending.time);
    Ok(ending)
}

impl<P: Policy, O: Observer> Engine<'_, P, O> {
    fn play(&mut self, end: Time, control: &Control) -> Result<Ending, EngineError> {
        let mut ending = Ending::default();
        let mut at_once = 0;
        loop {
            let next = self.next_instant(ending.time);
            let now = next.unwrap_or(end).min(end);
            at_once = if now > ending.time { 0 } else { at_once + 1 };
            if at_once > MOST_STEPS {
                return Err(EngineError::EndlessDecisions { at: now });
            }
            ending.time = now;
            for cpu in 0..self.running.len() {
                self.book(now, cpu)?;
            }
            if now >= end {
                ending.complete = true;
                for task in 0..self.actors.len() {
                    self.abandon(now, task as u32);
                }
                return Ok(ending);
            }
            while let Some(Reverse((_, _, event))) = self.events.peek().filter(|e| e.0.0 <= now) {
                let event = *event;
                self.events.pop();
                self.happen(now, event)?;
            }
            if self.policy.next_event().is_some_and(|at| at <= now) {
                self.policy.timer(now);
            }
            self.decide(now)?;
            ending.decisions += 1;
            if ending.decisions % STRIDE == 0 && control.stopped() {
                return Ok(ending);
            }
        }
    }

    fn post(&mut self, at: Time, event: Event) {
        self.events.push(Reverse((at, self.posted, event)));
        self.posted += 1;
    }

    fn next_instant(&self, now: Time) -> Option<Time> {
        let outside = self.events.peek().map(|e| e.0.0);
        let inside = self.policy.next_event();
        let ends = self.running.iter().flatten().map(|r| {
            let remaining = self.actors[r.executes as usize].remaining;
            let ahead = match &self.locks {
                None => remaining,
                Some(locks) => locks.ahead(r.executes, remaining),
            };
            (r.since + Span(ahead)).min(r.until)
        });
        ends.chain(outside).chain(inside).min().map(|at| at.max(now))
    }

    /// Books what a CPU did until now.
    fn book(&mut self, now: Time, cpu: usize) -> Result<(), EngineError> {
        let Some(running) = &mut self.running[cpu] else { return Ok(()) };
        let Running { task, executes, since: from, .. } = *running;
        running.since = now;
        let ran = now.since(from);
        let id = TaskId(task);
        if ran > Span::ZERO {
            self.observer.ran(from, now, CpuId(cpu as u32), TaskId(executes));
        }
        let actor = &mut self.actors[executes as usize];
        // Less than it ran when the lock for which it spins became free at this instant.
        actor.remaining = actor.remaining.saturating_sub(ran.0);
        let remaining = actor.remaining;
        if self.locks.is_some() && self.book_locks(now, (task, executes), ran) {
            return Ok(());
        }
        // Where another task pays, the job ends when the policy picks its own.
        if remaining > 0 || executes != task {
            if ran > Span::ZERO {
                self.policy.ran(now, id, ran);
            }
            return Ok(());
        }
        match self.step(now, task)? {
            Action::Sleep(until) => {
                self.policy.block(now, id, ran);
                self.stop(now, task, Presence::Asleep);
                self.post(until, Event::Wake(task));
            }
            Action::Await => {
                self.policy.block(now, id, ran);
                self.stop(now, task, Presence::Asleep);
            }
            Action::Exit => {
                self.policy.leave(now, id, ran);
                self.stop(now, task, Presence::Absent);
            }
            _ => self.policy.ran(now, id, ran),
        }
        Ok(())
    }

    /// The sections that end here, and whether the picked task sleeps for a lock now.
    fn book_locks(&mut self, now: Time, (task, executes): (u32, u32), ran: Span) -> bool {
        let Some(locks) = &mut self.locks else { return false };
        if executes == task && locks.waits(task) {
            self.policy.block(now, TaskId(task), ran);
            self.stop(now, task, Presence::Locking);
            return true;
        }
        let woken = locks.release_due(executes, self.actors[executes as usize].remaining);
        woken.into_iter().for_each(|waiter| self.post(now, Event::Locked(waiter)));
        false
    }

    /// The next action of a task; an answer `Run` has been entered.
    fn step(&mut self, now: Time, task: u32) -> Result<Action, EngineError> {
        for _ in 0..MOST_STEPS {
            let actor = &mut self.actors[task as usize];
            let observer = &mut *self.observer;
            let action = match actor.again.take() {
                Some(action) => action,
                None => actor.model.next(now, &self.tasks[task as usize], |job| {
                    observer.ended(TaskId(task), &job);
                }),
            };
            match action {
                Action::Run(0) => {}
                Action::Sleep(until) if until <= now => {}
                Action::Await if actor.wakeups > 0 => actor.wakeups -= 1,
                Action::Await => {
                    actor.awaits = true;
                    return Ok(action);
                }
                Action::Wake(other) => {
                    if !self.notify(now, other, task) {
                        self.store_wakeup(other);
                    }
                }
                Action::Notify(other) => {
                    self.notify(now, other, task);
                }
                Action::Lock(lock) if self.held.insert(lock) => {}
                Action::Lock(_) => {
                    (actor.again, actor.remaining) = (Some(action), FOR_EVER);
                    return Ok(action);
                }
                Action::Unlock(lock) => self.unlock(lock),
                Action::Send(buffer, capacity) => {
                    let woken = self.buffers.send(buffer, capacity, task);
                    if !self.passed(now, (task, action), woken) {
                        return Ok(Action::Await);
                    }
                }
                Action::Receive(buffer) => {
                    let woken = self.buffers.receive(buffer, task);
                    if !self.passed(now, (task, action), woken) {
                        return Ok(Action::Await);
                    }
                }
                Action::Run(length) => {
                    actor.remaining = length;
                    if let Some(locks) = &mut self.locks {
                        locks.begin_job(task, length);
                    }
                    return Ok(action);
                }
                _ => return Ok(action),
            }
        }
        Err(EngineError::NoProgress { task: TaskId(task), at: now })
    }

    /// Wakes a task that waits for others; says whether it did.
    fn notify(&mut self, now: Time, other: TaskId, waker: u32) -> bool {
        let runs = self.actors[waker as usize].presence == Presence::Runnable;
        let actor = self.actors.get_mut(other.index());
        let waited = actor.is_some_and(|actor| std::mem::take(&mut actor.awaits));
        if waited {
            let wake = if runs { Event::WakeByRunning } else { Event::Wake };
            self.post(now, wake(other.0));
        }
        waited
    }

    /// A wake-up for a task's next sleep of that kind.
    fn store_wakeup(&mut self, task: TaskId) {
        if let Some(actor) = self.actors.get_mut(task.index()) {
            actor.wakeups += 1;
        }
    }

    /// A task passes a message, which wakes others, or sleeps until it can; says whether it passed one.
    fn passed(
        &mut self,
        now: Time,
        (task, action): (u32, Action),
        woken: Option<Vec<u32>>,
    ) -> bool {
        let Some(woken) = woken else {
            let actor = &mut self.actors[task as usize];
            (actor.again, actor.awaits) = (Some(action), true);
            return false;
        };
        for other in woken {
            self.notify(now, TaskId(other), task);
        }
        true
    }

    /// Those that spin for a lock try again when they run next.
    fn unlock(&mut self, lock: u32) {
        self.held.remove(&lock);
        for actor in self.actors.iter_mut().filter(|actor| actor.again == Some(Action::Lock(lock)))
        {
            actor.remaining = 0;
        }
    }

    /// Reports the job that a task had begun when it left or the run ended.
    fn abandon(&mut self, now: Time, task: u32) {
        if let Some(job) = self.actors[task as usize].model.unfinished(now) {
            self.observer.unfinished(TaskId(task), &job);
        }
    }

    /// A task sleeps or has left.
    fn stop(&mut self, now: Time, task: u32, presence: Presence) {
        let actor = &mut self.actors[task as usize];
        if actor.presence == Presence::Runnable {
            self.observer.slept(now, TaskId(task));
        }
        actor.presence = presence;
        self.unseen -= usize::from(actor.unseen.take().is_some());
        if let Some(cpu) = actor.cpu.take() {
            self.running[cpu as usize] = None;
        }
        if let (Presence::Absent, Some(locks)) = (presence, &mut self.locks) {
            let woken = locks.depart(task);
            woken.into_iter().for_each(|waiter| self.post(now, Event::Locked(waiter)));
        }
    }

    fn happen(&mut self, now: Time, event: Event) -> Result<(), EngineError> {
        match event {
            Event::Join(task) => self.join(now, task),
            Event::Wake(task) => return self.wake(now, task, P::wake),
            Event::WakeByRunning(task) => return self.wake(now, task, P::wake_by_running),
            Event::Locked(task) => {
                let actor = &mut self.actors[task as usize];
                if actor.presence == Presence::Locking {
                    actor.presence = Presence::Runnable;
                    self.observer.woke(now, TaskId(task));
                    self.policy.wake(now, TaskId(task));
                }
            }
            Event::Poll(task) => {
                let actor = &mut self.actors[task as usize];
                if actor.presence == Presence::Runnable {
                    self.unseen += usize::from(actor.unseen.replace(now).is_none());
                }
            }
            Event::Change(task, index) => {
                if self.actors[task as usize].presence != Presence::Absent {
                    let attributes = &self.tasks[task as usize].changes[index as usize].attributes;
                    let answer = self.policy.change(now, TaskId(task), attributes);
                    self.observer.asked(now, TaskId(task), &answer);
                }
            }
            Event::Leave(task) => {
                if self.actors[task as usize].presence != Presence::Absent {
                    self.abandon(now, task);
                    self.policy.leave(now, TaskId(task), Span::ZERO);
                    self.stop(now, task, Presence::Absent);
                }
            }
        }
        Ok(())
    }

    fn join(&mut self, now: Time, task: u32) {
        let config = &self.tasks[task as usize];
        let answer = self.policy.join(now, TaskId(task), &config.attributes);
        self.observer.asked(now, TaskId(task), &answer);
        let Ok(admitted) = answer else { return };
        self.actors[task as usize].presence = Presence::Asleep;
        self.post(admitted.from.max(now) + config.phase, Event::Wake(task));
        for (i, change) in config.changes.iter().enumerate() {
            self.post(change.at.max(now), Event::Change(task, i as u32));
        }
        if let Some(leaves) = config.leaves {
            self.post(leaves.max(now), Event::Leave(task));
        }
    }

    fn wake(
        &mut self,
        now: Time,
        task: u32,
        report: fn(&mut P, Time, TaskId),
    ) -> Result<(), EngineError> {
        if self.actors[task as usize].presence != Presence::Asleep {
            return Ok(());
        }
        match self.step(now, task)? {
            Action::Sleep(until) => self.post(until, Event::Wake(task)),
            Action::Await => {}
            Action::Exit => {
                self.policy.leave(now, TaskId(task), Span::ZERO);
                self.stop(now, task, Presence::Absent);
            }
            _ => {
                let actor = &mut self.actors[task as usize];
                actor.presence = Presence::Runnable;
                actor.remaining = actor.remaining.saturating_add(self.job_overhead);
                self.observer.woke(now, TaskId(task));
                report(self.policy, now, TaskId(task));
                if let Workload::Poller { gap } = &self.tasks[task as usize].workload {
                    let after = self.actors[task as usize].model.gap(gap);
                    self.post(now + after, Event::Poll(task));
                }
            }
        }
        Ok(())
    }

    fn decide(&mut self, now: Time) -> Result<(), EngineError> {
        for cpu in 0..self.running.len() {
            let pick = self.policy.pick(now, CpuId(cpu as u32));
            let executes = pick.map(|pick| self.executes(now, pick.task)).transpose()?;
            let before = self.running[cpu];
            if before.map(|r| r.task) != pick.map(|p| p.task.0) {
                if let Some(Running { task, .. }) = before {
                    // Unless another CPU picked it in the same decision.
                    let actor = &mut self.actors[task as usize];
                    actor.cpu = actor.cpu.filter(|c| *c != cpu as u32);
                }
            }
            if before.map(|r| r.executes) != executes {
                self.observer.dispatched(now, CpuId(cpu as u32), executes.map(TaskId));
                if let Some(executes) = executes {
                    let actor = &mut self.actors[executes as usize];
                    actor.remaining = actor.remaining.saturating_add(self.switch);
                }
            }
            self.running[cpu] = None;
            let (Some(Pick { task, until }), Some(executes)) = (pick, executes) else { continue };
            let bad = EngineError::BadPick { task, at: now };
            let actor = &mut self.actors[task.index()];
            if let Some(other) = actor.cpu.replace(cpu as u32).filter(|c| *c != cpu as u32) {
                if (other as usize) < cpu {
                    return Err(bad);
                }
                self.running[other as usize] = None;
            }
            // A task that sleeps for a lock ran up to here.
            let sleeps =
                executes == task.0 && self.locks.as_ref().is_some_and(|l| l.waits(executes));
            let until = if sleeps { now } else { until };
            self.running[cpu] = Some(Running { task: task.0, executes, since: now, until });
        }
        if self.unseen > 0 {
            self.look(now);
        }
        Ok(())
    }

    /// The task that executes when the policy picks `task`.
    fn executes(&mut self, now: Time, task: TaskId) -> Result<u32, EngineError> {
        let actor = self.actors.get(task.index());
        if actor.is_none_or(|actor| actor.presence != Presence::Runnable) {
            return Err(EngineError::BadPick { task, at: now });
        }
        let Some(locks) = &mut self.locks else { return Ok(task.0) };
        let remaining = |task: u32| self.actors[task as usize].remaining;
        let end = locks.resolve(task.0, remaining);
        end.map_err(|Circle| EngineError::Deadlock { task, at: now })
    }

    /// Pollers that run see what has come.
    fn look(&mut self, now: Time) {
        for cpu in 0..self.running.len() {
            let Some(Running { executes: task, .. }) = self.running[cpu] else { continue };
            let actor = &mut self.actors[task as usize];
            let Some(since) = actor.unseen.take() else { continue };
            self.unseen -= 1;
            self.observer.saw(now, TaskId(task), since);
            if let Workload::Poller { gap } = &self.tasks[task as usize].workload {
                let after = actor.model.gap(gap);
                self.post(now + after, Event::Poll(task));
            }
        }
    }
}
