//! What tests and examples on CPUs share: the experiments of the paper on BeRate.
#![allow(dead_code)]

pub mod systems;

use laxity_core::{Span, Time};
use laxity_cpu::{Attributes, Nice, Policy, Reservation};
use laxity_sim::Control;
use laxity_sim::cpu::{Cost, Gap, Machine, Measure, Step, Task, Workload, run};

/// Milliseconds.
pub const fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

/// A task that computes for ever.
pub fn cpu_bound(name: &str) -> Task {
    Task::new(name, Workload::CpuBound)
}

/// How far srtsim's frames vary, and by what factor their mean is changed.
#[derive(Clone, Copy, Debug)]
pub struct Variability {
    /// Coefficient of variation of normal costs.
    pub cv: f64,
    /// Mean cost in thousandths of the one stated.
    pub scale: u64,
}

/// srtsim: `fps` frames a second that take `percent` hundredths of the CPU.
fn srtsim(fps: u64, numerator: u64, denominator: u64, v: Variability) -> Task {
    let period = 1_000_000_000 / fps;
    let mean = Span(period * numerator * v.scale / (denominator * 1000));
    Task::frames(format!("srtsim-{fps}"), Span(period), Cost::Gauss { mean, cv: v.cv })
}

/// The tasks of one row of table 1; srtsim tasks come last, and there are so many of them.
pub fn experiment(number: u32, v: Variability) -> (Vec<Task>, usize) {
    let cpu = |n: usize| vec![cpu_bound("cpu-bound"); n];
    let (mut tasks, srt) = match number {
        1 => (cpu(1), vec![srtsim(25, 1, 2, v)]),
        2 => (cpu(2), vec![srtsim(25, 1, 4, v), srtsim(25, 1, 4, v)]),
        3 => (cpu(2), vec![srtsim(25, 1, 4, v), srtsim(33, 1, 4, v)]),
        4 => (cpu(3), vec![srtsim(25, 1, 4, v)]),
        5 => {
            let nice = Attributes::best_effort(Nice::new(10).expect("in range"));
            (vec![cpu_bound("cpu-bound").with(nice)], vec![srtsim(33, 2, 3, v)])
        }
        _ => (cpu(1), vec![srtsim(25, 1, 2, v), srtsim(50, 1, 2, v)]),
    };
    let count = srt.len();
    tasks.extend(srt);
    (tasks, count)
}

/// Runs tasks on one CPU and measures them.
pub fn measure(policy: &mut impl Policy, tasks: &[Task], length: Span, seed: u64) -> Measure {
    let mut measure = Measure::new(tasks.len());
    let end = Time::ZERO + length;
    let machine = Machine::single(end, seed);
    run(policy, tasks, machine, &mut measure, &Control::default()).expect("a run to its end");
    measure.finish(end);
    measure
}

/// Per cent missed by each srtsim task of an experiment, over several seeds.
pub fn missed<P: Policy>(
    policy: impl Fn() -> P,
    number: u32,
    v: Variability,
    length: Span,
    seeds: u64,
) -> Vec<f64> {
    let (tasks, count) = experiment(number, v);
    let mut totals = vec![(0, 0); count];
    for seed in 1..=seeds {
        let m = measure(&mut policy(), &tasks, length, seed);
        for (total, t) in totals.iter_mut().zip(&m.tasks[tasks.len() - count..]) {
            total.0 += t.missed;
            total.1 += t.jobs;
        }
    }
    totals.iter().map(|(missed, jobs)| *missed as f64 * 100.0 / *jobs as f64).collect()
}

/// The tasks of figure 7(b) of the paper on BEBS: an interactive one (the last), `extra`
/// CPU-bound ones, and `hard` periodic ones of 15 % each, of 15, 30, 45, 60 ms.
pub fn figure_7b(extra: usize, hard: u64, burst: Span) -> Vec<Task> {
    let mut tasks = vec![cpu_bound("cpu-bound"); extra];
    for k in 1..=hard {
        let period = ms(15 * k);
        let budget = Span(period.0 * 15 / 100);
        tasks.push(Task::hard("hard", Reservation::new(budget, period), Cost::Fixed(budget)));
    }
    let sleep = Gap::Uniform(ms(10), ms(200));
    let burst = Cost::Fixed(burst);
    tasks.push(Task::new("interactive", Workload::Interactive { sleep, burst }));
    tasks
}

/// 2 ms in every 20 ms for a while, then all the CPU that it can get: task 1 of figure 1.
pub fn waking_for_good(after: Span) -> Task {
    let mut steps: Vec<Step> = (1..=after.0 / 20_000_000)
        .flat_map(|k| [Step::Run(ms(2)), Step::SleepUntil(ms(20 * k))])
        .collect();
    steps.push(Step::Run(ms(1_000_000)));
    Task::new("waking", Workload::Script { steps, repeat: false })
}
