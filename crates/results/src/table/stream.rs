//! Results of media servers as a table.

use super::{Builder, Table, Tabular, rows};
use crate::StreamSimulationResult;

impl Tabular for StreamSimulationResult {
    fn table(results: &[StreamSimulationResult]) -> Table {
        let rows = rows(results, |run| &run.policies, |policy| &policy.classes);
        Builder::new(&rows)
            .text("scenario", |r| Some(&r.run.scenario))
            .whole("seed", |r| r.run.seed)
            .whole("duration_ns", |r| Some(r.run.duration_ns))
            .text("policy", |r| Some(r.policy.0))
            .float("utilisation", |r| Some(r.policy.1.utilisation))
            .text("class", |r| Some(r.name))
            .whole("streams", |r| Some(r.of.streams))
            .text("tolerance", |r| Some(&r.of.tolerance))
            .whole("gap_ns", |r| r.of.gap_ns)
            .whole("packets", |r| Some(r.of.packets))
            .whole("served", |r| Some(r.of.served))
            .whole("deadlines_met", |r| Some(r.of.deadlines_met))
            .whole("deadline_misses", |r| Some(r.of.deadline_misses))
            .whole("dropped", |r| Some(r.of.dropped))
            .whole("sent_late", |r| Some(r.of.sent_late))
            .whole("overflows", |r| Some(r.of.overflows))
            .whole("backlog", |r| Some(r.of.backlog))
            .whole("tumbling_violations", |r| Some(r.of.tumbling_violations))
            .whole("sliding_violations", |r| r.of.sliding_violations)
            .whole("violations_at_miss", |r| r.of.violations_at_miss)
            .whole("max_consecutive_misses", |r| Some(r.of.max_consecutive_misses))
            .whole("violated_streams", |r| Some(r.of.violated_streams))
            .float("mean_ms", |r| r.of.mean_ms)
            .float("p50_ms", |r| r.of.p50_ms)
            .float("p99_ms", |r| r.of.p99_ms)
            .float("max_ms", |r| r.of.max_ms)
            .table
    }
}
