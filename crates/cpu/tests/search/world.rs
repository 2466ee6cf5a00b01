//! A small system in whole ticks, and all that can happen to it.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use laxity_core::{Span, Time};
use laxity_cpu::{Attributes, CpuId, Policy, Service, TaskId};

use super::fold::Fold;

/// A tick in ns.
pub const TICK: u64 = 1_000_000;

/// What may happen to a task.
#[derive(Clone, Debug)]
pub struct Task {
    /// What it may ask for; the first it has in the beginning.
    choices: Vec<Attributes>,
    /// Whether it has jobs of its whole budget that must be in time.
    judged: bool,
    /// Whether it is there, and computes, from the beginning.
    here: bool,
    awake: bool,
    /// Whether it sleeps and wakes, and whether it leaves and comes.
    sleeps: bool,
    leaves: bool,
}

impl Task {
    /// Is promised its reservation, and has jobs that take all of it.
    pub fn hard(reservation: Attributes) -> Task {
        let all = Task::changing(vec![reservation]);
        Task { judged: true, leaves: false, ..all }
    }

    /// Computes whenever it is awake, sleeps, leaves, comes, and changes to whatever it may ask for.
    pub fn changing(choices: Vec<Attributes>) -> Task {
        Task { choices, judged: false, here: true, awake: false, sleeps: true, leaves: true }
    }

    /// Always computes.
    pub fn computing(choices: Vec<Attributes>) -> Task {
        Task { awake: true, sleeps: false, leaves: false, ..Task::changing(choices) }
    }

    /// Is not there yet.
    pub fn joining(choices: Vec<Attributes>) -> Task {
        Task { here: false, ..Task::changing(choices) }
    }

    /// Is not there yet, and comes to stay, asleep.
    pub fn arriving(attributes: Attributes) -> Task {
        Task { here: false, ..Task::asleep(attributes) }
    }

    /// Is there, and nothing more.
    pub fn asleep(attributes: Attributes) -> Task {
        Task { sleeps: false, leaves: false, ..Task::changing(vec![attributes]) }
    }

    /// Sleeps and wakes.
    pub fn sleeping(choices: Vec<Attributes>) -> Task {
        Task { leaves: false, ..Task::changing(choices) }
    }
}

/// What happens to a task at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Wake,
    Block,
    SleepAtEndOfBudget,
    Join,
    Leave,
    Change(usize),
}

/// Of a task at an instant.
#[derive(Clone, Debug, Hash)]
struct Now {
    choice: usize,
    here: bool,
    awake: bool,
    /// Of a job: what is left, and when it is due. Another one may begin then.
    left: u64,
    due: u64,
}

/// What a search saw.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub states: u64,
    pub jobs: u64,
    pub refused: u64,
}

/// A policy and the tasks that it serves.
#[derive(Clone)]
pub struct World<'a, P> {
    policy: P,
    cpus: u32,
    tasks: &'a [Task],
    rows: Vec<Now>,
    now: u64,
    /// By CPU: who runs, until when at most.
    running: Vec<Option<(usize, u64)>>,
    trail: Trail,
}

/// What happened, the last first: when, to whom, what. Printed when an assertion of the policy fails.
#[derive(Clone, Default)]
struct Trail(Option<Rc<(Trail, u64, usize, Event)>>);

impl Trail {
    fn push(&mut self, now: u64, task: usize, event: Event) {
        *self = Trail(Some(Rc::new((self.clone(), now, task, event))));
    }
}

impl fmt::Debug for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((before, now, task, event)) = self.0.as_deref() else { return Ok(()) };
        before.fmt(f)?;
        writeln!(f, "{now} ns, task {task}: {event:?}")
    }
}

impl<P> Drop for World<'_, P> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            FAILED.store(true, Ordering::Relaxed);
            println!("{:?}", core::mem::take(&mut self.trail));
        }
    }
}

/// Whether a search has failed. Others end then: `scripts/faults.sh` need not wait for them.
static FAILED: AtomicBool = AtomicBool::new(false);

pub fn has_failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

/// Hashes of states that were seen.
type States = HashSet<u64, BuildHasherDefault<Fold>>;

