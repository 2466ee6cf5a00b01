//! The C headers of the CPU scheduler and the Rust policies decide the same, event by event.

#[path = "support/headers.rs"]
mod headers;
#[path = "support/random.rs"]
mod random;
#[path = "support/recorded.rs"]
mod recorded;
#[path = "support/shown.rs"]
mod shown;

use std::fmt::Write as _;

use laxity_core::{Span, Time};
use laxity_cpu::servers::{Load, Rules, Servers};
use laxity_cpu::{
    Attributes, CpuId, GroupId, Nice, Reservation, TaskId, bebs, bebs_credit, berate,
};
use laxity_kernel::cpu::CpuRules;
use random::Random;
use shown::{BelowReservations, Shown, TASKS};

/// A run of a Rust policy, with the script that asks the headers the same.
struct Run<P> {
    policy: P,
    now: Time,
    /// Attributes of those that are there, and whether they are awake.
    tasks: [Option<(Attributes, bool)>; TASKS as usize],
    running: Option<(TaskId, Time)>,
    /// A higher class waits for the CPU.
    higher_class: bool,
    /// Without reservations, and no task leaves.
    simple: bool,
    script: Vec<u8>,
    answers: Vec<String>,
    /// How often what was tried happened.
    seen: [u32; 6],
}

impl<P: Shown> Run<P> {
    fn new(policy: P, rules: &CpuRules) -> Run<P> {
        Run {
            policy,
            now: Time(1_000_000_000),
            tasks: [None; TASKS as usize],
            running: None,
            higher_class: false,
            simple: false,
            script: rules.image(),
            answers: Vec::new(),
            seen: [0; 6],
        }
    }

    fn send(&mut self, what: u64, task: TaskId, rest: [u64; 3]) {
        for word in [what, self.now.0, task.0.into()].into_iter().chain(rest) {
            self.script.extend_from_slice(&word.to_ne_bytes());
        }
        let left = self.policy.best_effort(self.now);
        let due = self.policy.next_event().map_or(u64::MAX, |t| t.0);
        let mut line = format!("s {} {due}", left.0);
        for task in (0..TASKS).map(TaskId) {
            if let Some((budget, period, deadline)) = self.policy.of(task) {
                let _ = write!(line, " {} {} {}", budget.0, period.0, deadline.0);
            }
        }
        self.answers.push(line);
    }

    fn join(&mut self, random: &mut Random, task: TaskId) {
        let attributes = if !self.simple && random.below(3) == 0 {
            let period = random.of(&[4_000_000u64, 10_000_000, 33_333_333, 100_000_000]);
            let budget = 1 + random.below(period / 3);
            Attributes::hard(Reservation::new(Span(budget), Span(period)))
        } else {
            Attributes::best_effort(Nice::new(random.of(&[-20, -5, 0, 0, 0, 7, 19])).expect("nice"))
        };
        let attributes = match random.below(4) {
            0 if self.policy.has_groups() => attributes.in_group(GroupId(random.below(3) as u32)),
            _ => attributes,
        };
        let of_group = |a: &Attributes| a.group.is_some() && a.group == attributes.group;
        let joined = |t: &u32| self.tasks[*t as usize].is_some_and(|(a, _)| of_group(&a));
        let other = (0..TASKS).find(joined);
        if self.policy.join(self.now, task, &attributes).is_err() {
            self.seen[0] += 1;
            self.send(1, task, [u32::MAX.into(), 0, 0]);
            return;
        }
        self.tasks[task.index()] = Some((attributes, false));
        match (other, attributes.service) {
            (Some(other), _) => self.send(1, task, [other.into(), 0, 0]),
            (None, laxity_cpu::Service::Hard(r)) => {
                self.seen[1] += 1;
                self.send(0, task, [20, r.budget.0, r.period.0]);
            }
            (None, _) => self.send(0, task, [attributes.nice.scale().into(), 0, 0]),
        }
    }

