//! Shared by tests on CPUs.
#![allow(dead_code, unused_imports)]

pub mod chains;
pub mod machines;
pub mod systems;

use laxity_core::{Span, Time};
use laxity_cpu::Policy;
use laxity_sim::Control;
pub use laxity_sim::cpu::papers::berate::{Srtsim, experiment};
pub use laxity_sim::cpu::papers::{cpu_bound, ms};
use laxity_sim::cpu::{Machine, Measure, Task, run};

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
    srtsim: Srtsim,
    length: Span,
    seeds: u64,
) -> Vec<f64> {
    let (tasks, count) = experiment(number, srtsim);
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
