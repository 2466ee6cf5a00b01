//! Exhaustive search of small systems over a few ticks: the C headers and the Rust servers decide the
//! same, and neither breaks a promise.

#[path = "support/headers.rs"]
mod headers;

use std::fmt::Write as _;

use laxity_core::{Span, Time};
use laxity_cpu::servers::{Adaptation, Exhaustion, Load, Rules, Servers, Sizing};
use laxity_cpu::{Attributes, CpuId, Nice, Policy, Reservation, Sample, TaskId, bebs, bebs_credit};
use laxity_kernel::cpu::CpuRules;

/// A tick in ns, and for how many of them a system is followed.
const TICK: u64 = 1_000_000;
const TICKS: u64 = 14;
/// Things happen at the first ones.
const EVENTFUL: std::ops::RangeInclusive<u64> = 2..=8;
/// Tasks: one reserved, two of best effort, and a reservation that comes and goes.
const TASKS: usize = 4;
const COMES: usize = 3;
/// Systems that one process of the driver is asked about.
const BATCH: usize = 4000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventKind {
    /// Wakes or blocks.
    Turns,
    /// Joins, asleep but for the reservation that comes, or leaves.
    Moves,
    Nice(i8),
    /// Blocks as soon as its budget is used up.
    BlocksExhausted,
    /// A higher class begins to wait for the CPU, or no longer does; no task's.
    HigherClass,
}

type Event = (u64, usize, EventKind);

/// Whatever may happen at a tick.
fn possible() -> Vec<(usize, EventKind)> {
    let mut all =
        vec![(0, EventKind::Turns), (0, EventKind::HigherClass), (COMES, EventKind::Moves)];
    for task in [1, 2] {
        all.extend(
            [EventKind::Turns, EventKind::Moves, EventKind::BlocksExhausted]
                .map(|what| (task, what)),
        );
    }
    all.extend([18, -20, 15].map(|nice| (1, EventKind::Nice(nice))));
    all.extend([0, 19].map(|nice| (2, EventKind::Nice(nice))));
    all
}

#[derive(Clone, Copy)]
struct Task {
    joined: bool,
    awake: bool,
    attributes: Attributes,
    blocks_exhausted: bool,
}

/// A system, and the script that asks the headers the same.
struct World {
    policy: Servers,
    now: u64,
    tasks: [Task; TASKS],
    running: Option<(TaskId, u64)>,
    higher_class: bool,
    script: Vec<u8>,
    answers: Vec<String>,
}

impl World {
    /// Those tasks are awake of which a bit is set.
    fn new(rules: &Rules, awake: u32) -> World {
        let reserved = |hundredths, ticks| {
            let r = Reservation::new(Span(hundredths * TICK / 100), Span(ticks * TICK));
            Attributes::hard(r)
        };
        let nice = |n| Attributes::best_effort(Nice::new(n).expect("a nice value"));
        let all = [reserved(300, 7), nice(18), nice(0), reserved(150, 5)];
        let task =
            |attributes| Task { joined: false, awake: false, attributes, blocks_exhausted: false };
        let mut world = World {
            policy: Servers::new(*rules),
            now: TICK,
            tasks: all.map(task),
            running: None,
            higher_class: false,
            script: Vec::new(),
            answers: Vec::new(),
        };
        world.step([10, TICK, 0, 0, 0, 0]);
        world.script.extend(CpuRules::new(rules).expect("rules of the kernel").image());
        for task in 0..COMES {
            world.happen(task, EventKind::Moves);
            if awake & 1 << task != 0 {
                world.happen(task, EventKind::Turns);
            }
        }
        world
    }

    fn step(&mut self, words: [u64; 6]) {
        self.script.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    }

    fn send(&mut self, what: u64, task: usize, rest: [u64; 3]) {
        self.step([what, self.now, task as u64, rest[0], rest[1], rest[2]]);
        let due = self.policy.next_event().map_or(u64::MAX, |t| t.0);
        let mut line = format!("s {} {due}", self.policy.best_effort().0);
        for task in 0..TASKS {
            if let Some((budget, period, deadline)) = self.policy.server_of(TaskId(task as u32)) {
                let _ = write!(line, " {} {} {}", budget.0, period.0, deadline.0);
            }
        }
        self.answers.push(line);
    }

