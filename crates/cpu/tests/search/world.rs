//! A small system in whole ticks, and all its possible events.

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

/// The possible behaviour of a task.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its possible attributes; the first are the initial ones.
    choices: Vec<Attributes>,
    /// Whether it has jobs of its whole budget, whose deadlines are checked.
    checked: bool,
    /// Whether it has joined, and is awake, from the beginning.
    joined: bool,
    awake: bool,
    /// Whether it sleeps and wakes, and whether it leaves and joins.
    sleeps: bool,
    leaves: bool,
}

impl Task {
    /// Has a hard reservation, and jobs that use all of it.
    pub fn hard(reservation: Attributes) -> Task {
        let all = Task::changing(vec![reservation]);
        Task { checked: true, leaves: false, ..all }
    }

    /// Computes whenever it is awake; sleeps, leaves, joins, and changes its attributes.
    pub fn changing(choices: Vec<Attributes>) -> Task {
        Task { choices, checked: false, joined: true, awake: false, sleeps: true, leaves: true }
    }

    /// Always computes.
    pub fn computing(choices: Vec<Attributes>) -> Task {
        Task { awake: true, sleeps: false, leaves: false, ..Task::changing(choices) }
    }

    /// Joins during the search.
    pub fn joining(choices: Vec<Attributes>) -> Task {
        Task { joined: false, ..Task::changing(choices) }
    }

    /// Joins during the search and stays, asleep.
    pub fn arriving(attributes: Attributes) -> Task {
        Task { joined: false, ..Task::asleep(attributes) }
    }

    /// Has joined and stays asleep.
    pub fn asleep(attributes: Attributes) -> Task {
        Task { sleeps: false, leaves: false, ..Task::changing(vec![attributes]) }
    }

    /// Sleeps and wakes.
    pub fn sleeping(choices: Vec<Attributes>) -> Task {
        Task { leaves: false, ..Task::changing(choices) }
    }
}

/// An event of a task at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Wake,
    Block,
    SleepAtEndOfBudget,
    Join,
    Leave,
    Change(usize),
    /// A higher class begins to wait for the CPU, or no longer does.
    HigherClass,
}

/// The state of a task.
#[derive(Clone, Debug, Hash)]
struct TaskState {
    choice: usize,
    joined: bool,
    awake: bool,
    /// The remaining work of the job, and its deadline, from which the next job may be released.
    left: u64,
    due: u64,
}

/// The counts of a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
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
    rows: Vec<TaskState>,
    now: u64,
    /// By CPU: the running task, and the latest time of the next pick.
    running: Vec<Option<(usize, u64)>>,
    /// Whether a higher class waits; it takes nothing.
    higher_class: bool,
    /// Whether that may change.
    has_higher_class: bool,
    history: History,
}

/// The history of events, the last first: time, task and event. Printed when an assertion fails.
#[derive(Clone, Default)]
struct History(Option<Rc<(History, u64, usize, Event)>>);

impl History {
    fn push(&mut self, now: u64, task: usize, event: Event) {
        *self = History(Some(Rc::new((self.clone(), now, task, event))));
    }
}

impl fmt::Debug for History {
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
            println!("{:?}", core::mem::take(&mut self.history));
        }
    }
}

/// Whether a search has failed. The others then end early, for `scripts/faults.sh`.
static FAILED: AtomicBool = AtomicBool::new(false);

pub fn has_failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

/// Hashes of visited states.
type States = HashSet<u64, BuildHasherDefault<Fold>>;

impl<'a, P: Policy + Clone + Hash> World<'a, P> {
    /// The initial state of all tasks.
    pub fn new(mut policy: P, cpus: u32, tasks: &'a [Task]) -> World<'a, P> {
        let mut rows = Vec::new();
        for (i, task) in tasks.iter().enumerate() {
            if task.joined {
                policy.join(Time(TICK), TaskId(i as u32), &task.choices[0]).expect("they fit");
            }
            rows.push(TaskState {
                choice: 0,
                joined: task.joined,
                awake: task.awake,
                left: 0,
                due: 0,
            });
        }
        for (i, _) in tasks.iter().enumerate().filter(|(_, task)| task.awake) {
            policy.wake(Time(TICK), TaskId(i as u32));
        }
        let running = vec![None; cpus as usize];
        World {
            policy,
            cpus,
            tasks,
            rows,
            now: TICK,
            running,
            higher_class: false,
            has_higher_class: false,
            history: History::default(),
        }
    }

    /// A higher class comes and goes.
    pub fn with_higher_class(mut self) -> World<'a, P> {
        self.has_higher_class = true;
        self
    }

    /// Explores all sequences of at most `events` events within `ticks` ticks.
    pub fn explore(self, events: u32, ticks: u64) -> Counts {
        let (mut seen, mut states) = (Counts::default(), States::default());
        let end = self.now + ticks * TICK;
        self.step(events, end, &mut states, &mut seen);
        seen.states = states.len() as u64;
        seen
    }

    fn key(&self, events: u32, at_tick: bool) -> u64 {
        let mut hasher = Fold::default();
        (&self.policy, &self.rows, self.now, &self.running, events, at_tick).hash(&mut hasher);
        self.higher_class.hash(&mut hasher);
        hasher.finish()
    }

