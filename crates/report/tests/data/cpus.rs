//! Made-up results of CPUs.

use laxity_report::{CpuJob, CpuPolicyDetail, CpuSlice, CpuTaskDetail};
use laxity_results::*;

const MS: u64 = 1_000_000;

/// Name, kind, period in ms, ms of each job.
const TASKS: [(&str, TaskKind, Option<u64>, u64); 3] = [
    ("sound", TaskKind::Hard, Some(10), 2),
    ("video", TaskKind::BestEffort, Some(40), 8),
    ("compile", TaskKind::BestEffort, None, 0),
];

pub fn task(kind: TaskKind) -> CpuTaskResult {
    CpuTaskResult {
        kind,
        share: 0.0,
        cpu_ms: 0.0,
        switches: 0,
        jobs: 0,
        deadline_misses: 0,
        mean_response_ms: None,
        p50_response_ms: None,
        p99_response_ms: None,
        max_response_ms: None,
        mean_tardiness_ms: None,
        p99_tardiness_ms: None,
        max_tardiness_ms: None,
        mean_latency_ms: None,
        p99_latency_ms: None,
        max_wait_ms: 0.0,
        refused: None,
    }
}

/// A run of 1 s in which all but the last policy make video late.
pub fn simulation(policies: &[&str], seed: u64) -> (CpuSimulationResult, Vec<CpuPolicyDetail>) {
    let mut details = Vec::new();
    let mut results = Vec::new();
    for (i, policy) in policies.iter().enumerate() {
        let bad = i + 1 < policies.len();
        let (mut tasks, mut of_tasks) = (Vec::new(), Vec::new());
        for (row, (name, kind, period, cost)) in TASKS.into_iter().enumerate() {
            let period = period.map(|p| p * MS);
            let step = period.unwrap_or(100 * MS);
            let jobs = 1_000 * MS / step;
            let late = period.is_some() && kind == TaskKind::BestEffort && bad;
            let begin = |k: u64| k * step + row as u64 * 2 * MS;
            let length = if cost > 0 { cost * MS } else { 20 * MS };
            let slices =
                (0..jobs).map(|k| CpuSlice { cpu: 0, from: begin(k), to: begin(k) + length });
            let ends = |k: u64| if late { k * step + step + seed * MS } else { begin(k) + length };
            let jobs_of = (0..jobs).filter(|_| period.is_some()).map(|k| CpuJob {
                release: k * step,
                deadline: Some(k * step + step),
                end: ends(k),
            });
            let response = if late { step + seed * MS } else { length };
            let done = if period.is_some() { jobs } else { 0 };
            let missed = if late { jobs } else { 0 };
            let ms = |ns: u64| (done > 0).then_some(ns as f64 / 1e6);
            let tardiness = if late { seed * MS } else { 0 };
            let result = CpuTaskResult {
                share: length as f64 / step as f64,
                cpu_ms: (jobs * length) as f64 / 1e6,
                switches: jobs,
                jobs: done,
                deadline_misses: missed,
                mean_response_ms: ms(response),
                p50_response_ms: ms(response),
                p99_response_ms: ms(response),
                max_response_ms: ms(response),
                mean_tardiness_ms: ms(tardiness),
                p99_tardiness_ms: late.then_some(seed as f64),
                max_tardiness_ms: ms(tardiness),
                mean_latency_ms: Some(0.5),
                p99_latency_ms: Some(1.5),
                max_wait_ms: 3.0,
                ..task(kind)
            };
            tasks.push((name.to_owned(), result));
            of_tasks.push(CpuTaskDetail {
                task: name.into(),
                deadline_ns: period,
                response: if done > 0 { vec![(response, done)] } else { vec![] },
                tardiness: if late { vec![(tardiness, jobs)] } else { vec![] },
                slices: slices.collect(),
                jobs: jobs_of.collect(),
            });
        }
        let result = CpuPolicyResult {
            options: [("sample".to_owned(), "job".to_owned())].into(),
            utilisation: 0.6,
            switches: 400 + seed,
            migrations: None,
            tasks: tasks.into_iter().collect(),
        };
        results.push(((*policy).to_owned(), result));
        details.push(CpuPolicyDetail { policy: (*policy).into(), tasks: of_tasks, left_out: 0 });
    }
    let result = CpuSimulationResult {
        scenario: "desktop".into(),
        seed: Some(seed),
        duration_ns: 1_000 * MS,
        cpus: 1,
        policies: results.into_iter().collect(),
    };
    (result, details)
}

pub fn check(admitted: bool) -> CpuCheckResult {
    let request = |task: &str, at: u64, admitted: bool| CpuRequest {
        task: task.into(),
        at_ns: at,
        kind: TaskKind::Hard,
        budget_ns: 60 * MS,
        period_ns: 100 * MS,
        deadline_ns: 80 * MS,
        utilisation: 0.6,
        admitted,
        from_ns: None,
        required_share: (!admitted).then_some(0.6),
        available_share: (!admitted).then_some(0.55),
        max_budget_ns: (!admitted).then_some(54_999_999),
        min_period_ns: (!admitted).then_some(109_090_910),
        refused: (!admitted).then(|| "60 ms in every 100 ms needs too much".into()),
    };
    CpuCheckResult {
        policy: "bebs".into(),
        options: Default::default(),
        cpus: 1,
        admitted,
        guaranteed: admitted,
        utilisation: 0.4,
        demand: 0.4,
        best_effort_share: Some(0.6),
        overheads: None,
        locks: vec![],
        obstacles: vec![],
        requests: vec![request("sound", 0, true), request("late", 5_000 * MS, admitted)],
    }
}
