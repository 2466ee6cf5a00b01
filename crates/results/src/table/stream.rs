//! Results of media servers as a table.

use super::{Builder, Table, Tabular};
use crate::{StreamClassResult, StreamPolicyResult, StreamSimulationResult};

struct Row<'a> {
    run: &'a StreamSimulationResult,
    policy: (&'a str, &'a StreamPolicyResult),
    name: &'a str,
    class: &'a StreamClassResult,
}

impl Tabular for StreamSimulationResult {
    fn table(results: &[StreamSimulationResult]) -> Table {
        let mut rows = Vec::new();
        for run in results {
            for (policy, result) in &run.policies {
                let policy = (policy.as_str(), result);
                let of = |(name, class)| Row { run, policy, name, class };
                rows.extend(result.classes.iter().map(|(name, class)| of((name.as_str(), class))));
            }
        }
        Builder::new(&rows)
            .text("scenario", |r| Some(&r.run.scenario))
            .whole("seed", |r| r.run.seed)
            .whole("duration_ns", |r| Some(r.run.duration_ns))
            .text("policy", |r| Some(r.policy.0))
            .float("utilisation", |r| Some(r.policy.1.utilisation))
            .text("class", |r| Some(r.name))
            .whole("streams", |r| Some(r.class.streams))
            .text("tolerance", |r| Some(&r.class.tolerance))
            .whole("gap_ns", |r| r.class.gap_ns)
            .whole("packets", |r| Some(r.class.packets))
            .whole("served", |r| Some(r.class.served))
            .whole("deadlines_met", |r| Some(r.class.deadlines_met))
            .whole("deadline_misses", |r| Some(r.class.deadline_misses))
            .whole("dropped", |r| Some(r.class.dropped))
            .whole("sent_late", |r| Some(r.class.sent_late))
            .whole("overflows", |r| Some(r.class.overflows))
            .whole("backlog", |r| Some(r.class.backlog))
            .whole("tumbling_violations", |r| Some(r.class.tumbling_violations))
            .whole("sliding_violations", |r| r.class.sliding_violations)
            .whole("violations_at_miss", |r| r.class.violations_at_miss)
            .whole("max_consecutive_misses", |r| Some(r.class.max_consecutive_misses))
            .whole("violated_streams", |r| Some(r.class.violated_streams))
            .float("mean_ms", |r| r.class.mean_ms)
            .float("p50_ms", |r| r.class.p50_ms)
            .float("p99_ms", |r| r.class.p99_ms)
            .float("max_ms", |r| r.class.max_ms)
            .table
    }
}
