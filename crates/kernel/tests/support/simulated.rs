//! A recorded run as tasks of the simulator, and whom it gives the CPU one after the other.
//!
//! What comes from outside is as it was: when tasks appear, wake and go, other weights, when
//! reservations begin. How long each computes between two sleeps is what it executed then. Everything
//! else the simulator decides: it is never told whom the kernel chose.

use std::collections::HashMap;

use laxity_core::{Span, Time};
use laxity_cpu::{Admitted, Attributes, CpuId, Nice, Pick, Policy, Refusal, Reservation, TaskId};
use laxity_kernel::cpu::record::{Event, What};
use laxity_sim::Control;
use laxity_sim::cpu::{Change, Machine, Recording, Step, Task, Workload, run};

/// Who had the CPU from when to when: places in the list of tasks.
pub type Slices = Vec<(u32, Time, Time)>;

/// Best effort of a weight.
pub fn weighing(weight: u32) -> Attributes {
    let nice = i8::try_from(20 - i64::from(weight)).ok().and_then(Nice::new);
    Attributes::best_effort(nice.expect("a nice value"))
}

/// A task from when it has a server until it leaves that.
struct Life {
    task: Task,
    /// Of the first wake-up.
    first: Option<Time>,
    awake: bool,
    executed: Span,
    steps: Vec<Step>,
}

impl Life {
    fn new(name: String, joins: Time, attributes: Attributes) -> Life {
        let task = Task::new(name, Workload::CpuBound).with(attributes).joining(joins);
        Life { task, first: None, awake: false, executed: Span::ZERO, steps: Vec::new() }
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
            self.steps.push(Step::Run(std::mem::take(&mut self.executed)));
        }
    }

    /// The task as it is to be played: one that never woke sleeps all the time.
    fn done(mut self, at: Time) -> Task {
        self.block();
        match self.first {
            Some(_) => self.sleep_until(at),
            None => self.task.phase = at.since(self.task.joins),
        }
        Task { workload: Workload::Script { steps: self.steps, repeat: false }, ..self.task }
    }
}

/// What is read from a recording.
pub struct Played {
    pub tasks: Vec<Task>,
    /// As the kernel gave it.
    pub slices: Slices,
    /// From the end of a task's turn to the start of the next, the median of all that are short.
    pub switch: Span,
}

/// A pause that is longer is no switch: nobody had anything to do.
const SWITCH: Span = Span(50_000);

/// A policy on a CPU where a switch takes time, which is in the turn that it begins and which the
/// policy does not see.
pub struct Switching<P> {
    policy: P,
    cost: Span,
    /// Of the task that has the CPU, and what of the switch to it has not passed.
    current: Option<(TaskId, Span)>,
}

impl<P: Policy> Switching<P> {
    pub fn new(policy: P, cost: Span) -> Switching<P> {
        Switching { policy, cost, current: None }
    }

    /// What of an execution was no switch.
    fn of(&mut self, task: TaskId, ran: Span) -> Span {
        let Some((_, owed)) = self.current.as_mut().filter(|(of, _)| *of == task) else {
            return ran;
        };
        let passed = ran.min(*owed);
        *owed = Span(owed.0 - passed.0);
        Span(ran.0 - passed.0)
    }
}

impl<P: Policy> Policy for Switching<P> {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.policy.join(now, task, a)
    }
    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        let ran = self.of(task, ran);
        self.policy.leave(now, task, ran);
    }
    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.policy.change(now, task, a)
    }
    fn wake(&mut self, now: Time, task: TaskId) {
        self.policy.wake(now, task);
    }
    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        let ran = self.of(task, ran);
        self.policy.block(now, task, ran);
    }
    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        let ran = self.of(task, ran);
        self.policy.ran(now, task, ran);
    }
    fn timer(&mut self, now: Time) {
        self.policy.timer(now);
    }
    fn next_event(&self) -> Option<Time> {
        self.policy.next_event()
    }
    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        let picked = self.policy.pick(now, cpu);
        let same = |task| self.current.filter(|(before, _)| *before == task);
        self.current = picked.map(|p| same(p.task).unwrap_or((p.task, self.cost)));
        let owed = self.current.map_or(Span::ZERO, |(_, owed)| owed);
        picked.map(|p| Pick { until: p.until + owed, ..p })
    }
}