impl<'a, P: Policy + Clone + Hash> World<'a, P> {
    /// All tasks are there, asleep.
    pub fn new(mut policy: P, cpus: u32, tasks: &'a [Task]) -> World<'a, P> {
        let mut rows = Vec::new();
        for (i, task) in tasks.iter().enumerate() {
            if task.here {
                policy.join(Time(TICK), TaskId(i as u32), &task.choices[0]).expect("they fit");
            }
            rows.push(Now { choice: 0, here: task.here, awake: task.awake, left: 0, due: 0 });
        }
        for (i, _) in tasks.iter().enumerate().filter(|(_, task)| task.awake) {
            policy.wake(Time(TICK), TaskId(i as u32));
        }
        let running = vec![None; cpus as usize];
        World { policy, cpus, tasks, rows, now: TICK, running, trail: Trail::default() }
    }

    /// All that can happen within so many ticks and events.
    pub fn explore(self, events: u32, ticks: u64) -> Seen {
        let (mut seen, mut states) = (Seen::default(), States::default());
        let end = self.now + ticks * TICK;
        self.step(events, end, &mut states, &mut seen);
        seen.states = states.len() as u64;
        seen
    }

    fn key(&self, events: u32, at_tick: bool) -> u64 {
        let mut hasher = Fold::default();
        (&self.policy, &self.rows, self.now, &self.running, events, at_tick).hash(&mut hasher);
        hasher.finish()
    }

    /// At a tick, with all that was executed reported: something happens, or time goes on.
    fn step(&self, events: u32, end: u64, states: &mut States, seen: &mut Seen) {
        if has_failed() || !states.insert(self.key(events, true)) {
            return;
        }
        if events > 0 && self.now < end {
            for i in 0..self.tasks.len() {
                for event in self.possible(i) {
                    let mut next = self.clone();
                    next.trail.push(self.now, i, event);
                    next.happen(i, event, seen);
                    next.step(events - 1, end, states, seen);
                }
            }
        }
        if self.now < end {
            let mut next = self.clone();
            next.decide();
            next.pass(events, end, states, seen);
        }
    }

    fn possible(&self, i: usize) -> Vec<Event> {
        let (task, row) = (&self.tasks[i], &self.rows[i]);
        if !row.here {
            return vec![Event::Join];
        }
        let mut all = Vec::new();
        match (row.awake, task.judged) {
            (false, true) if self.now >= row.due => all.push(Event::Wake),
            (false, false) if task.sleeps => all.push(Event::Wake),
            (true, false) if task.sleeps => all.push(Event::Block),
            _ => {}
        }
        if !task.judged {
            if task.leaves {
                all.push(Event::Leave);
            }
            let others = (0..task.choices.len()).filter(|c| *c != row.choice);
            all.extend(others.map(Event::Change));
        }
        all
    }

    fn happen(&mut self, i: usize, event: Event, seen: &mut Seen) {
        let (now, id) = (Time(self.now), TaskId(i as u32));
        let (task, row) = (&self.tasks[i], &mut self.rows[i]);
        match event {
            Event::Wake => {
                self.policy.wake(now, id);
                row.awake = true;
                if let (true, Service::Hard(r)) = (task.judged, task.choices[0].service) {
                    (row.left, row.due) = (r.budget.0, self.now + r.period.0);
                    seen.jobs += 1;
                }
            }
            Event::Block | Event::SleepAtEndOfBudget => {
                self.policy.block(now, id, Span::ZERO);
                row.awake = false;
                self.stop(i);
            }
            Event::Join => match self.policy.join(now, id, &task.choices[row.choice]) {
                Ok(_) => row.here = true,
                Err(_) => seen.refused += 1,
            },
            Event::Leave => {
                self.policy.leave(now, id, Span::ZERO);
                (row.here, row.awake) = (false, false);
                self.stop(i);
            }
            Event::Change(choice) => match self.policy.change(now, id, &task.choices[choice]) {
                Ok(_) => row.choice = choice,
                Err(_) => seen.refused += 1,
            },
        }
    }

    fn stop(&mut self, i: usize) {
        for on in self.running.iter_mut().filter(|on| on.is_some_and(|(task, _)| task == i)) {
            *on = None;
        }
    }

    fn decide(&mut self) {
        let now = Time(self.now);
        if self.policy.next_event().is_some_and(|due| due <= now) {
            self.policy.timer(now);
        }
        for cpu in 0..self.cpus {
            let pick = self.policy.pick(now, CpuId(cpu));
            self.running[cpu as usize] = pick.map(|p| (p.task.index(), p.until.0));
        }
        if self.cpus == 1 && self.running[0].is_none() {
            for (row, task) in self.rows.iter().zip(self.tasks) {
                let hard = matches!(task.choices[row.choice].service, Service::Hard(_));
                assert!(!row.awake || hard, "somebody waits beside idle time: \n{:?}", self.trail);
            }
        }
    }

    /// Time goes on to the next instant at which something is decided, a tick at most. A task whose
    /// budget ends there may go to sleep exactly then.
    fn pass(mut self, events: u32, end: u64, states: &mut States, seen: &mut Seen) {
        if !states.insert(self.key(events, false)) {
            return;
        }
        let tick = (self.now / TICK + 1) * TICK;
        let due = self.policy.next_event().map_or(u64::MAX, |t| t.0);
        let ends = self.running.iter().flatten().map(|(i, until)| match self.tasks[*i].judged {
            true => (*until).min(self.now + self.rows[*i].left),
            false => *until,
        });
        let then = ends.chain([tick, due]).min().unwrap_or(tick).max(self.now);
        let ran = then - self.now;
        self.now = then;
        let mut exhausted = None;
        for (i, until) in self.running.clone().into_iter().flatten() {
            let (id, now) = (TaskId(i as u32), Time(then));
            let row = &mut self.rows[i];
            if self.tasks[i].judged {
                row.left -= ran;
                if row.left == 0 {
                    self.policy.block(now, id, Span(ran));
                    row.awake = false;
                    self.stop(i);
                    continue;
                }
            } else if until == then && self.tasks[i].sleeps && events > 0 && exhausted.is_none() {
                exhausted = Some(i);
                continue;
            }
            self.policy.ran(now, id, Span(ran));
        }
        for (row, task) in self.rows.iter().zip(self.tasks) {
            let late = task.judged && row.left > 0 && then >= row.due;
            assert!(!late, "a hard job is late at {then}: \n{:?}", self.trail);
        }
        let Some(i) = exhausted else { return self.went_on(events, end, states, seen) };
        let (id, now) = (TaskId(i as u32), Time(then));
        let mut sleeps = self.clone();
        sleeps.trail.push(then, i, Event::SleepAtEndOfBudget);
        sleeps.policy.block(now, id, Span(ran));
        sleeps.rows[i].awake = false;
        sleeps.stop(i);
        sleeps.went_on(events - 1, end, states, seen);
        self.policy.ran(now, id, Span(ran));
        self.went_on(events, end, states, seen);
    }

    fn went_on(mut self, events: u32, end: u64, states: &mut States, seen: &mut Seen) {
        if self.now % TICK == 0 {
            self.step(events, end, states, seen);
        } else {
            self.decide();
            self.pass(events, end, states, seen);
        }
    }
}
