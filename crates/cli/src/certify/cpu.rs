//! CPUs.

use laxity_analysis::cpu::{admitted_sets, analyse};
use laxity_certify::{CpuFacts, CpuProof, Reservation};
use laxity_core::{OptionValue, PolicyOptions as _, Span};
use laxity_cpu::{Share, registry};
use laxity_scenario::cpu::CpuScenario;

use crate::failure::Failure;

/// The sets of reservations that the scenario's policy admits, each from when on.
pub fn facts(scenario: &CpuScenario) -> Result<Vec<CpuFacts>, Failure> {
    if scenario.cpu.cluster.min(scenario.cpu.cpus) > 1 {
        let why = "no certificate: certificates are about CPUs with a queue each, and clusters of this scenario share \
                   one; without `cluster` none do";
        return Err(Failure::Refused(why.to_owned()));
    }
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
    let facts = sets.into_iter().map(|set| CpuFacts {
        number: (scenario.cpu.cpus > 1).then_some(set.cluster),
        from: set.from.0,
        unit: Share::ONE.0,
        // Soft reservations may have that as well.
        best_effort: if set.all_hard { keeps.0 } else { 0 },
        reservations: set
            .reservations
            .into_iter()
            .map(|(name, r)| Reservation {
                name,
                budget: r.budget.0,
                period: r.period.0,
                deadline: r.deadline.0,
            })
            .collect(),
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
    format!(
        "Certified: {} reservation{} in force from {} on fit {cpu}{jobs}.",
        facts.reservations.len(),
        if facts.reservations.len() == 1 { "" } else { "s" },
        Span(facts.from),
    )
}
