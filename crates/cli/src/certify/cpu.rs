//! CPUs, each with a queue of its own or several with one.

use laxity_analysis::cpu::{admitted_sets, analyse};
use laxity_certify::{ClusterFacts, ClusterProof, CpuFacts, CpuProof, Facts, Reservation};
use laxity_core::{OptionValue, PolicyOptions as _, Span};
use laxity_cpu::{Share, registry};
use laxity_scenario::cpu::CpuScenario;

use crate::failure::Failure;

/// The sets of reservations that the scenario's policy admits, each from when on.
pub fn facts(scenario: &CpuScenario) -> Result<Vec<Facts>, Failure> {
    if !scenario.locks.names.is_empty() {
        let why = "no certificate: certificates say nothing of locks, and jobs of this scenario take some; `check` \
                   without --certificate bounds their waits";
        return Err(Failure::Refused(why.to_owned()));
    }
    let policy = &scenario.policy.use_;
    // `check` names these for hard jobs only, and admits the reservations all the same.
    let obstacles = analyse(scenario, policy).map_err(Failure::input)?.obstacles;
    if let Some(obstacle) = obstacles.first() {
        return Err(Failure::Refused(format!("no certificate: {obstacle}")));
    }
    if !registry::find(policy).is_some_and(|p| p.keeps_deadlines) {
        return Err(Failure::Refused(format!("no certificate: {policy} keeps no deadlines")));
    }
    let keeps = match scenario.policy.options.get(policy, "min-best-effort-bw") {
        Some(OptionValue::Integer(per_mille)) => Share::per_mille(per_mille),
        _ => Share::ZERO,
    };
    let sets = admitted_sets(scenario, policy).map_err(Failure::input)?;
    let layout = scenario.cpu.layout().map_err(Failure::input)?;
    let clusters = layout.as_ref().map_or(&[][..], |layout| layout.clusters());
    let facts = sets.into_iter().map(|set| {
        let cluster = clusters.get(set.cluster as usize);
        let cpus = cluster.map_or(1, |cpus| cpus.len());
        let (from, unit) = (set.from.0, Share::ONE.0);
        // Soft reservations may have that as well.
        let best_effort = if set.all_hard { keeps.0 } else { 0 };
        let reservation = |(name, r): (String, laxity_cpu::Reservation)| Reservation {
            name,
            budget: r.budget.0,
            period: r.period.0,
            deadline: r.deadline.0,
        };
        let reservations = set.reservations.into_iter().map(reservation).collect();
        if cpus > 1 {
            let number = (clusters.len() > 1).then_some(set.cluster);
            let facts = ClusterFacts { number, cpus, from, unit, best_effort, reservations };
            return Facts::Cluster(facts);
        }
        let number = cluster.and_then(|cpus| cpus.first()).map(|cpu| cpu.0);
        Facts::Cpu(CpuFacts { number, from, unit, best_effort, reservations })
    });
    Ok(facts.collect())
}

/// What a checked proof shows.
pub fn says(facts: &CpuFacts, proof: &CpuProof) -> String {
    let horizon = u64::try_from(proof.horizon).unwrap_or(u64::MAX);
    let jobs = match proof.steps.is_empty() {
        true => String::new(),
        false => format!("; short deadlines were followed for {}", Span(horizon)),
    };
    let cpu = facts.number.map_or("the CPU".to_owned(), |number| format!("CPU {number}"));
    format!("Certified: {} on fit {cpu}{jobs}.", in_force(&facts.reservations, facts.from))
}

/// What a checked proof about CPUs that share a queue shows.
pub fn cluster_says(facts: &ClusterFacts, proof: &ClusterProof) -> String {
    let number = facts.number.map_or(String::new(), |number| format!("cluster {number}, "));
    let per_cent = |parts: i128| 100.0 * parts as f64 / proof.parts as f64;
    format!(
        "Certified: {} on fit {number}{} CPUs that share a queue: {:.1} % together, {:.1} % the densest.",
        in_force(&facts.reservations, facts.from),
        facts.cpus,
        per_cent(proof.sum),
        per_cent(proof.largest),
    )
}

fn in_force(reservations: &[Reservation], from: u64) -> String {
    let several = if reservations.len() == 1 { "" } else { "s" };
    format!("{} reservation{several} in force from {}", reservations.len(), Span(from))
}
