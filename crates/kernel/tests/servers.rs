//! The C headers of CPUs and the Rust policies decide the same, event by event.

#[path = "support/headers.rs"]
mod headers;
#[path = "support/random.rs"]
mod random;

use std::fmt::Write as _;

use laxity_core::{Span, Time};
use laxity_cpu::servers::{Load, Rules, Servers};
use laxity_cpu::{
    Attributes, CpuId, GroupId, Nice, Policy as _, Reservation, TaskId, bebs, bebs_credit,
};
use laxity_kernel::cpu::CpuRules;
use random::Random;

const TASKS: u32 = 12;

/// A run of a Rust policy, with the script that asks the headers the same.
struct Run {
    servers: Servers,
    now: Time,
    /// Attributes of those that are there, and whether they are awake.
    tasks: [Option<(Attributes, bool)>; TASKS as usize],
    running: Option<(TaskId, Time)>,
    script: Vec<u8>,
    answers: Vec<String>,
    /// How often what was tried happened.
    seen: [u32; 6],
}

impl Run {
    fn new(rules: Rules) -> Run {
        let script = CpuRules::new(&rules, None).expect("rules of the kernel").image();
        Run {
            servers: Servers::new(rules),
            now: Time(1_000_000_000),
            tasks: [None; TASKS as usize],
            running: None,
            script,
            answers: Vec::new(),
            seen: [0; 6],
        }
    }

    fn tell(&mut self, what: u64, task: TaskId, rest: [u64; 3]) {
        for word in [what, self.now.0, task.0.into()].into_iter().chain(rest) {
            self.script.extend_from_slice(&word.to_ne_bytes());
        }
        let due = self.servers.next_event().map_or(u64::MAX, |t| t.0);
        let mut line = format!("s {} {due}", self.servers.best_effort().0);
        for task in (0..TASKS).map(TaskId) {
            if let Some((budget, period, deadline)) = self.servers.server_of(task) {
                let _ = write!(line, " {} {} {}", budget.0, period.0, deadline.0);
            }
        }
        self.answers.push(line);
    }

    fn join(&mut self, random: &mut Random, task: TaskId) {
        let attributes = if random.below(3) == 0 {
            let period = random.of(&[4_000_000u64, 10_000_000, 33_333_333, 100_000_000]);
            let budget = 1 + random.below(period / 3);
            Attributes::hard(Reservation::new(Span(budget), Span(period)))
        } else {
            Attributes::best_effort(Nice::new(random.of(&[-20, -5, 0, 0, 0, 7, 19])).expect("nice"))
        };
        let attributes = match random.below(4) {
            0 => attributes.in_group(GroupId(random.below(3) as u32)),
            _ => attributes,
        };
        let of_group = |a: &Attributes| a.group.is_some() && a.group == attributes.group;
        let here = |t: &u32| self.tasks[*t as usize].is_some_and(|(a, _)| of_group(&a));
        let other = (0..TASKS).find(here);
        if self.servers.join(self.now, task, &attributes).is_err() {
            self.seen[0] += 1;
            self.tell(1, task, [u32::MAX.into(), 0, 0]);
            return;
        }
        self.tasks[task.index()] = Some((attributes, false));
        match (other, attributes.service) {
            (Some(other), _) => self.tell(1, task, [other.into(), 0, 0]),
            (None, laxity_cpu::Service::Hard(r)) => {
                self.seen[1] += 1;
                self.tell(0, task, [20, r.budget.0, r.period.0]);
            }
            (None, _) => self.tell(0, task, [attributes.nice.scale().into(), 0, 0]),
        }
    }

    /// Something happens to a task at this instant. Of the one that runs all was reported.
    fn event(&mut self, random: &mut Random) {
        let task = TaskId(random.below(TASKS.into()) as u32);
        match (self.tasks[task.index()], random.below(20)) {
            (None, _) => self.join(random, task),
            (Some(_), 0) => {
                self.servers.leave(self.now, task, Span::ZERO);
                self.tasks[task.index()] = None;
                self.seen[2] += 1;
                self.tell(2, task, [0; 3]);
            }
            (Some((a, awake)), 1 | 2)
                if a.group.is_none() && a.service == laxity_cpu::Service::BestEffort =>
            {
                let nice = Nice::new(random.of(&[-20, -5, 0, 7, 19])).expect("nice");
                let a = Attributes { nice, ..a };
                self.servers.change(self.now, task, &a).expect("best effort");
                self.tasks[task.index()] = Some((a, awake));
                self.seen[3] += 1;
                self.tell(3, task, [nice.scale().into(), 0, 0]);
            }
            (Some((a, false)), _) => {
                self.servers.wake(self.now, task);
                self.tasks[task.index()] = Some((a, true));
                self.tell(4, task, [0; 3]);
            }
            (Some((a, true)), 3..8) => {
                self.servers.block(self.now, task, Span::ZERO);
                self.tasks[task.index()] = Some((a, false));
                self.tell(5, task, [0; 3]);
            }
            _ => {}
        }
    }

    /// Time passes, to the next event of the policy at most.
    fn pass(&mut self, random: &mut Random) {
        let next = self.servers.next_event().unwrap_or(Time::MAX);
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
                self.servers.ran(then, task, ran);
                self.tell(6, task, [ran.0, 0, 0]);
            } else {
                self.servers.block(then, task, ran);
                self.tasks[task.index()] = Some((attributes, false));
                self.tell(5, task, [ran.0, 0, 0]);
            }
        }
        for _ in 0..random.below(3) {
            self.event(random);
        }
        if next <= then {
            self.servers.timer(then);
            self.seen[4] += 1;
            self.tell(7, TaskId(0), [0; 3]);
        }
        let pick = self.servers.pick(then, CpuId::FIRST);
        self.running = pick.map(|p| (p.task, p.until));
        for word in [8, then.0, 0, 0, 0, 0] {
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
    if let laxity_cpu::servers::Sizing::Adaptive(how) = &mut rules.sizing {
        how.lazy = random.of(&[0, 0, 300]);
        how.most = random.of(&[Span(200_000_000), Span(100_000_000), Span(5_000_000)]);
        how.least = random.of(&[Span(10_000), Span(100_000)]);
    }
    rules
}

/// Random tasks come, wake, run, sleep, change and go: the same budgets, periods, deadlines and
/// next events after each event, the same choices and their ends.
///
/// Fails when a stretched period is not rounded up, a wake-up compares with `<`, a release is a
/// nanosecond late, a group keeps its first member, equal deadlines are served in reverse, or a
/// server that leaves is stretched.
#[test]
fn the_headers_decide_as_the_policies() {
    let mut seen = [0; 6];
    for seed in 0..150 {
        let mut random = Random(seed);
        let mut run = Run::new(rules(&mut random));
        for _ in 0..1500 {
            run.pass(&mut random);
        }
        let Some(answers) = headers::ask("servers.c", run.script.clone()) else { return };
        for (i, (ours, theirs)) in run.answers.iter().zip(&answers).enumerate() {
            assert_eq!(
                ours,
                theirs,
                "seed {seed}, answer {i}: left Rust, right C; {:?}\n{:#?}",
                run.servers.rules(),
                &run.answers[i.saturating_sub(3)..i]
            );
        }
        assert_eq!(run.answers.len(), answers.len());
        for (sum, n) in seen.iter_mut().zip(run.seen) {
            *sum += n;
        }
    }
    assert!(seen.iter().all(|n| *n > 100), "too few of some kind were tried: {seen:?}");
}