    /// Whether it did.
    fn happen(&mut self, i: usize, what: EventKind) -> bool {
        let (now, id) = (Time(self.now), TaskId(i as u32));
        let task = &mut self.tasks[i];
        match what {
            EventKind::Turns if !task.joined => return false,
            EventKind::Turns if task.awake => {
                task.awake = false;
                self.policy.block(now, id, Span::ZERO);
                self.send(5, i, [0; 3]);
            }
            EventKind::Turns => {
                task.awake = true;
                self.policy.wake(now, id);
                self.send(4, i, [0; 3]);
            }
            EventKind::Moves if task.joined => {
                (task.joined, task.awake, task.blocks_exhausted) = (false, false, false);
                self.policy.leave(now, id, Span::ZERO);
                self.send(2, i, [0; 3]);
            }
            EventKind::Moves => {
                task.joined = true;
                let attributes = task.attributes;
                if self.policy.join(now, id, &attributes).is_err() {
                    // EventKind it had before has not come back yet.
                    return false;
                }
                match attributes.service {
                    laxity_cpu::Service::Hard(r) => self.send(0, i, [20, r.budget.0, r.period.0]),
                    _ => self.send(0, i, [attributes.nice.scale().into(), 0, 0]),
                }
                if i == COMES {
                    return self.happen(i, EventKind::Turns);
                }
            }
            EventKind::Nice(nice) => {
                let nice = Nice::new(nice).expect("a nice value");
                if !task.joined || task.attributes.nice == nice {
                    return false;
                }
                task.attributes.nice = nice;
                let attributes = task.attributes;
                self.policy.change(now, id, &attributes).expect("best effort");
                self.send(3, i, [nice.scale().into(), 0, 0]);
            }
            EventKind::HigherClass => self.higher_class = !self.higher_class,
            EventKind::BlocksExhausted if !task.awake || task.blocks_exhausted => return false,
            EventKind::BlocksExhausted => task.blocks_exhausted = true,
        }
        self.running = self.running.filter(|(running, _)| *running != id || self.tasks[i].awake);
        true
    }

    /// Time goes on to the next tick.
    fn pass(&mut self) {
        let tick = (self.now / TICK + 1) * TICK;
        while self.now < tick {
            if self.policy.next_event().is_some_and(|due| due.0 <= self.now) {
                self.policy.timer(Time(self.now));
                self.send(7, 0, [0; 3]);
            }
            let now = Time(self.now);
            let pick = match self.higher_class {
                false => self.policy.pick(now, CpuId::FIRST),
                true => self.policy.pick_reserved_first(now, CpuId::FIRST),
            };
            self.step([8, self.now, self.higher_class.into(), 0, 0, 0]);
            self.answers.push(match pick {
                Some(pick) => format!("p {} {}", pick.task.0, pick.until.0),
                None => "p idle".to_owned(),
            });
            self.running = pick.map(|p| (p.task, p.until.0));
            let due = self.policy.next_event().map_or(u64::MAX, |t| t.0);
            let until = self.running.map_or(u64::MAX, |(_, until)| until);
            let then = tick.min(due).min(until).max(self.now);
            let ran = then - self.now;
            self.now = then;
            let Some((id, until)) = self.running else { continue };
            let task = &mut self.tasks[id.index()];
            if task.blocks_exhausted && until == then {
                (task.awake, task.blocks_exhausted) = (false, false);
                self.policy.block(Time(then), id, Span(ran));
                self.send(5, id.index(), [ran, 0, 0]);
            } else {
                self.policy.ran(Time(then), id, Span(ran));
                self.send(6, id.index(), [ran, 0, 0]);
            }
        }
    }

    /// Whether all events could happen.
    fn run(&mut self, events: &[Event]) -> bool {
        let mut events = events.iter().peekable();
        while self.now < TICKS * TICK {
            while let Some((_, task, what)) = events.next_if(|(at, ..)| at * TICK == self.now) {
                if !self.happen(*task, *what) {
                    return false;
                }
            }
            self.pass();
        }
        true
    }
}

/// Systems that are asked about together.
#[derive(Default)]
struct Batch {
    script: Vec<u8>,
    answers: Vec<String>,
    /// EventKind each of them is, and how many answers there are before its own.
    systems: Vec<(String, usize)>,
    asked: usize,
}

impl Batch {
    fn add(&mut self, rules: &Rules, awake: u32, events: &[Event]) {
        let mut world = World::new(rules, awake);
        if !world.run(events) {
            return;
        }
        if self.systems.is_empty() {
            self.script.extend(CpuRules::new(rules).expect("rules of the kernel").image());
        }
        let name = format!("awake {awake:03b}, {events:?}");
        self.systems.push((name, self.answers.len()));
        self.script.append(&mut world.script);
        self.answers.append(&mut world.answers);
        if self.systems.len() == BATCH {
            self.ask();
        }
    }

