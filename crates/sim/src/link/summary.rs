//! Several seeds of a link scenario in one summary.

use indexmap::IndexMap;
use laxity_results::{FlowSummary, PolicySummary, SimulationResult};

use crate::summary::spread;

/// The summary of runs that differ in their seed only.
pub fn of(runs: &[SimulationResult]) -> IndexMap<String, PolicySummary> {
    let Some(first) = runs.first() else { return IndexMap::new() };
    let policy = |name: &String| {
        let each = || runs.iter().filter_map(|r| r.policies.get(name));
        let mut flows = IndexMap::new();
        for flow in each().flat_map(|p| p.flows.keys()) {
            if flows.contains_key(flow) {
                continue;
            }
            let of = || each().filter_map(|p| p.flows.get(flow));
            let summary = FlowSummary {
                mean_ms: spread(of().filter_map(|f| f.mean_ms)),
                max_ms: spread(of().filter_map(|f| f.max_ms)),
            };
            flows.insert(flow.clone(), summary);
        }
        PolicySummary {
            best_effort_mean_ms: spread(each().filter_map(|p| p.best_effort_mean_ms)),
            realtime_deadline_misses: each().map(|p| p.realtime_deadline_misses).sum(),
            flows,
        }
    };
    first.policies.keys().map(|name| (name.clone(), policy(name))).collect()
}
