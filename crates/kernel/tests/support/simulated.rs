//! A recorded run as tasks of the simulator, and the order in which it gives them the CPU.
//!
//! External events are as recorded: when tasks appear, wake and go, other weights, when
//! reservations begin. How long each computes between two sleeps is what it executed then. Everything
//! else the simulator decides: it does not see which task the kernel chose.

use std::collections::HashMap;

use laxity_core::{Span, Time};
use laxity_cpu::{Attributes, GroupId, Policy, Reservation, TaskId};
use laxity_kernel::cpu::record::{Event, EventKind};
use laxity_kernel::cpu::replay;
use laxity_sim::Control;
use laxity_sim::cpu::{Change, Machine, Recording, Step, Task, Workload, run};

/// Which task had the CPU, by its index, from when to when.
pub type Slices = Vec<(u32, Time, Time)>;

/// Best effort of a weight.
pub fn weighing(weight: u32) -> Attributes {
    replay::weighing(weight).expect("a nice value")
}

/// A task from when it has a server until it leaves that.
struct Life {
    task: Task,
    slot: u32,
    /// Of the first wake-up.
    first: Option<Time>,
    awake: bool,
    executed: Span,
    steps: Vec<Step>,
    left: Option<Time>,
}

impl Life {
    fn new(event: &Event, joins: Time, attributes: Attributes) -> Life {
        let task = Task::new(event.pid.to_string(), Workload::CpuBound).with(attributes);
        Life {
            task: task.joining(joins),
            slot: event.slot.unwrap_or(u32::MAX),
            first: None,
            awake: false,
            executed: Span::ZERO,
            steps: Vec::new(),
            left: None,
        }
    }

    /// The rest of it, from then on.
    fn cut(&mut self, at: Time) {
        if let Some(last) = self.task.changes.drain(..).next_back() {
            self.task.attributes = last.attributes;
        }
        self.task.joins = at;
        self.task.phase = Span::ZERO;
        self.first = self.awake.then_some(at);
        self.executed = Span::ZERO;
        self.steps.clear();
    }

    fn sleep_until(&mut self, at: Time) {
        let Some(first) = self.first else { return };
        self.steps.push(Step::SleepUntil(at.since(first)));
    }

    fn wake(&mut self, at: Time) {
        if std::mem::replace(&mut self.awake, true) {
            return;
        }
        if self.first.is_some() {
            return self.sleep_until(at);
        }
        self.first = Some(at);
        self.task.phase = at.since(self.task.joins);
    }

    fn block(&mut self) {
        if std::mem::take(&mut self.awake) {
            // A task that blocks before it executed anything was awake all the same: a part of the run may
            // begin with the decision for it, and the simulator knows no job of no length.
            self.steps.push(Step::Run(std::mem::take(&mut self.executed).max(Span(1))));
        }
    }

    /// The task as it is to be replayed: one that never woke sleeps all the time.
    fn done(mut self, start: Time, end: Time) -> Task {
        let at = self.left.unwrap_or(end);
        self.block();
        match self.first {
            Some(_) => self.sleep_until(at),
            None => self.task.phase = at.since(self.task.joins),
        }
        self.task.joins = since(self.task.joins, start);
        for change in &mut self.task.changes {
            change.at = since(change.at, start);
        }
        Task { workload: Workload::Script { steps: self.steps, repeat: false }, ..self.task }
    }
}

/// In the time of the simulator, which begins at `start`.
fn since(at: Time, start: Time) -> Time {
    Time(at.since(start).0)
}

/// A recording of one CPU from some event on. Times count from that one.
pub struct RecordedRun {
    pub tasks: Vec<Task>,
    /// Where the kernel keeps those that were there at the start: the first ones.
    pub slots: Vec<u32>,
    /// As the kernel gave it.
    pub slices: Slices,
    /// From the end of a task's turn to the start of the next, the median of all that are short.
    pub switch: Span,
}

/// A longer pause is no switch: no task was runnable.
const SWITCH: Span = Span(50_000);

#[derive(Default)]
struct Reader {
    lives: Vec<Life>,
    of: HashMap<u32, usize>,
    reservations: HashMap<u32, (Time, Reservation)>,
    slices: Slices,
    running: Option<(usize, Time)>,
    switches: Vec<Span>,
}

impl Reader {
    /// Only those that are there go on.
    fn cut(&mut self, at: Time) {
        self.slices.clear();
        let running = self.running.take().map(|(place, _)| self.lives[place].slot);
        self.lives.retain(|life| life.left.is_none());
        self.of = (0..).zip(&self.lives).map(|(place, life)| (life.slot, place)).collect();
        self.running = running.and_then(|slot| Some((*self.of.get(&slot)?, at)));
        self.lives.iter_mut().for_each(|life| life.cut(at));
        for (since, _) in self.reservations.values_mut() {
            *since = (*since).max(at);
        }
    }

