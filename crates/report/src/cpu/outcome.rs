//! Results of one seed or several, and what plots need beside them.

use crate::outcome::{Run, Runs};
use indexmap::IndexMap;
use laxity_results::{CpuPolicyResult, CpuSimulationResult, CpuSimulationRuns, CpuTaskResult};

/// An execution of a task on a CPU without interruption, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSlice {
    /// The CPU, from 0.
    pub cpu: u32,
    /// Start.
    pub from: u64,
    /// End.
    pub to: u64,
}

/// A job, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuJob {
    /// Release.
    pub release: u64,
    /// Absolute deadline, if it has one.
    pub deadline: Option<u64>,
    /// End of its execution; of an unfinished job, the end of the run.
    pub end: u64,
}

impl CpuJob {
    /// Tardiness.
    pub(super) fn tardiness(&self) -> u64 {
        self.deadline.map_or(0, |deadline| self.end.saturating_sub(deadline))
    }
}

/// One task under one policy, for plots.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuTaskDetail {
    /// The task's name, as in the results.
    pub task: String,
    /// Relative deadline, where its jobs have one.
    pub deadline_ns: Option<u64>,
    /// Response times as (largest value of the bucket in ns, count), rising: `Histogram::iter`.
    pub response: Vec<(u64, u64)>,
    /// Tardiness of late jobs, likewise.
    pub tardiness: Vec<(u64, u64)>,
    /// Its slices, in order of time.
    pub slices: Vec<CpuSlice>,
    /// Its jobs, in the order of their ends.
    pub jobs: Vec<CpuJob>,
}

/// All tasks under one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuPolicyDetail {
    /// The policy's name, as in the results.
    pub policy: String,
    /// Its tasks in file order.
    pub tasks: Vec<CpuTaskDetail>,
    /// Slices and jobs that were not kept.
    pub left_out: u64,
}

/// Results of one seed or of several.
#[derive(Clone, Copy, Debug)]
pub enum CpuOutcome<'a> {
    /// One run.
    One(&'a CpuSimulationResult),
    /// Several runs and their summary.
    Runs(&'a CpuSimulationRuns),
}

impl Run for CpuSimulationResult {
    type Policy = CpuPolicyResult;
    type Item = CpuTaskResult;

    fn policies(&self) -> &IndexMap<String, CpuPolicyResult> {
        &self.policies
    }

    fn items(policy: &CpuPolicyResult) -> &IndexMap<String, CpuTaskResult> {
        &policy.tasks
    }
}

impl<'a> Runs<'a> for CpuOutcome<'a> {
    type Run = CpuSimulationResult;

    fn runs(&self) -> &'a [CpuSimulationResult] {
        match self {
            CpuOutcome::One(result) => std::slice::from_ref(*result),
            CpuOutcome::Runs(runs) => &runs.runs,
        }
    }
}

impl<'a> CpuOutcome<'a> {
    /// Whether any policy gives the task the property.
    pub(super) fn any(&self, task: &'a str, has: impl Fn(&CpuTaskResult) -> bool) -> bool {
        self.policies().into_iter().any(|p| self.each(p, task).any(&has))
    }
}

/// Has deadlines.
pub(super) fn is_due(task: &CpuTaskResult) -> bool {
    task.max_tardiness_ms.is_some()
}
