//! Numbers of a run.

use laxity_core::Time;
use laxity_cpu::Service;
use laxity_sim::cpu::{Measure, Task, Workload};

/// Reads numbers off a run, always as many.
pub type Numbers = fn(&Measure, &[Task], Time) -> Vec<f64>;

fn is_soft(task: &Task) -> bool {
    let frames = matches!(task.workload, Workload::Frames { .. });
    frames && !matches!(task.attributes.service, Service::Hard(_))
}

fn soft_missed(measure: &Measure, tasks: &[Task]) -> Vec<f64> {
    let soft = tasks.iter().zip(&measure.tasks).filter(|(task, _)| is_soft(task));
    // A task that never ended a job met no deadline.
    soft.map(|(_, m)| m.missed_percent().unwrap_or(100.0)).collect()
}

/// Per cent of deadlines missed by each soft task, then the share of the first task in per cent.
pub fn missed(measure: &Measure, tasks: &[Task], end: Time) -> Vec<f64> {
    let mut numbers = soft_missed(measure, tasks);
    numbers.push(measure.share(0, end) * 100.0);
    numbers
}

/// Mean and 99th percentile, in ms, of the last task's wait for the CPU, or to see an event.
pub fn response(measure: &Measure, _: &[Task], _: Time) -> Vec<f64> {
    let Some(last) = measure.tasks.last() else { return vec![0.0, 0.0] };
    let p99 = last.latency.quantile(990).unwrap_or(0) as f64;
    vec![last.latency.mean().unwrap_or(0.0) / 1e6, p99 / 1e6]
}

fn switches_a_second(measure: &Measure, end: Time) -> f64 {
    let from = measure.tasks.iter().filter_map(|t| t.joined).min().unwrap_or(Time::ZERO);
    measure.switches as f64 * 1e9 / end.since(from).0.max(1) as f64
}

/// Mean tardiness in ms of the last task, context switches a second.
pub fn tardiness(measure: &Measure, _: &[Task], end: Time) -> Vec<f64> {
    let tardiness = measure.tasks.last().and_then(|t| t.mean_tardiness()).unwrap_or(0.0);
    vec![tardiness / 1e6, switches_a_second(measure, end)]
}

/// Per cent of deadlines missed by each soft task, context switches a second, late hard jobs.
pub fn missed_and_switches(measure: &Measure, tasks: &[Task], end: Time) -> Vec<f64> {
    let mut numbers = soft_missed(measure, tasks);
    numbers.push(switches_a_second(measure, end));
    let hard = tasks.iter().zip(&measure.tasks);
    let hard = hard.filter(|(task, _)| matches!(task.attributes.service, Service::Hard(_)));
    numbers.push(hard.map(|(_, m)| m.missed).sum::<u64>() as f64);
    numbers
}