    fn begins(&mut self, event: &Event) -> Option<(Time, Attributes)> {
        match event.kind {
            EventKind::Joined { weight, .. } => Some((event.at, weighing(weight))),
            EventKind::Bound { number } => {
                let (since, reservation) = self.reservations[&number];
                Some((since, Attributes::hard(reservation).in_group(GroupId(number))))
            }
            EventKind::Reserved { number, reservation } => {
                self.reservations.insert(number, (event.at, reservation));
                None
            }
            _ => None,
        }
    }

    fn read(&mut self, event: &Event) {
        let (at, slot) = (event.at, event.slot.unwrap_or(u32::MAX));
        if let Some((joins, attributes)) = self.begins(event) {
            self.of.insert(slot, self.lives.len());
            self.lives.push(Life::new(event, joins, attributes));
        }
        let Some(place) = self.of.get(&slot).copied() else { return };
        let life = &mut self.lives[place];
        match event.kind {
            EventKind::Woke { .. } => life.wake(at),
            EventKind::Blocked => life.block(),
            EventKind::Ran { length } => life.executed = life.executed + length,
            EventKind::Weighed { weight } => {
                life.task.changes.push(Change { at, attributes: weighing(weight) });
            }
            EventKind::Left => {
                life.left = Some(at);
                self.of.remove(&slot);
            }
            EventKind::Started { .. } => {
                self.running = Some((place, at));
                let pause = self.slices.last().map_or(SWITCH, |(.., end)| at.since(*end));
                if pause < SWITCH {
                    self.switches.push(pause);
                    life.executed = life.executed + pause;
                }
            }
            EventKind::Stopped => {
                if let Some((task, from)) = self.running.take() {
                    self.slices.push((task as u32, from, at));
                }
            }
            _ => {}
        }
    }
}

/// Reads a recording from an event on, which is the first one or a decision: it reports all execution until
/// then.
pub fn recorded_run(events: &[Event], from: usize) -> RecordedRun {
    let mut reader = Reader::default();
    let start = events.get(from).map_or(Time::ZERO, |e| e.at);
    events[..from].iter().for_each(|event| reader.read(event));
    reader.cut(start);
    let slots = reader.lives.iter().map(|life| life.slot).collect();
    events[from..].iter().for_each(|event| reader.read(event));
    let end = events.last().map_or(Time::ZERO, |e| e.at);
    let Reader { lives, slices, mut switches, .. } = reader;
    switches.sort();
    let switch = switches.get(switches.len() / 2).copied().unwrap_or(Span::ZERO);
    let tasks = lives.into_iter().map(|life| life.done(start, end)).collect();
    let slices =
        slices.iter().map(|(task, from, to)| (*task, since(*from, start), since(*to, start)));
    RecordedRun { tasks, slots, slices: slices.collect(), switch }
}

/// The same tasks in the simulator.
pub fn simulated(tasks: &[Task], policy: &mut impl Policy, until: Time) -> Slices {
    let mut recording = Recording::new();
    let machine = Machine::single(until, 0);
    let ending = run(policy, tasks, machine, &mut recording, &Control::default());
    assert!(ending.as_ref().is_ok_and(|e| e.complete), "{ending:?}");
    let slices = recording.slices.into_iter();
    slices.map(|s| (s.task.0, s.from, s.to)).collect()
}

/// The time in which both gave the CPU to the same, and all in which that was so that gave it longer, in ns.
pub fn alike(reference: &Slices, kernel: &Slices) -> (u64, u64) {
    let ns = |slices: &Slices| slices.iter().map(|(_, from, to)| to.since(*from).0).sum::<u64>();
    let (mut both, mut k) = (0, 0);
    for (task, from, to) in reference {
        while kernel.get(k).is_some_and(|(.., end)| end <= from) {
            k += 1;
        }
        for (_, since, until) in
            kernel[k..].iter().take_while(|s| s.1 < *to).filter(|s| s.0 == *task)
        {
            both += (*to).min(*until).since((*from).max(*since)).0;
        }
    }
    (both, ns(reference).max(ns(kernel)))
}

/// The slices before a time.
pub fn before(mut slices: Slices, until: Time) -> Slices {
    slices.retain(|(_, from, _)| *from < until);
    if let Some((.., to)) = slices.last_mut() {
        *to = (*to).min(until);
    }
    slices
}

/// The tasks that had the CPU, one after the other, without times when none had it.
pub fn order(slices: &Slices) -> Vec<TaskId> {
    let mut order: Vec<TaskId> = slices.iter().map(|s| TaskId(s.0)).collect();
    order.dedup();
    order
}

/// How many of two orders are the same in the same order: the longest common subsequence.
pub fn common(reference: &[TaskId], kernel: &[TaskId]) -> usize {
    let mut row = vec![0usize; kernel.len() + 1];
    for a in reference {
        let mut before = 0;
        for (k, b) in kernel.iter().enumerate() {
            let above = row[k + 1];
            row[k + 1] = if a == b { before + 1 } else { above.max(row[k]) };
            before = above;
        }
    }
    row[kernel.len()]
}
