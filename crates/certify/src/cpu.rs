//! Certificates of CPUs (`proofs/cpu/Certificate.v`).
//!
//! A reservation whose deadline is its period has its share at every instant. Those with shorter deadlines
//! demand whole jobs, `b ((t - d) / p + 1)` in an interval of `t`; a certificate has the least share that
//! bounds them together. Best effort may have the rest, of which it keeps what the facts say.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::events::{Overflow, Staircase, minus, negative, plus, remainder, replaced, times, up};
use crate::link::MAX_STEPS;
use crate::{CpuFacts, CpuProof, Line, NoCertificate, Refusal, Reservation};

/// The most parts in which shares are counted exactly; beyond it they are rounded up to units.
const MAX_PARTS: i128 = 1 << 64;

/// The least common multiple of the unit and these times, or the unit if that is too large.
pub(crate) fn fewest_parts(unit: u64, times: impl Iterator<Item = u64>) -> i128 {
    let unit = i128::from(unit);
    let multiple = |a: i128, b: u64| {
        let b = i128::from(b);
        (a / divisor(a, b)).checked_mul(b).filter(|parts| *parts <= MAX_PARTS)
    };
    times.into_iter().try_fold(unit, multiple).unwrap_or(unit)
}

/// The parts in which shares for whole periods are counted.
fn parts(facts: &CpuFacts) -> i128 {
    fewest_parts(facts.unit, facts.reservations.iter().filter(|r| !is_short(r)).map(|r| r.period))
}

fn divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Whether the deadline is shorter than the period.
fn is_short(r: &Reservation) -> bool {
    r.deadline < r.period
}

fn valid(facts: &CpuFacts) -> Result<(), String> {
    if facts.unit == 0 || facts.best_effort > facts.unit {
        return Err("unit".to_owned());
    }
    let wrong = |r: &&Reservation| r.budget == 0 || r.period == 0 || r.deadline > r.period;
    match facts.reservations.iter().find(wrong) {
        Some(r) => Err(r.name.clone()),
        None => Ok(()),
    }
}

/// What is left of a CPU beside the shares at every instant, and beside what best effort keeps.
fn left(facts: &CpuFacts, parts: i128) -> Result<i128, Overflow> {
    let mut left = minus(parts, times(facts.best_effort.into(), parts / i128::from(facts.unit))?)?;
    for r in facts.reservations.iter().filter(|r| !is_short(r)) {
        left = minus(left, up(times(parts, r.budget.into())?, r.period.into())?)?;
    }
    Ok(left)
}

fn staircase(r: &Reservation, parts: i128) -> Result<Staircase, Overflow> {
    let step = times(parts, r.budget.into())?;
    Ok(Staircase { due: r.deadline.into(), step, period: r.period.into(), late: 0, scale: 1 })
}

/// Checks a certificate: that it is a proof, and that none of its numbers could be another.
///
/// # Errors
/// The first place at which it is wrong.
pub fn check(facts: &CpuFacts, proof: &CpuProof) -> Result<(), Refusal> {
    valid(facts).map_err(|of| Refusal::Fact { of })?;
    if facts.reservations.is_empty() || proof.parts != parts(facts) {
        return Err(Refusal::Parts);
    }
    if proof.short < 0 || proof.short > left(facts, proof.parts)? {
        return Err(Refusal::Share);
    }
    let (mut demand, mut follows, mut total) = (Vec::<Line>::new(), false, 0i128);
    let mut steps = proof.steps.iter();
    for r in facts.reservations.iter().filter(|r| is_short(r)) {
        let stairs = staircase(r, proof.parts)?;
        let wrong = Refusal::Corner { of: r.name.clone(), number: 1 };
        let Some(count) = steps.next() else { return Err(wrong) };
        total = total.saturating_add(*count);
        if total > MAX_STEPS || *count != stairs.before(proof.horizon)? {
            return Err(wrong);
        }
        let last = minus(*count, 1)?;
        follows |= last >= 0 && plus(stairs.step_at(last)?, 1)? == proof.horizon;
        demand.extend(replaced(&stairs.lines(*count)?)?);
    }
    if steps.next().is_some() {
        return Err(Refusal::Corner { of: String::new(), number: proof.steps.len() });
    }
    if proof.horizon != 0 && !follows {
        return Err(Refusal::Horizon);
    }
    if let Some(at) = negative(&remainder(proof.short, 0, &demand)?, 0)? {
        return Err(Refusal::Demand { at, unit: "ns" });
    }
    // The least share: with less, more would be due in some interval than fits.
    let less = minus(proof.short, 1)?;
    let least = match demand.is_empty() {
        true => proof.short == 0,
        false => negative(&remainder(less, 0, &demand)?, 0)?.is_some(),
    };
    if least { Ok(()) } else { Err(Refusal::Share) }
}

/// Makes the certificate of a CPU.
///
/// # Errors
/// See [`NoCertificate`].
pub fn issue(facts: &CpuFacts) -> Result<CpuProof, NoCertificate> {
    valid(facts).map_err(|of| NoCertificate::Facts { of })?;
    if facts.reservations.is_empty() {
        return Err(NoCertificate::Nothing);
    }
    let parts = parts(facts);
    let mut stairs = Vec::new();
    for r in facts.reservations.iter().filter(|r| is_short(r)) {
        stairs.push(staircase(r, parts)?);
    }
    let left = left(facts, parts)?;
    let (short, horizon) = least_share(&stairs, left)?;
    if short > left {
        return Err(NoCertificate::NotAdmitted);
    }
    let (mut after_last, mut steps) = (0, Vec::new());
    for stair in &stairs {
        let count = stair.before(horizon)?;
        if count > 0 {
            after_last = after_last.max(plus(stair.step_at(count - 1)?, 1)?);
        }
        steps.push(count);
    }
    Ok(CpuProof { parts, short, steps, horizon: after_last })
}

/// The least share that bounds the demand of all jobs, and from where on the lines above their steps show it.
/// It is at most `left`, or the sets are refused.
fn least_share(stairs: &[Staircase], left: i128) -> Result<(i128, i128), NoCertificate> {
    let (mut rises, mut levels, mut last) = (0, 0, 0);
    let mut due = BinaryHeap::new();
    for (i, stair) in stairs.iter().enumerate() {
        let line = stair.above()?;
        rises = plus(rises, line.rise)?;
        levels = plus(levels, line.level)?;
        last = last.max(stair.due);
        due.push(Reverse((stair.due, i, 0)));
    }
    let (mut share, mut demand) = (0, 0);
    for _ in 0..MAX_STEPS {
        let Some(Reverse((t, i, number))) = due.pop() else { return Ok((0, 0)) };
        let free = minus(share, rises)?;
        if free > 0 {
            let enough = up(levels, free)?.max(last);
            if t >= enough {
                return Ok((share, enough));
            }
        }
        demand = plus(demand, stairs[i].step)?;
        due.push(Reverse((stairs[i].step_at(number)?, i, number + 1)));
        // The demand of several jobs due at one instant is whole with the last of them.
        share = share.max(up(demand, t.max(1))?);
        if share > left {
            return Err(NoCertificate::NotAdmitted);
        }
    }
    let repeats = share <= rises;
    Err(if repeats {
        NoCertificate::Repeats
    } else {
        NoCertificate::TooManySteps { limit: MAX_STEPS }
    })
}
