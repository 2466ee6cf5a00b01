//! Results of links as a table.

use super::{Builder, Table, Tabular};
use crate::{FlowKind, FlowResult, PolicyResult, SimulationResult, TcpResult};

struct Row<'a> {
    run: &'a SimulationResult,
    policy: (&'a str, &'a PolicyResult),
    name: &'a str,
    flow: &'a FlowResult,
}

impl FlowKind {
    /// The name in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            FlowKind::Realtime => "realtime",
            FlowKind::BestEffort => "best_effort",
        }
    }
}

impl Tabular for SimulationResult {
    fn table(results: &[SimulationResult]) -> Table {
        let mut rows = Vec::new();
        for run in results {
            for (policy, result) in &run.policies {
                let policy = (policy.as_str(), result);
                rows.extend(result.flows.iter().map(|(name, flow)| Row {
                    run,
                    policy,
                    name,
                    flow,
                }));
            }
        }
        let tcp = |r: &Row<'_>| r.flow.tcp;
        let whole = |of: fn(&TcpResult) -> u64| move |r: &Row<'_>| tcp(r).as_ref().map(of);
        Builder::new(&rows)
            .text("scenario", |r| Some(&r.run.scenario))
            .whole("seed", |r| r.run.seed)
            .whole("duration_ns", |r| Some(r.run.duration_ns))
            .text("policy", |r| Some(r.policy.0))
            .float("utilisation", |r| Some(r.policy.1.utilisation))
            .text("flow", |r| Some(r.name))
            .text("kind", |r| Some(r.flow.kind.name()))
            .whole("packets", |r| Some(r.flow.packets))
            .whole("bytes", |r| Some(r.flow.bytes))
            .float("mean_ms", |r| r.flow.mean_ms)
            .float("p50_ms", |r| r.flow.p50_ms)
            .float("p99_ms", |r| r.flow.p99_ms)
            .float("max_ms", |r| r.flow.max_ms)
            .float("deadline_ms", |r| r.flow.deadline_ms)
            .float("max_lateness_ms", |r| r.flow.max_lateness_ms)
            .whole("deadline_misses", |r| Some(r.flow.deadline_misses))
            .whole("dropped", |r| Some(r.flow.dropped))
            .whole("demoted", |r| Some(r.flow.demoted))
            .float("demoted_mean_ms", |r| r.flow.demoted_mean_ms)
            .float("demoted_max_ms", |r| r.flow.demoted_max_ms)
            .whole("aqm_drops", |r| r.flow.aqm_drops)
            .whole("ecn_marks", |r| r.flow.ecn_marks)
            .float("goodput_mbit_s", |r| tcp(r).map(|tcp| tcp.goodput_mbit_s))
            .whole("completed", whole(|tcp| tcp.completed))
            .float("completion_mean_ms", |r| tcp(r).and_then(|tcp| tcp.completion_mean_ms))
            .float("completion_max_ms", |r| tcp(r).and_then(|tcp| tcp.completion_max_ms))
            .table
    }
}