    /// Something happens to a task at this instant. Of the one that runs all was reported.
    fn event(&mut self, random: &mut Random) {
        let task = TaskId(random.below(TASKS.into()) as u32);
        match (self.tasks[task.index()], random.below(20)) {
            (None, _) => self.join(random, task),
            (Some(_), 0) if !self.simple => {
                self.policy.leave(self.now, task, Span::ZERO);
                self.tasks[task.index()] = None;
                self.seen[2] += 1;
                self.send(2, task, [0; 3]);
            }
            (Some((a, awake)), 1 | 2)
                if a.group.is_none() && a.service == laxity_cpu::Service::BestEffort =>
            {
                let nice = Nice::new(random.of(&[-20, -5, 0, 7, 19])).expect("nice");
                let a = Attributes { nice, ..a };
                self.policy.change(self.now, task, &a).expect("best effort");
                self.tasks[task.index()] = Some((a, awake));
                self.seen[3] += 1;
                self.send(3, task, [nice.scale().into(), 0, 0]);
            }
            (Some((a, false)), _) => {
                let by_running = self.running.is_some() && random.below(2) == 0;
                if by_running {
                    self.policy.wake_by_running(self.now, task);
                } else {
                    self.policy.wake(self.now, task);
                }
                self.tasks[task.index()] = Some((a, true));
                self.send(4, task, [by_running.into(), 0, 0]);
            }
            (Some((a, true)), 3..8) => {
                self.policy.block(self.now, task, Span::ZERO);
                self.tasks[task.index()] = Some((a, false));
                self.send(5, task, [0; 3]);
            }
            (Some((_, true)), 8 | 9) => {
                self.policy.resume(self.now, task);
                self.send(11, task, [0; 3]);
            }
            _ => {}
        }
    }

    /// Time passes, to the next event of the policy at most.
    fn pass(&mut self, random: &mut Random) {
        let next = self.policy.next_event().unwrap_or(Time::MAX);
        let until = self.running.map_or(Time::MAX, |(_, until)| until).min(next);
        let step = match random.below(8) {
            0 => 0,
            1..4 => random.below(2_000_000),
            4..7 => random.below(20_000_000),
            _ => random.below(400_000_000),
        };
        let then = Time(self.now.0 + step).min(until.max(self.now));
        let ran = Span(then.0 - self.now.0);
        self.now = then;
        if let Some((task, _)) = self.running {
            let goes_on = random.below(6) > 0;
            let (attributes, _) = self.tasks[task.index()].expect("it runs");
            if goes_on {
                self.policy.ran(then, task, ran);
                self.send(6, task, [ran.0, 0, 0]);
            } else {
                self.policy.block(then, task, ran);
                self.tasks[task.index()] = Some((attributes, false));
                self.send(5, task, [ran.0, 0, 0]);
            }
        }
        for _ in 0..random.below(3) {
            self.event(random);
        }
        if next <= then {
            self.policy.timer(then);
            self.seen[4] += 1;
            self.send(7, TaskId(0), [0; 3]);
        }
        self.higher_class ^= random.below(8) == 0;
        self.choose_with(self.higher_class);
    }

    fn choose(&mut self) {
        self.choose_with(false);
    }

    fn choose_with(&mut self, higher_class: bool) {
        let now = self.now;
        let pick = match higher_class {
            false => self.policy.pick(now, CpuId::FIRST),
            true => self.policy.pick_reserved_first(now, CpuId::FIRST),
        };
        self.running = pick.map(|p| (p.task, p.until));
        for word in [8, now.0, higher_class.into(), 0, 0, 0] {
            self.script.extend_from_slice(&u64::to_ne_bytes(word));
        }
        self.answers.push(match pick {
            Some(pick) => format!("p {} {}", pick.task.0, pick.until.0),
            None => "p idle".to_owned(),
        });
        self.seen[5] += u32::from(pick.is_none());
    }
}

/// Rules that the kernel runs, over their options.
fn rules(random: &mut Random) -> Rules {
    let load = random.of(&[Load::Live, Load::Unblocked]);
    let mut rules = if random.below(2) == 0 {
        *bebs::new(&bebs::Options { load, ..bebs::Options::default() }).rules()
    } else {
        let ahead = random.of(&[Span(20_000_000), Span(500_000_000)]);
        *bebs_credit::new(&bebs_credit::Options { ahead, ..Default::default() }).rules()
    };
    rules.load = load;
    rules.slice = random.of(&[None, Some(Span(3_000_000)), Some(Span(100_000))]);
    rules.wakeup_granularity = random.of(&[Span::ZERO, Span(1_000_000), Span(50_000_000)]);
    rules.lapse = random.of(&[Span::ZERO, Span(3_000_000), Span(200_000_000)]);
    rules.max_period = random.of(&[None, Some(Span(30_000_000)), Some(Span(500_000_000))]);
    if let laxity_cpu::servers::Sizing::Adaptive(how) = &mut rules.sizing {
        how.hysteresis = random.of(&[0, 0, 300]);
        how.max_budget = random.of(&[Span(200_000_000), Span(100_000_000), Span(5_000_000)]);
        how.min_budget = random.of(&[Span(10_000), Span(100_000)]);
    }
    rules
}

/// A recorded thread in a run.
#[derive(Clone, Copy)]
enum Doing {
    /// Until then.
    Sleeps(u64),
    /// So much is left of its burst.
    Executes(u64),
    Ended,
}

