//! Several seeds of a CPU scenario in one summary.

use indexmap::IndexMap;
use laxity_results::{CpuPolicySummary, CpuSimulationResult, CpuTaskResult, CpuTaskSummary};

use crate::summary::spread;

/// The summary of runs that differ in their seed only.
pub fn of(runs: &[CpuSimulationResult]) -> IndexMap<String, CpuPolicySummary> {
    let Some(first) = runs.first() else { return IndexMap::new() };
    let task = |policy: &str, task: &str| {
        let each = || runs.iter().filter_map(|r| r.policies.get(policy)?.tasks.get(task));
        let of = |of: fn(&CpuTaskResult) -> Option<f64>| spread(each().filter_map(of));
        CpuTaskSummary {
            share: of(|t| Some(t.share)),
            deadline_misses: of(|t| Some(t.deadline_misses as f64)),
            mean_response_ms: of(|t| t.mean_response_ms),
            max_tardiness_ms: of(|t| t.max_tardiness_ms),
            max_wait_ms: of(|t| Some(t.max_wait_ms)),
        }
    };
    let policies = first.policies.iter().map(|(name, result)| {
        let switches = runs.iter().filter_map(|r| Some(r.policies.get(name)?.switches as f64));
        let tasks = result.tasks.keys().map(|t| (t.clone(), task(name, t))).collect();
        (name.clone(), CpuPolicySummary { switches: spread(switches), tasks })
    });
    policies.collect()
}
