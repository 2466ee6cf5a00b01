//! Results of links as a table.

use super::{Builder, Row, Table, Tabular, rows};
use crate::{FlowKind, FlowResult, PolicyResult, SimulationResult, TcpResult};

type LinkRow<'a> = Row<'a, SimulationResult, PolicyResult, FlowResult>;

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
        let rows = rows(results, |run| &run.policies, |policy| &policy.flows);
        let tcp = |r: &LinkRow<'_>| r.of.tcp;
        let whole = |of: fn(&TcpResult) -> u64| move |r: &LinkRow<'_>| tcp(r).as_ref().map(of);
        Builder::new(&rows)
            .text("scenario", |r| Some(&r.run.scenario))
            .whole("seed", |r| r.run.seed)
            .whole("duration_ns", |r| Some(r.run.duration_ns))
            .text("policy", |r| Some(r.policy.0))
            .float("utilisation", |r| Some(r.policy.1.utilisation))
            .text("flow", |r| Some(r.name))
            .text("kind", |r| Some(r.of.kind.name()))
            .whole("packets", |r| Some(r.of.packets))
            .whole("bytes", |r| Some(r.of.bytes))
            .float("mean_ms", |r| r.of.mean_ms)
            .float("p50_ms", |r| r.of.p50_ms)
            .float("p99_ms", |r| r.of.p99_ms)
            .float("max_ms", |r| r.of.max_ms)
            .float("deadline_ms", |r| r.of.deadline_ms)
            .float("max_lateness_ms", |r| r.of.max_lateness_ms)
            .whole("deadline_misses", |r| Some(r.of.deadline_misses))
            .whole("dropped", |r| Some(r.of.dropped))
            .whole("demoted", |r| Some(r.of.demoted))
            .float("demoted_mean_ms", |r| r.of.demoted_mean_ms)
            .float("demoted_max_ms", |r| r.of.demoted_max_ms)
            .whole("aqm_drops", |r| r.of.aqm_drops)
            .whole("ecn_marks", |r| r.of.ecn_marks)
            .float("goodput_mbit_s", |r| tcp(r).map(|tcp| tcp.goodput_mbit_s))
            .whole("completed", whole(|tcp| tcp.completed))
            .float("completion_mean_ms", |r| tcp(r).and_then(|tcp| tcp.completion_mean_ms))
            .float("completion_max_ms", |r| tcp(r).and_then(|tcp| tcp.completion_max_ms))
            .table
    }
}