impl<P: Shown> Run<P> {
    /// Plays threads again: they sleep and execute for as long as they did, and leave at their end.
    fn replay(&mut self, threads: &[recorded::Thread]) {
        let start = self.now.0;
        let mut bursts: Vec<_> = threads.iter().map(|t| t.bursts.iter()).collect();
        let appears = threads.iter().map(|t| Doing::Sleeps(start + t.appears));
        let mut doing: Vec<Doing> = appears.collect();
        let mut after: Vec<Option<u64>> = vec![None; threads.len()];
        for task in (0..threads.len() as u32).map(TaskId) {
            self.policy.join(self.now, task, &Attributes::default()).expect("best effort");
            self.tasks[task.index()] = Some((Attributes::default(), false));
            self.send(0, task, [20, 0, 0]);
        }
        loop {
            let wakes = doing.iter().filter_map(|d| match d {
                Doing::Sleeps(until) => Some(*until),
                _ => None,
            });
            let ends = self.running.map(|(task, until)| match doing[task.index()] {
                Doing::Executes(left) => until.0.min(self.now.0 + left),
                _ => until.0,
            });
            let due = self.policy.next_event().map(|t| t.0);
            let Some(then) = wakes.chain(ends).chain(due).min() else { return };
            let ran = then - self.now.0;
            self.now = Time(then);
            if let Some((task, _)) = self.running {
                let Doing::Executes(left) = doing[task.index()] else { unreachable!() };
                if left > ran {
                    doing[task.index()] = Doing::Executes(left - ran);
                    self.policy.ran(self.now, task, Span(ran));
                    self.send(6, task, [ran, 0, 0]);
                } else if let Some(length) = after[task.index()] {
                    doing[task.index()] = Doing::Sleeps(then + length);
                    self.policy.block(self.now, task, Span(ran));
                    self.send(5, task, [ran, 0, 0]);
                } else {
                    doing[task.index()] = Doing::Ended;
                    self.policy.leave(self.now, task, Span(ran));
                    self.send(2, task, [ran, 0, 0]);
                }
            }
            for task in (0..threads.len() as u32).map(TaskId) {
                if !matches!(doing[task.index()], Doing::Sleeps(until) if until <= then) {
                    continue;
                }
                let Some((length, sleep)) = bursts[task.index()].next() else {
                    doing[task.index()] = Doing::Ended;
                    continue;
                };
                (doing[task.index()], after[task.index()]) = (Doing::Executes(*length), *sleep);
                self.policy.wake(self.now, task);
                self.send(4, task, [0; 3]);
            }
            if due.is_some_and(|due| due <= then) {
                self.policy.timer(self.now);
                self.send(7, TaskId(0), [0; 3]);
            }
            self.choose();
        }
    }
}

impl Run<Box<dyn Shown>> {
    /// Another policy, which all tasks join now with what was learnt of them.
    fn change(&mut self, mut policy: Box<dyn Shown>, rules: &CpuRules) {
        let joined = self.tasks.iter().enumerate();
        let joined = joined.filter_map(|(i, t)| t.map(|(a, awake)| (TaskId(i as u32), a, awake)));
        for (task, attributes, _) in joined.clone() {
            policy.join(self.now, task, &attributes).expect("best effort");
            if let Some(learnt) = self.policy.execution_estimate(task) {
                policy.set_execution_estimate(task, learnt);
            }
        }
        for (task, ..) in joined.filter(|(.., awake)| *awake) {
            policy.wake(self.now, task);
        }
        self.policy = policy;
        self.send(9, TaskId(0), [0; 3]);
        self.script.extend(rules.image());
        self.choose();
    }
}

/// Whether the headers can be compiled; their answers to all of it must be those of the policy.
fn agrees<P: Shown>(run: &Run<P>, of: &str) -> bool {
    let Some(answers) = headers::ask("servers.c", run.script.clone()) else { return false };
    for (i, (reference, kernel)) in run.answers.iter().zip(&answers).enumerate() {
        let before = &run.answers[i.saturating_sub(3)..i];
        assert_eq!(reference, kernel, "{of}, answer {i}: left Rust, right C\n{before:#?}");
    }
    assert_eq!(run.answers.len(), answers.len(), "{of}");
    true
}

/// Runs as many policies as asked for on random events; each kind of event is tried.
fn agree_on_random_events<P: Shown>(runs: u64, policy: impl Fn(&mut Random) -> (P, CpuRules)) {
    let mut seen = [0; 6];
    for seed in 0..runs {
        let mut random = Random(seed);
        let (policy, rules) = policy(&mut random);
        let mut run = Run::new(policy, &rules);
        for _ in 0..1500 {
            run.pass(&mut random);
        }
        if !agrees(&run, &format!("seed {seed}, {rules:?}")) {
            return;
        }
        for (sum, n) in seen.iter_mut().zip(run.seen) {
            *sum += n;
        }
    }
    assert!(seen.iter().all(|n| *n > 100), "too few of some kind were tried: {seen:?}");
}

