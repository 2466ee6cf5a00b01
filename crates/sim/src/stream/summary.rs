//! Several seeds of a stream scenario in one summary.

use indexmap::IndexMap;
use laxity_results::{
    StreamClassResult, StreamClassSummary, StreamPolicySummary, StreamSimulationResult,
};

use crate::summary::spread;

/// The summary of runs that differ in their seed only.
pub fn of(runs: &[StreamSimulationResult]) -> IndexMap<String, StreamPolicySummary> {
    let Some(first) = runs.first() else { return IndexMap::new() };
    let class = |policy: &str, class: &str| {
        let each = || runs.iter().filter_map(|r| r.policies.get(policy)?.classes.get(class));
        let count = |of: fn(&StreamClassResult) -> u64| spread(each().map(|c| of(c) as f64));
        StreamClassSummary {
            deadline_misses: count(|c| c.deadline_misses),
            tumbling_violations: count(|c| c.tumbling_violations),
            max_consecutive_misses: count(|c| c.max_consecutive_misses),
            p99_ms: spread(each().filter_map(|c| c.p99_ms)),
        }
    };
    let policies = first.policies.iter().map(|(name, result)| {
        let classes = result.classes.keys().map(|c| (c.clone(), class(name, c))).collect();
        (name.clone(), StreamPolicySummary { classes })
    });
    policies.collect()
}
