//! Results of CPUs as a table.

use super::{Builder, Table, Tabular, rows};
use crate::{CpuSimulationResult, TaskKind};

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
        let rows = rows(results, |run| &run.policies, |policy| &policy.tasks);
        Builder::new(&rows)
            .text("scenario", |r| Some(&r.run.scenario))
            .whole("seed", |r| r.run.seed)
            .whole("duration_ns", |r| Some(r.run.duration_ns))
            .whole("cpus", |r| Some(r.run.cpus.into()))
            .text("policy", |r| Some(r.policy.0))
            .float("utilisation", |r| Some(r.policy.1.utilisation))
            .text("task", |r| Some(r.name))
            .text("kind", |r| Some(r.of.kind.name()))
            .float("share", |r| Some(r.of.share))
            .float("cpu_ms", |r| Some(r.of.cpu_ms))
            .whole("switches", |r| Some(r.of.switches))
            .whole("jobs", |r| Some(r.of.jobs))
            .whole("deadline_misses", |r| Some(r.of.deadline_misses))
            .float("mean_response_ms", |r| r.of.mean_response_ms)
            .float("p50_response_ms", |r| r.of.p50_response_ms)
            .float("p99_response_ms", |r| r.of.p99_response_ms)
            .float("max_response_ms", |r| r.of.max_response_ms)
            .float("mean_tardiness_ms", |r| r.of.mean_tardiness_ms)
            .float("p99_tardiness_ms", |r| r.of.p99_tardiness_ms)
            .float("max_tardiness_ms", |r| r.of.max_tardiness_ms)
            .float("mean_latency_ms", |r| r.of.mean_latency_ms)
            .float("p99_latency_ms", |r| r.of.p99_latency_ms)
            .float("max_wait_ms", |r| Some(r.of.max_wait_ms))
            .text("refused", |r| r.of.refused.as_deref())
            .table
    }
}