/// Random tasks join, wake, run, block, resume, change and leave: the same budgets, periods, deadlines and
/// next events after each event, the same picks with their ends.
///
/// Fails when a stretched period is not rounded up, a wake-up compares with `<`, a release is a
/// nanosecond late, a group does not rotate its members, ties of deadlines are served in reverse,
/// a departed server is stretched, a resumed task has no turn (tried without the effect of `lx_resume`), or, of a
/// higher class that waits, `lx_pick_reserved` picks by deadline alone, prefers another on ties, or keeps lags.
#[test]
fn headers_decide_as_the_servers() {
    agree_on_random_events(150, |random| {
        let rules = rules(random);
        (Servers::new(rules), CpuRules::new(&rules).expect("rules of the kernel"))
    });
}

fn below_reservations(options: &berate::Options) -> (BelowReservations, CpuRules) {
    let rules = CpuRules::berate(options).expect("rules of the kernel");
    (BelowReservations::new(options), rules)
}

/// The same for BeRate: the inferred needs of tasks, their deadlines, and the picks with their
/// ends.
///
/// Fails when a deadline may count from beyond the limit, when reservations do not have priority or
/// best effort does not divide what they leave, when a task counts in the load for a nanosecond too
/// long, when quanta are not cut, when a lower weight keeps the old quantum, when a quantum that
/// ends as its task blocks is no sample, or when a task that ran has no precedence among equals
/// after a reserved one.
#[test]
fn headers_decide_as_berate() {
    agree_on_random_events(150, |random| below_reservations(&berate_options(random)));
}

fn berate_options(random: &mut Random) -> berate::Options {
    let ms = Span::from_millis;
    let limits = berate::Limits {
        lapse: random.of(&[ms(5), ms(100), ms(1000)]),
        ahead: random.of(&[Span::ZERO, ms(20), ms(500)]),
        max_period: random.of(&[ms(50), ms(5000)]),
    };
    berate::Options {
        load: random.of(&[berate::LoadOf::Live, berate::LoadOf::Live, berate::LoadOf::Runnable]),
        limits: random.of(&[None, Some(limits), Some(limits)]),
        ..berate::Options::default()
    }
}

/// A change to or from BeRate acts as if all tasks joined the new policy then, with their learnt
/// averages; no other state of the old policy remains.
///
/// Fails when a change forgets the averages, or keeps a deadline, the load, or the time at which
/// all bandwidth is free.
#[test]
fn change_of_policy_restarts_servers() {
    for seed in 0..100 {
        let mut random = Random(seed);
        let servers = |random: &mut Random| -> (Box<dyn Shown>, CpuRules) {
            let rules = rules(random);
            let image = CpuRules::new(&rules).expect("rules of the kernel");
            (Box::new(Servers::new(rules)), image)
        };
        let (policy, image) = servers(&mut random);
        let mut run = Run::new(policy, &image);
        run.simple = true;
        // One after the other, so that places in the headers have the order of tasks.
        for task in (0..TASKS).map(TaskId) {
            run.join(&mut random, task);
        }
        for round in 0..20 {
            for _ in 0..60 {
                run.pass(&mut random);
            }
            let (policy, image) = match round % 3 {
                2 => servers(&mut random),
                _ => {
                    let (policy, image) = below_reservations(&berate_options(&mut random));
                    (Box::new(policy) as Box<dyn Shown>, image)
                }
            };
            run.change(policy, &image);
        }
        if !agrees(&run, &format!("seed {seed}")) {
            return;
        }
    }
}

/// The same with the behaviour of recorded threads.
///
/// Fails when a deadline of BeRate may count from beyond the limit, when its quanta are not cut,
/// and when averages are rounded up.
#[test]
fn headers_decide_as_the_policies_on_a_recording() {
    let threads = recorded::threads(TASKS as usize);
    let bursts: usize = threads.iter().map(|t| t.bursts.len()).sum();
    assert!(threads.len() == TASKS as usize && bursts > 150, "{bursts} bursts");
    let mut random = Random(0);
    for round in 0..6 {
        if round % 2 == 0 {
            let rules = rules(&mut random);
            let image = CpuRules::new(&rules).expect("rules of the kernel");
            let mut run = Run::new(Servers::new(rules), &image);
            run.replay(&threads);
            agrees(&run, &format!("{rules:?}"));
        } else {
            let options = berate_options(&mut random);
            let (policy, image) = below_reservations(&options);
            let mut run = Run::new(policy, &image);
            run.replay(&threads);
            agrees(&run, &format!("{options:?}"));
        }
    }
}
