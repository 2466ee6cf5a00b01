//! Links.

use laxity_analysis::link::admission_link;
use laxity_certify::{Envelope, Flow, LinkFacts, LinkProof, Piece, Promise, Service};
use laxity_core::Span;
use laxity_curve::service::{LinkFlow, ServiceSpec};
use laxity_curve::{Blocking, Bucket, Rational};
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
        let promise = match &spec {
            LinkFlow::Deadline(spec) => {
                let (deadline, envelope) = (spec.deadline.0, envelope(&spec.envelope));
                Promise::Deadline { deadline, envelope }
            }
            LinkFlow::Service(spec) => Promise::Service(service(&flow.name, spec)?),
        };
        let (name, packet) = (flow.name.clone(), spec.max_packet().0);
        Ok::<_, Failure>(Flow { name, packet, promise })
    });
    Ok(LinkFacts {
        rate: link.rate.0,
        best_effort: link.best_effort_packet.0,
        backlog: link.downstream_backlog.0,
        paper: link.blocking == Blocking::Paper,
        flows: flows.collect::<Result<_, _>>()?,
    })
}

fn envelope(envelope: &laxity_curve::Envelope) -> Envelope {
    match envelope {
        laxity_curve::Envelope::Buckets { buckets: all, .. } => Envelope::Buckets(buckets(all)),
        laxity_curve::Envelope::Periodic { period, size, jitter, .. } => {
            Envelope::Periodic { size: size.0, period: period.0, jitter: jitter.0 }
        }
    }
}

fn buckets(all: &[Bucket]) -> Vec<(u64, u64)> {
    all.iter().map(|bucket| (bucket.burst.0, bucket.rate.0)).collect()
}

/// The lines of a curve, in whole numbers; a periodic envelope counts as the bucket above it.
fn service(name: &str, spec: &ServiceSpec) -> Result<Service, Failure> {
    let large =
        || Failure::Refused(format!("no certificate: the curve of `{name}` exceeds 128 bits"));
    let pieces = spec.curve.curve().pieces().iter().map(|piece| {
        let (slope, level) = (piece.slope, piece.intercept);
        // The least denominator of both.
        let times = Rational::new(slope.denominator(), level.denominator()).ok()?.denominator();
        let over = slope.denominator().checked_mul(times)?;
        let scaled = |r: Rational| r.numerator().checked_mul(over / r.denominator());
        let from = (piece.start.numerator(), piece.start.denominator());
        Some(Piece { from, level: scaled(level)?, rise: scaled(slope)?, over })
    });
    let buckets = match &spec.envelope {
        None => Vec::new(),
        Some(laxity_curve::Envelope::Buckets { buckets: all, .. }) => buckets(all),
        Some(periodic) => vec![(periodic.burst().0, periodic.rate().0)],
    };
    let pieces = pieces.collect::<Option<_>>().ok_or_else(large)?;
    Ok(Service { smallest: spec.min_packet.0, pieces, buckets })
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
