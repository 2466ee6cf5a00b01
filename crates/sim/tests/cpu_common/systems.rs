//! Random systems of hard and best-effort tasks that come, go, sleep and change.

use std::ops::Range;
use std::panic::resume_unwind;

use laxity_core::{Span, Time};
use laxity_cpu::{Admitted, Attributes, Nice, Policy, Refusal, Reservation, Service, TaskId};
use laxity_sim::cpu::{
    Change, Cost, Ending, Gap, Job, Late, Machine, Observer, Step, Task, Workload, run,
};
use laxity_sim::{Control, Random};

/// The contents of the random systems of a test.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Whether some best-effort tasks declare budgets and periods.
    pub soft: bool,
    /// Whether hard deadlines may be shorter than periods.
    pub constrained: bool,
    /// Whether some hard tasks ask for more than they reserved, or sleep when they like.
    pub greedy: bool,
    /// How long each runs.
    pub length: Span,
}

/// A random system.
pub fn system(seed: u64, mix: Mix) -> Vec<Task> {
    let mut r = Random::new(seed, u32::MAX);
    let end = mix.length.0;
    let mut tasks = Vec::new();
    for _ in 0..r.uniform(1, 5) {
        tasks.push(hard(&mut r, mix, end));
    }
    for _ in 0..r.uniform(1, 8) {
        tasks.push(best_effort(&mut r, mix, end));
    }
    tasks
}

fn sometime(r: &mut Random, end: u64) -> Time {
    match r.uniform(0, 2) {
        0 => Time::ZERO,
        // On a grid, so that many things happen at one instant.
        1 => Time(r.uniform(0, end / 10_000_000) * 10_000_000),
        _ => Time(r.uniform(0, end)),
    }
}

fn stay(r: &mut Random, task: Task, end: u64) -> Task {
    let joins = sometime(r, end * 3 / 4);
    let leaves = (r.uniform(0, 2) == 0).then(|| joins + Span(r.uniform(1, end)));
    Task { joins, leaves, phase: Span(r.uniform(0, 1) * r.uniform(0, 50_000_000)), ..task }
}

fn hard(r: &mut Random, mix: Mix, end: u64) -> Task {
    let period = match r.uniform(0, 1) {
        0 => r.uniform(1, 40) * 5_000_000,
        _ => r.uniform(2_000_000, 150_000_000),
    };
    let budget = (period * r.uniform(2, 60) / 100).max(1_000);
    let mut reservation = Reservation::new(Span(budget), Span(period));
    if mix.constrained && r.uniform(0, 1) == 0 {
        reservation = reservation.within(Span(r.uniform(budget, period)));
    }
    let cost = match r.uniform(0, 2) {
        0 => Cost::Uniform(Span(1_000), reservation.budget),
        _ => Cost::Fixed(reservation.budget),
    };
    // Some come less often than they may.
    let most = if r.uniform(0, 2) == 0 { 15 } else { 10 };
    let distance = reservation.period.0 * r.uniform(10, most) / 10;
    let manner = if mix.greedy { r.uniform(0, 7) } else { 7 };
    let workload = match manner {
        // Those that ask for more than they reserved, or sleep when they like, have no deadlines
        // themselves, and must not cost others theirs.
        0 => Workload::CpuBound,
        1 => Workload::Interactive {
            sleep: Gap::Exponential(Span(r.uniform(100_000, period))),
            burst: Cost::Uniform(Span(1_000), Span(budget + r.uniform(1, period))),
        },
        _ => Workload::Frames {
            period: Span(distance),
            deadline: reservation.deadline,
            cost,
            late: Late::Grid,
        },
    };
    let mut task = Task::new("hard", workload).with(Attributes::hard(reservation));
    // More than it needs, for a while.
    if r.uniform(0, 3) == 0 && !reservation.is_constrained() {
        let more = Reservation {
            budget: Span((budget * r.uniform(10, 15) / 10).min(period)),
            ..reservation
        };
        for attributes in [Attributes::hard(more), Attributes::hard(reservation)] {
            task.changes.push(Change { at: sometime(r, end), attributes });
        }
        task.changes.sort_by_key(|c| c.at);
    }
    stay(r, task, end)
}

fn best_effort(r: &mut Random, mix: Mix, end: u64) -> Task {
    let nice = |r: &mut Random| match r.uniform(0, 1) {
        0 => Nice::default(),
        _ => Nice::new(r.uniform(0, 39) as i8 - 20).expect("in range"),
    };
    let workload = match r.uniform(0, 4) {
        0 | 1 => Workload::CpuBound,
        2 => Workload::Interactive {
            sleep: Gap::Exponential(Span(r.uniform(100_000, 80_000_000))),
            burst: Cost::Uniform(Span(1_000), Span(r.uniform(2_000, 20_000_000))),
        },
        3 => {
            let period = Span(r.uniform(10_000_000, 100_000_000));
            let mean = Span(period.0 * r.uniform(5, 60) / 100);
            let late = [Late::Rephase, Late::Skip, Late::Grid][r.uniform(0, 2) as usize];
            Workload::Frames { period, deadline: period, cost: Cost::Gauss { mean, cv: 0.3 }, late }
        }
        _ => {
            let steps = (0..r.uniform(1, 6)).flat_map(|_| {
                let run = Step::Run(Span(r.uniform(1, 100_000_000)));
                [run, Step::Sleep(Span(r.uniform(1, 100_000_000)))]
            });
            Workload::Script { steps: steps.collect(), repeat: true }
        }
    };
    let attributes = match r.uniform(0, 2) {
        0 if mix.soft => {
            let period = r.uniform(2_000_000, 200_000_000);
            Attributes::soft(Reservation::new(Span(period * r.uniform(2, 30) / 100), Span(period)))
        }
        _ => Attributes::best_effort(nice(r)),
    };
    let mut task = Task::new("best-effort", workload).with(attributes);
    if attributes.service == Service::BestEffort {
        for _ in 0..r.uniform(0, 3) {
            let attributes = Attributes::best_effort(nice(r));
            task.changes.push(Change { at: Time(r.uniform(0, end)), attributes });
        }
    }
    stay(r, task, end)
}

