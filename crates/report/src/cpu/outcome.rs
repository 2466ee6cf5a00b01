//! Results of one seed or several, and what plots need beside them.

use crate::cells;
use laxity_results::{CpuSimulationResult, CpuSimulationRuns, CpuTaskResult, Spread};

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

impl<'a> CpuOutcome<'a> {
    /// All runs; none when `Runs` is empty.
    pub(super) fn runs(&self) -> &'a [CpuSimulationResult] {
        match self {
            CpuOutcome::One(result) => std::slice::from_ref(*result),
            CpuOutcome::Runs(runs) => &runs.runs,
        }
    }

    /// The run that plots are drawn from.
    pub(super) fn first(&self) -> Option<&'a CpuSimulationResult> {
        self.runs().first()
    }

    pub(super) fn policies(&self) -> Vec<&'a str> {
        self.first().map_or(Vec::new(), |r| r.policies.keys().map(String::as_str).collect())
    }

    /// Names of the tasks in file order.
    pub(super) fn tasks(&self) -> Vec<&'a str> {
        let first = self.first().and_then(|r| r.policies.values().next());
        first.map_or(Vec::new(), |p| p.tasks.keys().map(String::as_str).collect())
    }

    /// One task under one policy in each run.
    pub(super) fn each(
        &self,
        policy: &'a str,
        task: &'a str,
    ) -> impl Iterator<Item = &'a CpuTaskResult> + use<'a> {
        self.runs().iter().filter_map(move |r| r.policies.get(policy)?.tasks.get(task))
    }

    /// A count summed over the runs.
    pub(super) fn sum(
        &self,
        policy: &'a str,
        task: &'a str,
        of: impl Fn(&CpuTaskResult) -> u64,
    ) -> u64 {
        self.each(policy, task).map(of).fold(0, u64::saturating_add)
    }

    /// A count summed over runs and tasks.
    pub(super) fn total(&self, policy: &'a str, of: impl Fn(&CpuTaskResult) -> u64) -> u64 {
        let tasks = self.tasks().into_iter();
        tasks.map(|t| self.sum(policy, t, &of)).fold(0, u64::saturating_add)
    }

    /// A figure over the runs that have it: mean, least and greatest.
    pub(super) fn spread(
        &self,
        policy: &'a str,
        task: &'a str,
        of: impl Fn(&CpuTaskResult) -> Option<f64>,
    ) -> Option<Spread> {
        cells::spread(self.each(policy, task).filter_map(of))
    }

    /// Whether any policy gives the task the property.
    pub(super) fn any(&self, task: &'a str, has: impl Fn(&CpuTaskResult) -> bool) -> bool {
        self.policies().into_iter().any(|p| self.each(p, task).any(&has))
    }

    pub(super) fn is_many(&self) -> bool {
        self.runs().len() > 1
    }
}

/// Has deadlines.
pub(super) fn is_due(task: &CpuTaskResult) -> bool {
    task.max_tardiness_ms.is_some()
}
