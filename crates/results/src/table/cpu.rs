//! Results of CPUs as a table.

use super::{Builder, Table, Tabular};
use crate::{CpuPolicyResult, CpuSimulationResult, CpuTaskResult, TaskKind};

struct Row<'a> {
    run: &'a CpuSimulationResult,
    policy: (&'a str, &'a CpuPolicyResult),
    name: &'a str,
    task: &'a CpuTaskResult,
}

impl TaskKind {
    /// The name in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            TaskKind::Hard => "hard",
            TaskKind::Soft => "soft",
            TaskKind::BestEffort => "best_effort",
        }
    }
}

impl Tabular for CpuSimulationResult {
    fn table(results: &[CpuSimulationResult]) -> Table {
        let mut rows = Vec::new();
        for run in results {
            for (policy, result) in &run.policies {
                let policy = (policy.as_str(), result);
                rows.extend(result.tasks.iter().map(|(name, task)| Row {
                    run,
                    policy,
                    name,
                    task,
                }));
            }
        }
        Builder::new(&rows)
            .text("scenario", |r| Some(&r.run.scenario))
            .whole("seed", |r| r.run.seed)
            .whole("duration_ns", |r| Some(r.run.duration_ns))
            .whole("cpus", |r| Some(r.run.cpus.into()))
            .text("policy", |r| Some(r.policy.0))
            .float("utilisation", |r| Some(r.policy.1.utilisation))
            .text("task", |r| Some(r.name))
            .text("kind", |r| Some(r.task.kind.name()))
            .float("share", |r| Some(r.task.share))
            .float("cpu_ms", |r| Some(r.task.cpu_ms))
            .whole("switches", |r| Some(r.task.switches))
            .whole("jobs", |r| Some(r.task.jobs))
            .whole("deadline_misses", |r| Some(r.task.deadline_misses))
            .float("mean_response_ms", |r| r.task.mean_response_ms)
            .float("p50_response_ms", |r| r.task.p50_response_ms)
            .float("p99_response_ms", |r| r.task.p99_response_ms)
            .float("max_response_ms", |r| r.task.max_response_ms)
            .float("mean_tardiness_ms", |r| r.task.mean_tardiness_ms)
            .float("p99_tardiness_ms", |r| r.task.p99_tardiness_ms)
            .float("max_tardiness_ms", |r| r.task.max_tardiness_ms)
            .float("mean_latency_ms", |r| r.task.mean_latency_ms)
            .float("p99_latency_ms", |r| r.task.p99_latency_ms)
            .float("max_wait_ms", |r| Some(r.task.max_wait_ms))
            .text("refused", |r| r.task.refused.as_deref())
            .table
    }
}