/// Counts hard jobs, and those that were late.
#[derive(Clone, Debug, Default)]
pub struct HardJobs {
    hard: Vec<bool>,
    /// Jobs that ended, or were due.
    pub jobs: u64,
    /// Jobs that ended late or not at all.
    pub late: u64,
    /// The greatest lateness in ns.
    pub worst: u64,
    /// Requests refused.
    pub refused: u64,
}

impl HardJobs {
    /// Nothing seen yet of tasks of which these are hard.
    pub fn of(hard: Vec<bool>) -> HardJobs {
        HardJobs { hard, ..HardJobs::default() }
    }
}

impl Observer for HardJobs {
    fn asked(&mut self, _: Time, _: TaskId, answer: &Result<Admitted, Refusal>) {
        self.refused += u64::from(answer.is_err());
    }

    fn ended(&mut self, task: TaskId, job: &Job) {
        if self.hard[task.index()] && job.deadline.is_some() {
            self.jobs += 1;
            self.late += u64::from(job.tardiness() > Span::ZERO);
            self.worst = self.worst.max(job.tardiness().0);
        }
    }

    fn unfinished(&mut self, task: TaskId, job: &Job) {
        if let Some(tardiness) = job.overdue() {
            if self.hard[task.index()] {
                self.jobs += 1;
                self.late += 1;
                self.worst = self.worst.max(tardiness.0);
            }
        }
    }
}

/// Totals over many systems.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Hard jobs.
    pub jobs: u64,
    /// Late ones.
    pub late: u64,
    /// Systems with a late hard job.
    pub broken: Vec<u64>,
    /// The greatest lateness in ns.
    pub worst: u64,
    /// Requests refused.
    pub refused: u64,
    /// Decisions made.
    pub decisions: u64,
}

impl Verdict {
    /// Enters one system.
    pub fn add(&mut self, seed: u64, jobs: &HardJobs, ending: Ending) {
        self.jobs += jobs.jobs;
        self.late += jobs.late;
        self.worst = self.worst.max(jobs.worst);
        self.refused += jobs.refused;
        self.decisions += ending.decisions;
        if jobs.late > 0 {
            self.broken.push(seed);
        }
    }

    /// Adds the totals over later systems.
    fn append(&mut self, mut later: Verdict) {
        self.jobs += later.jobs;
        self.late += later.late;
        self.broken.append(&mut later.broken);
        self.worst = self.worst.max(later.worst);
        self.refused += later.refused;
        self.decisions += later.decisions;
    }
}

/// Enters each seed into a verdict. Threads, as many as there are CPUs, take contiguous ranges, and totals
/// are added in order of seeds, so the verdict does not depend on their number. Of several systems that
/// panic, one in each range at most, the panic of the first is passed on.
pub fn judged(seeds: Range<u64>, enter: impl Fn(&mut Verdict, u64) + Sync) -> Verdict {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let each = seeds.end.saturating_sub(seeds.start).div_ceil(threads).max(1);
    let parts = (0..threads).map(|i| {
        let bound = |i: u64| (seeds.start + i * each).min(seeds.end);
        bound(i)..bound(i + 1)
    });
    let enter = &enter;
    std::thread::scope(|scope| {
        let running: Vec<_> = parts
            .map(|part| {
                scope.spawn(move || {
                    let mut verdict = Verdict::default();
                    part.for_each(|seed| enter(&mut verdict, seed));
                    verdict
                })
            })
            .collect();
        let mut all = Verdict::default();
        for thread in running {
            all.append(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        all
    })
}

/// Runs the systems of these seeds.
pub fn judge<P: Policy>(policy: impl Fn() -> P + Sync, seeds: Range<u64>, mix: Mix) -> Verdict {
    judged(seeds, |verdict, seed| {
        let tasks = system(seed, mix);
        let hard = |t: &Task| matches!(t.attributes.service, Service::Hard(_));
        let mut jobs = HardJobs::of(tasks.iter().map(hard).collect());
        let machine = Machine::single(Time::ZERO + mix.length, seed);
        let ending = run(&mut policy(), &tasks, machine, &mut jobs, &Control::default())
            .unwrap_or_else(|e| panic!("system {seed}: {e}"));
        verdict.add(seed, &jobs, ending);
    })
}