    /// Explores from a tick, with all execution reported: an event occurs, or time advances.
    fn step(&self, events: u32, end: u64, states: &mut States, seen: &mut Counts) {
        if has_failed() || !states.insert(self.key(events, true)) {
            return;
        }
        if events > 0 && self.now < end {
            for i in 0..self.tasks.len() {
                for event in self.possible_events(i) {
                    let mut next = self.clone();
                    next.history.push(self.now, i, event);
                    next.apply(i, event, seen);
                    next.step(events - 1, end, states, seen);
                }
            }
            if self.has_higher_class {
                let mut next = self.clone();
                next.history.push(self.now, 0, Event::HigherClass);
                next.higher_class = !next.higher_class;
                next.step(events - 1, end, states, seen);
            }
        }
        if self.now < end {
            let mut next = self.clone();
            next.pick_all();
            next.advance(events, end, states, seen);
        }
    }

    fn possible_events(&self, i: usize) -> Vec<Event> {
        let (task, row) = (&self.tasks[i], &self.rows[i]);
        if !row.joined {
            return vec![Event::Join];
        }
        let mut all = Vec::new();
        match (row.awake, task.checked) {
            (false, true) if self.now >= row.due => all.push(Event::Wake),
            (false, false) if task.sleeps => all.push(Event::Wake),
            (true, false) if task.sleeps => all.push(Event::Block),
            _ => {}
        }
        if !task.checked {
            if task.leaves {
                all.push(Event::Leave);
            }
            let others = (0..task.choices.len()).filter(|c| *c != row.choice);
            all.extend(others.map(Event::Change));
        }
        all
    }

    fn apply(&mut self, i: usize, event: Event, seen: &mut Counts) {
        let (now, id) = (Time(self.now), TaskId(i as u32));
        let (task, row) = (&self.tasks[i], &mut self.rows[i]);
        match event {
            Event::Wake => {
                self.policy.wake(now, id);
                row.awake = true;
                if let (true, Service::Hard(r)) = (task.checked, task.choices[0].service) {
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
                Ok(_) => row.joined = true,
                Err(_) => seen.refused += 1,
            },
            Event::Leave => {
                self.policy.leave(now, id, Span::ZERO);
                (row.joined, row.awake) = (false, false);
                self.stop(i);
            }
            Event::Change(choice) => match self.policy.change(now, id, &task.choices[choice]) {
                Ok(_) => row.choice = choice,
                Err(_) => seen.refused += 1,
            },
            Event::HigherClass => {}
        }
    }

    fn stop(&mut self, i: usize) {
        for on in self.running.iter_mut().filter(|on| on.is_some_and(|(task, _)| task == i)) {
            *on = None;
        }
    }

    fn pick_all(&mut self) {
        let now = Time(self.now);
        if self.policy.next_event().is_some_and(|due| due <= now) {
            self.policy.timer(now);
        }
        for cpu in 0..self.cpus {
            let pick = match self.higher_class {
                false => self.policy.pick(now, CpuId(cpu)),
                true => self.policy.pick_reserved_first(now, CpuId(cpu)),
            };
            self.running[cpu as usize] = pick.map(|p| (p.task.index(), p.until.0));
        }
        if self.cpus == 1 && self.running[0].is_none() {
            for (row, task) in self.rows.iter().zip(self.tasks) {
                let hard = matches!(task.choices[row.choice].service, Service::Hard(_));
                assert!(
                    !row.awake || hard,
                    "a task waits while the CPU is idle: \n{:?}",
                    self.history
                );
            }
        }
    }

    /// Advances time to the next decision, at most a tick. A task whose budget ends there may block at
    /// exactly that instant.
    fn advance(mut self, events: u32, end: u64, states: &mut States, seen: &mut Counts) {
        if !states.insert(self.key(events, false)) {
            return;
        }
        let tick = (self.now / TICK + 1) * TICK;
        let due = self.policy.next_event().map_or(u64::MAX, |t| t.0);
        let ends = self.running.iter().flatten().map(|(i, until)| match self.tasks[*i].checked {
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
            if self.tasks[i].checked {
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
            let late = task.checked && row.left > 0 && then >= row.due;
            assert!(!late, "a hard job is late at {then}: \n{:?}", self.history);
        }
        let Some(i) = exhausted else { return self.resume(events, end, states, seen) };
        let (id, now) = (TaskId(i as u32), Time(then));
        let mut sleeps = self.clone();
        sleeps.history.push(then, i, Event::SleepAtEndOfBudget);
        sleeps.policy.block(now, id, Span(ran));
        sleeps.rows[i].awake = false;
        sleeps.stop(i);
        sleeps.resume(events - 1, end, states, seen);
        self.policy.ran(now, id, Span(ran));
        self.resume(events, end, states, seen);
    }

    fn resume(mut self, events: u32, end: u64, states: &mut States, seen: &mut Counts) {
        if self.now % TICK == 0 {
            self.step(events, end, states, seen);
        } else {
            self.pick_all();
            self.advance(events, end, states, seen);
        }
    }
}
