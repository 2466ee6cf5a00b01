//! Results of one seed or several, and what plots need beside them.

use laxity_results::{Spread, StreamClassResult, StreamSimulationResult, StreamSimulationRuns};

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

impl<'a> StreamOutcome<'a> {
    /// All runs; none when `Runs` is empty.
    pub(super) fn runs(&self) -> &'a [StreamSimulationResult] {
        match self {
            StreamOutcome::One(result) => std::slice::from_ref(*result),
            StreamOutcome::Runs(runs) => &runs.runs,
        }
    }

    /// The run that plots are drawn from.
    pub(super) fn first(&self) -> Option<&'a StreamSimulationResult> {
        self.runs().first()
    }

    pub(super) fn policies(&self) -> Vec<&'a str> {
        self.first().map_or(Vec::new(), |r| r.policies.keys().map(String::as_str).collect())
    }

    /// Names of the classes in file order.
    pub(super) fn classes(&self) -> Vec<&'a str> {
        let first = self.first().and_then(|r| r.policies.values().next());
        first.map_or(Vec::new(), |p| p.classes.keys().map(String::as_str).collect())
    }

    /// One class under one policy in each run.
    pub(super) fn each(
        &self,
        policy: &'a str,
        class: &'a str,
    ) -> impl Iterator<Item = &'a StreamClassResult> + use<'a> {
        self.runs().iter().filter_map(move |r| r.policies.get(policy)?.classes.get(class))
    }

    /// A count summed over the runs.
    pub(super) fn sum(
        &self,
        policy: &'a str,
        class: &'a str,
        of: impl Fn(&StreamClassResult) -> u64,
    ) -> u64 {
        self.each(policy, class).map(of).fold(0, u64::saturating_add)
    }

    /// A count summed over runs and classes.
    pub(super) fn total(&self, policy: &'a str, of: impl Fn(&StreamClassResult) -> u64) -> u64 {
        let classes = self.classes().into_iter();
        classes.map(|c| self.sum(policy, c, &of)).fold(0, u64::saturating_add)
    }

    /// A figure over the runs that have it: mean, least and greatest.
    pub(super) fn spread(
        &self,
        policy: &'a str,
        class: &'a str,
        of: impl Fn(&StreamClassResult) -> Option<f64>,
    ) -> Option<Spread> {
        let (mut n, mut sum, mut min, mut max) = (0u32, 0.0, f64::INFINITY, f64::NEG_INFINITY);
        for v in self.each(policy, class).filter_map(of).filter(|v| v.is_finite()) {
            (n, sum, min, max) = (n + 1, sum + v, min.min(v), max.max(v));
        }
        (n > 0).then(|| Spread { mean: sum / f64::from(n), min, max })
    }

    /// Any result of a class, for the values that all have in common.
    pub(super) fn any(&self, class: &'a str) -> Option<&'a StreamClassResult> {
        self.policies().into_iter().find_map(|p| self.each(p, class).next())
    }

    /// A class with its tolerance: `speech (1/100)`.
    pub(super) fn label(&self, class: &'a str) -> String {
        self.any(class).map_or(class.into(), |c| format!("{class} ({})", c.tolerance))
    }

    pub(super) fn is_many(&self) -> bool {
        self.runs().len() > 1
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