    fn ask(&mut self) {
        let asked = self.asked + self.systems.len();
        let Batch { script, answers, systems, .. } =
            core::mem::replace(self, Batch { asked, ..Batch::default() });
        let kernel = match headers::try_ask("servers.c", script) {
            None => return,
            Some(Ok(kernel)) => kernel,
            Some(Err(why)) => {
                // The driver counts systems from one, the first of them has no steps.
                let which =
                    why.split("system ").nth(1).and_then(|w| w.split(':').next()?.parse().ok());
                let which = which.and_then(|n: usize| systems.get(n.checked_sub(2)?));
                panic!("{}: {why}", which.map_or("?", |(name, _)| name));
            }
        };
        for (i, (reference, kernel)) in answers.iter().zip(&kernel).enumerate() {
            let (name, first) = &systems[systems.partition_point(|(_, at)| *at <= i) - 1];
            assert_eq!(reference, kernel, "{name}, answer {}: left Rust, right C", i - first);
        }
        assert_eq!(answers.len(), kernel.len());
    }
}

fn short(rules: &Rules, change: impl FnOnce(&mut Adaptation)) -> Rules {
    let mut rules = *rules;
    if let Sizing::Adaptive(how) = &mut rules.sizing {
        *how = Adaptation {
            initial_average: Span(TICK),
            min_budget: Span(TICK / 2),
            max_budget: Span(2 * TICK),
            ..*how
        };
        change(how);
    }
    rules
}

/// Every system with up to as many events, and every n-th of those with one more.
fn explore(rules: &Rules) {
    let every =
        std::env::var("LAXITY_SEARCH_EVERY").ok().and_then(|v| v.parse().ok()).unwrap_or(97);
    let all: Vec<Event> = EVENTFUL
        .flat_map(|at| possible().into_iter().map(move |(i, what)| (at, i, what)))
        .collect();
    let (mut batch, mut count) = (Batch::default(), 0_u64);
    for awake in [0b111, 0b110, 0b011, 0b100] {
        batch.add(rules, awake, &[]);
        for a in &all {
            batch.add(rules, awake, &[*a]);
            for b in all.iter().filter(|b| b.0 >= a.0) {
                batch.add(rules, awake, &[*a, *b]);
                for c in all.iter().filter(|c| c.0 >= b.0) {
                    count += 1;
                    if count % every == 0 {
                        batch.add(rules, awake, &[*a, *b, *c]);
                    }
                }
            }
        }
    }
    batch.ask();
    println!("{} systems", batch.asked);
    assert!(batch.asked > 10_000, "{}", batch.asked);
}

/// Fails when a release is dated back beyond a rise (`lx_next_release` without it: the task whose weight is
/// raised has a deadline too early), when those that come do not wait for what leavers executed ahead
/// (`lx_wait_for_departed`: promises add up to 1.25), and when a load falls while its share is limited
/// (`lx_weight_deactivate` without `limited_until`). And when `lx_pick_reserved` picks by deadline alone, prefers
/// another on ties, or does not reset lags when no reservation is ready.
#[test]
fn small_systems_under_bebs() {
    explore(&short(bebs::new(&bebs::Options::default()).rules(), |_| ()));
}

#[test]
fn small_systems_under_bebs_credit() {
    let options = bebs_credit::Options {
        ahead: Span(3 * TICK),
        slice: Span(TICK / 2),
        wakeup_granularity: Span(TICK),
        ..Default::default()
    };
    let rules = *bebs_credit::new(&options).rules();
    explore(&short(&rules, |how| how.initial_average = Span(TICK / 4)));
}

/// Sleepers do not divide the bandwidth.
#[test]
fn small_systems_without_sleepers() {
    let options = bebs_credit::Options { ahead: Span(3 * TICK), ..Default::default() };
    let mut rules = short(bebs_credit::new(&options).rules(), |how| how.sample = Sample::State);
    rules.load = Load::Unblocked;
    rules.lapse = Span::ZERO;
    explore(&rules);
}

/// Servers that wait for their next releases run ahead too.
///
/// Fails when `lx_reanchor_deadlines` moves the end of an expired server without its key.
#[test]
fn small_systems_that_wait_and_run_ahead() {
    let mut rules =
        short(bebs::new(&bebs::Options::default()).rules(), |how| how.max_budget = Span(TICK));
    (rules.exhaustion, rules.ahead) = (Exhaustion::Suspend, Some(Span(3 * TICK)));
    explore(&rules);
}