/// Reads a recording of one CPU.
pub fn played(events: &[Event]) -> Played {
    let mut lives: Vec<(Life, Option<Time>)> = Vec::new();
    let mut of: HashMap<u32, usize> = HashMap::new();
    let mut reservations: HashMap<u32, (Time, Reservation)> = HashMap::new();
    let mut slices = Slices::new();
    let mut running: Option<(u32, Time)> = None;
    let mut switches = Vec::new();
    for event in events {
        let (at, slot) = (event.at, event.slot.unwrap_or(u32::MAX));
        let begins = match event.what {
            What::Joined { weight, .. } => Some((at, weighing(weight))),
            What::Bound { number } => {
                let (since, reservation) = reservations[&number];
                Some((since, Attributes::hard(reservation)))
            }
            What::Reserved { number, reservation } => {
                reservations.insert(number, (at, reservation));
                None
            }
            _ => None,
        };
        if let Some((joins, attributes)) = begins {
            of.insert(slot, lives.len());
            lives.push((Life::new(event.pid.to_string(), joins, attributes), None));
        }
        let Some(place) = of.get(&slot).copied() else { continue };
        let (life, left) = &mut lives[place];
        match event.what {
            What::Woke => life.wake(at),
            What::Blocked => life.block(),
            What::Ran { length } => life.executed = life.executed + length,
            What::Weighed { weight } => {
                life.task.changes.push(Change { at, attributes: weighing(weight) });
            }
            What::Left => {
                *left = Some(at);
                of.remove(&slot);
            }
            What::Started { .. } => {
                running = Some((place as u32, at));
                let pause = slices.last().map_or(SWITCH, |(.., end)| at.since(*end));
                if pause < SWITCH {
                    switches.push(pause);
                    life.executed = life.executed + pause;
                }
            }
            What::Stopped => {
                if let Some((task, from)) = running.take() {
                    slices.push((task, from, at));
                }
            }
            _ => {}
        }
    }
    let end = events.last().map_or(Time::ZERO, |e| e.at);
    let tasks = lives.into_iter().map(|(life, left)| life.done(left.unwrap_or(end)));
    switches.sort();
    let switch = switches.get(switches.len() / 2).copied().unwrap_or(Span::ZERO);
    Played { tasks: tasks.collect(), slices, switch }
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

/// Of all time that either gave to anybody, the parts of a thousand in which both gave it to the same.
pub fn alike(ours: &Slices, theirs: &Slices) -> u64 {
    let ns = |slices: &Slices| slices.iter().map(|(_, from, to)| to.since(*from).0).sum::<u64>();
    let (mut both, mut k) = (0, 0);
    for (task, from, to) in ours {
        while theirs.get(k).is_some_and(|(.., end)| end <= from) {
            k += 1;
        }
        for (_, since, until) in
            theirs[k..].iter().take_while(|s| s.1 < *to).filter(|s| s.0 == *task)
        {
            both += (*to).min(*until).since((*from).max(*since)).0;
        }
    }
    both * 1000 / ns(ours).max(ns(theirs)).max(1)
}

/// Whoever had the CPU, one after the other, without interruptions by nobody.
pub fn order(slices: &Slices) -> Vec<TaskId> {
    let mut order: Vec<TaskId> = slices.iter().map(|s| TaskId(s.0)).collect();
    order.dedup();
    order
}

/// How many of two orders are the same in the same order: the longest common subsequence.
pub fn common(ours: &[TaskId], theirs: &[TaskId]) -> usize {
    let mut row = vec![0usize; theirs.len() + 1];
    for a in ours {
        let mut before = 0;
        for (k, b) in theirs.iter().enumerate() {
            let above = row[k + 1];
            row[k + 1] = if a == b { before + 1 } else { above.max(row[k]) };
            before = above;
        }
    }
    row[theirs.len()]
}
