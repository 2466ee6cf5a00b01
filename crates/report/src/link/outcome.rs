//! Data of a run for plots, beyond its printed results.

use crate::cells::spread;
use crate::outcome::{Run, Runs};
use indexmap::IndexMap;
use laxity_results::{FlowKind, FlowResult, PolicyResult, SimulationResult, SimulationRuns};

/// One flow under one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowDetail {
    /// The flow's name, as in the results.
    pub flow: String,
    /// Real-time or best effort.
    pub kind: FlowKind,
    /// Relative deadline in ns, for real-time flows.
    pub deadline_ns: Option<u64>,
    /// Arrival and delay in ns over the whole run, rising in arrival, thinned to a few thousand
    /// points that keep the largest delays.
    pub series: Vec<(u64, u64)>,
    /// The same for every packet of [`Meta::excerpt`](crate::Meta::excerpt); may be empty, then the
    /// excerpt is cut from `series`.
    pub excerpt: Vec<(u64, u64)>,
    /// Delays as (largest value of the bucket in ns, count), rising: `Histogram::iter`.
    pub distribution: Vec<(u64, u64)>,
}

/// All flows under one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyDetail {
    /// The policy's name, as in the results.
    pub policy: String,
    /// Its flows.
    pub flows: Vec<FlowDetail>,
}

impl PolicyDetail {
    pub(crate) fn flow(&self, name: &str) -> Option<&FlowDetail> {
        self.flows.iter().find(|f| f.flow == name)
    }
}

/// Results of one seed or of several.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// One run.
    One(&'a SimulationResult),
    /// Several runs and their summary.
    Runs(&'a SimulationRuns),
}

impl<'a> From<&'a SimulationResult> for Outcome<'a> {
    fn from(result: &'a SimulationResult) -> Self {
        Outcome::One(result)
    }
}

impl<'a> From<&'a SimulationRuns> for Outcome<'a> {
    fn from(runs: &'a SimulationRuns) -> Self {
        Outcome::Runs(runs)
    }
}

impl Run for SimulationResult {
    type Policy = PolicyResult;
    type Item = FlowResult;

    fn policies(&self) -> &IndexMap<String, PolicyResult> {
        &self.policies
    }

    fn items(policy: &PolicyResult) -> &IndexMap<String, FlowResult> {
        &policy.flows
    }
}

impl<'a> Runs<'a> for Outcome<'a> {
    type Run = SimulationResult;

    fn runs(&self) -> &'a [SimulationResult] {
        match self {
            Outcome::One(result) => std::slice::from_ref(*result),
            Outcome::Runs(runs) => &runs.runs,
        }
    }
}

impl<'a> Outcome<'a> {
    /// Names of the flows of a kind, over all policies, in the order of the results.
    pub(crate) fn flows(&self, kind: FlowKind) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for policy in self.first().iter().flat_map(|r| r.policies.values()) {
            for (name, flow) in &policy.flows {
                if flow.kind == kind && !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// Mean best-effort delay of a policy in ms over the runs.
    pub(crate) fn best_effort_mean(&self, policy: &str) -> Option<f64> {
        let means = self.runs().iter().filter_map(|r| r.policies.get(policy)?.best_effort_mean_ms);
        spread(means).map(|s| s.mean)
    }

    /// Misses of a policy over the runs.
    pub(crate) fn missed(&self, policy: &str) -> u64 {
        let each = self.runs().iter().filter_map(|r| r.policies.get(policy));
        each.map(|p| p.realtime_deadline_misses).fold(0, u64::saturating_add)
    }
}
