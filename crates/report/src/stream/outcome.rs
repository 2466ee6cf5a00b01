//! Results of one seed or several, and what plots need beside them.

use crate::outcome::{Run, Runs};
use indexmap::IndexMap;
use laxity_results::{
    StreamClassResult, StreamPolicyResult, StreamSimulationResult, StreamSimulationRuns,
};

/// One class under one policy, for plots.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamClassDetail {
    /// The class's name, as in the results.
    pub class: String,
    /// Delays as (largest value of the bucket in ns, count), rising: `Histogram::iter`.
    pub distribution: Vec<(u64, u64)>,
}

/// All classes under one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamPolicyDetail {
    /// The policy's name, as in the results.
    pub policy: String,
    /// Its classes.
    pub classes: Vec<StreamClassDetail>,
}

/// Results of one seed or of several.
#[derive(Clone, Copy, Debug)]
pub enum StreamOutcome<'a> {
    /// One run.
    One(&'a StreamSimulationResult),
    /// Several runs and their summary.
    Runs(&'a StreamSimulationRuns),
}

impl Run for StreamSimulationResult {
    type Policy = StreamPolicyResult;
    type Item = StreamClassResult;

    fn policies(&self) -> &IndexMap<String, StreamPolicyResult> {
        &self.policies
    }

    fn items(policy: &StreamPolicyResult) -> &IndexMap<String, StreamClassResult> {
        &policy.classes
    }
}

impl<'a> Runs<'a> for StreamOutcome<'a> {
    type Run = StreamSimulationResult;

    fn runs(&self) -> &'a [StreamSimulationResult] {
        match self {
            StreamOutcome::One(result) => std::slice::from_ref(*result),
            StreamOutcome::Runs(runs) => &runs.runs,
        }
    }
}

impl<'a> StreamOutcome<'a> {
    /// Any result of a class, for the values that all have in common.
    pub(super) fn any(&self, class: &'a str) -> Option<&'a StreamClassResult> {
        self.policies().into_iter().find_map(|p| self.each(p, class).next())
    }

    /// A class with its tolerance: `speech (1/100)`.
    pub(super) fn label(&self, class: &'a str) -> String {
        self.any(class).map_or(class.into(), |c| format!("{class} ({})", c.tolerance))
    }
}

/// Packets sent and deadlines missed.
pub(super) fn slots(class: &StreamClassResult) -> u64 {
    class.served.saturating_add(class.deadline_misses)
}

/// The share of slots that a class may lose, and the length of its window.
pub(super) fn tolerance(class: &StreamClassResult) -> Option<(f64, u64)> {
    let (x, y) = class.tolerance.split_once('/')?;
    let (x, y) = (x.trim().parse::<u64>().ok()?, y.trim().parse::<u64>().ok()?);
    (y > 0).then(|| (x as f64 / y as f64, y))
}
