//! taprio: the least open time of a gate.

use laxity_curve::{Curve, CurveError, Piece, Rational};

use super::service::{Device, Offered, Reason, Rule, Service};

/// Most openings of a gate in a cycle: each is a start of the window that sees the least.
pub const MAX_OPENINGS: usize = 64;

/// The service of a traffic class: `gates` are mask and duration in ns, in a cycle of `cycle` ns.
pub fn traffic_class(
    class: usize,
    gates: &[(u64, u64)],
    cycle: u64,
    (rate, latency): (Rational, Rational),
    device: &Device,
) -> Result<Offered, CurveError> {
    let bit = 1u64.checked_shl(class as u32).unwrap_or(0);
    let openings = match openings(bit, gates, cycle) {
        Ok(openings) if openings.len() > MAX_OPENINGS => {
            return Ok(Err(Reason::NotAnalysed(format!("more than {MAX_OPENINGS} openings"))));
        }
        Ok(openings) => openings,
        Err(reason) => return Ok(Err(reason)),
    };
    // A packet must end before the gate closes, and the gate opens late.
    let lost = device.packet().over(rate)?.plus(device.late())?.plus(latency)?;
    let mut usable = Vec::new();
    for (start, length) in openings {
        let length = Rational::from(length).minus(lost)?;
        if length.signum() > 0 {
            usable.push((Rational::from(start).plus(lost)?, length));
        }
    }
    if usable.is_empty() {
        return Ok(Err(Reason::GateTooShort));
    }
    let mut least: Option<Curve> = None;
    for first in 0..usable.len() {
        let curve = from_end_of(first, &usable, cycle.into(), rate)?;
        least = Some(match least {
            Some(before) => before.min(&curve)?,
            None => curve,
        });
    }
    let curve = least.unwrap_or(Curve::line(Rational::ZERO, Rational::ZERO));
    Ok(Ok(Service { curve, link: None, rule: Rule::Gates }))
}

/// Start and length of each opening of the gate, adjacent ones joined, also over the end of the cycle.
fn openings(bit: u64, gates: &[(u64, u64)], cycle: u64) -> Result<Vec<(u64, u64)>, Reason> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    let mut at = 0u64;
    for (mask, duration) in gates {
        // A cycle shorter than its entries cuts them.
        let duration = (*duration).min(cycle.saturating_sub(at));
        if mask & bit != 0 && duration > 0 {
            if *mask != bit {
                return Err(Reason::SharedGate);
            }
            match out.last_mut() {
                Some((start, length)) if *start + *length == at => *length += duration,
                _ => out.push((at, duration)),
            }
        }
        at += duration;
    }
    // A longer cycle keeps the last gates; the time is not counted as open, which is on the safe side.
    if let [first, .., last] = out.as_mut_slice() {
        if first.0 == 0 && last.0 + last.1 == cycle {
            last.1 += first.1;
            out.remove(0);
        }
    } else if let [(0, length)] = out.as_slice()
        && *length == cycle
    {
        return Err(Reason::NotAnalysed("a gate that is always open".into()));
    }
    match out.is_empty() {
        true => Err(Reason::GateTooShort),
        false => Ok(out),
    }
}

/// Traffic that passes from the end of an opening on.
fn from_end_of(
    first: usize,
    openings: &[(Rational, Rational)],
    cycle: Rational,
    rate: Rational,
) -> Result<Curve, CurveError> {
    let end = openings[first].0.plus(openings[first].1)?;
    let flat =
        |start: Rational, level: Rational| Piece { start, slope: Rational::ZERO, intercept: level };
    let mut pieces = vec![flat(Rational::ZERO, Rational::ZERO)];
    let mut level = Rational::ZERO;
    for step in 1..=openings.len() {
        let index = (first + step) % openings.len();
        let (start, length) = openings[index];
        let mut start = start.minus(end)?;
        while start.signum() < 0 {
            start = start.plus(cycle)?;
        }
        let slope = Piece { start, slope: rate, intercept: level.minus(rate.times(start)?)? };
        level = level.plus(rate.times(length)?)?;
        pieces.push(slope);
        let stop = start.plus(length)?;
        if stop < cycle {
            pieces.push(flat(stop, level));
        }
    }
    Curve::periodic(pieces, 0, cycle, level)
}
