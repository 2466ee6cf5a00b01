//! Certificates of CPUs that share a queue (`proofs/cpu/Cluster.v`).
//!
//! On `m` CPUs under global EDF no deadline is missed while the sum of densities and `m - 1` times the greatest are
//! together at most `m` (Goossens, Funk and Baruah, "Priority-driven scheduling of periodic task systems on
//! multiprocessors", 2003). The density of a reservation is its budget over its deadline: with a longer period it asks
//! for less. A certificate has both numbers, counted in whole parts of a CPU. That theorem is cited, not proved here.

use crate::cpu::fewest_parts;
use crate::events::{Overflow, plus, times, up};
use crate::{ClusterFacts, ClusterProof, NoCertificate, Refusal};

fn valid(facts: &ClusterFacts) -> Result<(), String> {
    if facts.unit == 0 || facts.best_effort > facts.unit {
        return Err("unit".to_owned());
    }
    if facts.cpus == 0 {
        return Err("cpus".to_owned());
    }
    let wrong = facts
        .reservations
        .iter()
        .find(|r| r.budget == 0 || r.deadline == 0 || r.deadline > r.period);
    wrong.map_or(Ok(()), |r| Err(r.name.clone()))
}

/// Densities are whole in so many parts of a CPU.
fn parts(facts: &ClusterFacts) -> i128 {
    fewest_parts(facts.unit, facts.reservations.iter().map(|r| r.deadline))
}

/// The sum of densities and the greatest, each rounded up to whole parts.
fn densities(facts: &ClusterFacts, parts: i128) -> Result<(i128, i128), Overflow> {
    let (mut sum, mut largest) = (0, 0);
    for r in &facts.reservations {
        let density = up(times(parts, r.budget.into())?, r.deadline.into())?;
        sum = plus(sum, density)?;
        largest = largest.max(density);
    }
    Ok((sum, largest))
}

/// Whether the test holds beside the share of each CPU that best effort keeps.
fn fits(facts: &ClusterFacts, proof: &ClusterProof) -> Result<bool, Overflow> {
    let cpus = i128::from(facts.cpus);
    let keeps = times(facts.best_effort.into(), proof.parts / i128::from(facts.unit))?;
    let needs = plus(proof.sum, times(cpus - 1, proof.largest)?)?;
    Ok(plus(needs, times(cpus, keeps)?)? <= times(cpus, proof.parts)?)
}

/// Checks a certificate: that it is a proof, and that none of its numbers could be another.
///
/// # Errors
/// The first place at which it is wrong.
pub fn check(facts: &ClusterFacts, proof: &ClusterProof) -> Result<(), Refusal> {
    valid(facts).map_err(|of| Refusal::Fact { of })?;
    if facts.reservations.is_empty() || proof.parts != parts(facts) {
        return Err(Refusal::Parts);
    }
    if (proof.sum, proof.largest) != densities(facts, proof.parts)? {
        return Err(Refusal::Density);
    }
    if fits(facts, proof)? { Ok(()) } else { Err(Refusal::Cluster) }
}

/// Makes the certificate of a cluster.
///
/// # Errors
/// See [`NoCertificate`].
pub fn issue(facts: &ClusterFacts) -> Result<ClusterProof, NoCertificate> {
    valid(facts).map_err(|of| NoCertificate::Facts { of })?;
    if facts.reservations.is_empty() {
        return Err(NoCertificate::Nothing);
    }
    let parts = parts(facts);
    let (sum, largest) = densities(facts, parts)?;
    let proof = ClusterProof { parts, sum, largest };
    if fits(facts, &proof)? { Ok(proof) } else { Err(NoCertificate::NotAdmitted) }
}
