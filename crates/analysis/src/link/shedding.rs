//! Which real-time flows keep their reservation when the rate of a link changes.
//!
//! A flow without its reservation is shed: its packets are best effort. Admission is monotone in the
//! set of flows and in the rate, so one order of the flows decides: the least important is shed
//! first.

use laxity_core::{Bytes, Rate};
use laxity_curve::service::{LinkFlow, check_flows};
use laxity_curve::{LinkSpec, Verdict};
use laxity_scenario::link::model::{Link, Scenario};

use super::admission_link;
use crate::AnalysisError;

/// The real-time flows of a scenario, by their places in its file, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shedding {
    /// Flows that keep their reservation; admitted together.
    pub kept: Vec<usize>,
    /// The others.
    pub shed: Vec<usize>,
}

/// Sheds real-time flows of a scenario until the others are admitted at a rate: the least important
/// first; of equally important ones the one that frees most in the binding interval, and of these the
/// last in the file. A flow whose loss turns out to help none of the kept flows keeps its reservation.
///
/// # Errors
/// A rate of zero, or curves beyond the range of exact numbers.
pub fn shed(scenario: &Scenario, policy: &str, rate: Rate) -> Result<Shedding, AnalysisError> {
    let all: Vec<usize> = (0..scenario.realtime.len()).collect();
    Admission::new(scenario, policy)?.shed(rate, &all)
}

/// The admission test of subsets of a scenario's flows at any rate.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    link: Link,
    spec: LinkSpec,
    flows: Vec<LinkFlow>,
    importance: Vec<u32>,
}

impl Admission {
    pub(super) fn new(scenario: &Scenario, policy: &str) -> Result<Admission, AnalysisError> {
        Ok(Admission {
            link: scenario.link.clone(),
            spec: admission_link(scenario, policy),
            flows: scenario.setup().link_flows()?,
            importance: scenario.realtime.iter().map(|f| f.importance).collect(),
        })
    }

    pub(super) fn importance(&self, flow: usize) -> u32 {
        self.importance[flow]
    }

    fn verdict(&self, rate: Rate, set: &[usize]) -> Result<Verdict, AnalysisError> {
        // The credit is a time, so its bytes follow the rate.
        let downstream_backlog = Link { rate, ..self.link.clone() }.downstream_backlog();
        let spec = LinkSpec { rate, downstream_backlog, ..self.spec };
        let flows: Vec<LinkFlow> = set.iter().map(|i| self.flows[*i].clone()).collect();
        Ok(check_flows(&spec, &flows)?)
    }

    /// Whether flows are admitted together.
    pub(super) fn admits(&self, rate: Rate, set: &[usize]) -> Result<bool, AnalysisError> {
        Ok(self.verdict(rate, set)?.admitted)
    }

    /// See [`shed`]; chooses among `candidates`, in ascending order.
    pub(super) fn shed(&self, rate: Rate, candidates: &[usize]) -> Result<Shedding, AnalysisError> {
        let mut kept = candidates.to_vec();
        let mut shed = Vec::new();
        loop {
            let verdict = self.verdict(rate, &kept)?;
            if verdict.admitted {
                break;
            }
            let demand = |place: usize| verdict.demand.get(place).copied().unwrap_or(Bytes(0));
            let least = (0..kept.len()).min_by_key(|place| {
                let least_demand = std::cmp::Reverse(demand(*place));
                (self.importance(kept[*place]), least_demand, std::cmp::Reverse(*place))
            });
            let Some(place) = least else { break };
            shed.push(kept.remove(place));
        }
        // The last one shed does not fit. Others may, where the binding interval moved.
        for flow in shed.iter().rev().skip(1) {
            let with = with(&kept, *flow);
            if self.admits(rate, &with)? {
                kept = with;
            }
        }
        shed.retain(|flow| !kept.contains(flow));
        shed.sort_unstable();
        Ok(Shedding { kept, shed })
    }
}

/// A sorted set and one more flow.
pub(super) fn with(set: &[usize], flow: usize) -> Vec<usize> {
    let mut set = set.to_vec();
    set.insert(set.partition_point(|other| *other < flow), flow);
    set
}

#[cfg(test)]
#[path = "shedding_tests.rs"]
pub(super) mod tests;
