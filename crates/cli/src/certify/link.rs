//! Links.

use laxity_analysis::link::admission_link;
use laxity_certify::{Envelope, Flow, LinkFacts, LinkProof};
use laxity_core::Span;
use laxity_curve::Blocking;
use laxity_curve::service::LinkFlow;
use laxity_link::{proportional_share, registry};
use laxity_scenario::link::Scenario;

use crate::failure::Failure;

/// What the admission test of the scenario's policy is about.
pub fn facts(scenario: &Scenario) -> Result<LinkFacts, Failure> {
    let policy = scenario.policy.use_.as_str();
    let keeps = registry::find(policy).is_some_and(|p| p.keeps_deadlines);
    // The theorems that a certificate rests on are about EDF.
    if !keeps || policy == proportional_share::INFO.name {
        let why =
            if keeps { "is no EDF, which certificates are about" } else { "keeps no deadlines" };
        return Err(Failure::Refused(format!("no certificate: {policy} {why}")));
    }
    let link = admission_link(scenario, policy);
    let flows = scenario.setup().link_flows().map_err(Failure::input)?;
    let flows = scenario.realtime.iter().zip(flows).map(|(flow, spec)| {
        let name = flow.name.clone();
        let LinkFlow::Deadline(spec) = spec else {
            return Err(Failure::Refused(format!(
                "no certificate: `{name}` has a service curve; certificates cover flows with an envelope and \
                 a deadline"
            )));
        };
        let envelope = match &spec.envelope {
            laxity_curve::Envelope::Buckets { buckets, .. } => {
                Envelope::Buckets(buckets.iter().map(|b| (b.burst.0, b.rate.0)).collect())
            }
            laxity_curve::Envelope::Periodic { period, size, jitter, .. } => {
                Envelope::Periodic { size: size.0, period: period.0, jitter: jitter.0 }
            }
        };
        let packet = spec.envelope.max_packet().0;
        Ok(Flow { name, deadline: spec.deadline.0, packet, envelope })
    });
    Ok(LinkFacts {
        rate: link.rate.0,
        best_effort: link.best_effort_packet.0,
        backlog: link.downstream_backlog.0,
        paper: link.blocking == Blocking::Paper,
        flows: flows.collect::<Result<_, _>>()?,
    })
}

/// What a checked proof shows.
pub fn says(facts: &LinkFacts, proof: &LinkProof) -> String {
    let rate = i128::from(facts.rate);
    let ns = u64::try_from(proof.binding / rate).unwrap_or(u64::MAX);
    let bytes = proof.residual / rate / 8_000_000_000;
    format!(
        "Certified: no packet of {} real-time flow{} misses its deadline; at least {bytes} B are left, in an \
         interval of {}.",
        facts.flows.len(),
        if facts.flows.len() == 1 { "" } else { "s" },
        Span(ns),
    )
}
