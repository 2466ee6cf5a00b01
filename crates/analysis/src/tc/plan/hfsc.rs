//! Real-time curves of HFSC for envelopes and deadlines.

use laxity_curve::{CurveError, Rational};
use laxity_tc::TwoPiece;

use super::arrivals::Arrivals;
use super::{Link, PlanError, RealTime, Target, grain};
use crate::tc::hfsc::excess;

/// Most rounds until the excess of all curves over the link settles.
const ROUNDS: usize = 64;

/// Longest `d` that the kernel stores: 32 bits of microseconds.
const LONGEST: u64 = u32::MAX as u64 * 1000;

/// A two-piece curve in exact numbers: bit/s, ns, bit/s.
pub type Exact = (Rational, Rational, Rational);

/// The least two-piece curve above an envelope later by `d`: concave where the burst needs more than the
/// rate, else convex.
pub fn curve(arrivals: &Arrivals, d: Rational) -> Result<Exact, CurveError> {
    let rate = arrivals.rate();
    let (mut m1, mut end, mut latest) = (Rational::ZERO, d, d);
    for (x, y) in arrivals.corners()? {
        let due = d.plus(x)?;
        m1 = m1.greatest(y.over(due)?);
        end = due;
        if rate.signum() > 0 {
            latest = latest.least(due.minus(y.over(rate)?)?);
        }
    }
    Ok(match m1 > rate {
        true => (m1, end, rate),
        false => (Rational::ZERO, latest, rate),
    })
}

/// The curve in values that `tc` keeps, not below.
fn kept((m1, d, m2): Exact) -> TwoPiece {
    if m1.signum() > 0 {
        let (m1, d) = (grain::rate_up(m1), grain::time_up(d));
        match d <= LONGEST {
            true => TwoPiece { m1, d, m2: grain::rate_up(m2) },
            false => TwoPiece { m1: 0, d: 0, m2: m1 },
        }
    } else {
        let d = grain::time_down(d).min(grain::time_down(LONGEST.into()));
        TwoPiece { m1: 0, d, m2: grain::rate_up(m2) }
    }
}

/// A curve for each flow: `d - latency - (L + X)/C - tau` is left of its deadline, `X` the excess of all.
pub fn curves(flows: &[RealTime], link: &Link) -> Result<Vec<TwoPiece>, PlanError> {
    let mut x = Rational::ZERO;
    for _ in 0..ROUNDS {
        let late = link.packet.plus(x)?.over(link.rate)?.plus(link.latency)?.plus(link.late)?;
        let mut curves = Vec::with_capacity(flows.len());
        for flow in flows {
            let d = Rational::from(flow.deadline.0).minus(late)?;
            if d.signum() <= 0 && x.signum() == 0 {
                return Err(flow.too_soon(late, Target::Hfsc));
            }
            if d.signum() <= 0 {
                return Err(sum(&flow.name, link));
            }
            curves.push(kept(curve(&flow.arrivals, d)?));
        }
        if curves.iter().any(|c| c.m1.max(c.m2) / 8 > u64::from(u32::MAX)) {
            return Err(PlanError::Range {
                key: "[link] rate",
                what: "hfsc counts at most 34 Gbit/s; choose less",
            });
        }
        match excess(&curves, link.rate)? {
            None => return Err(most(flows, link)),
            Some(now) if now <= x => return Ok(curves),
            Some(now) => x = now,
        }
    }
    Err(most(flows, link))
}

fn sum(flow: &str, link: &Link) -> PlanError {
    PlanError::Sum { flow: flow.to_owned(), link: link.bit_rate(), target: Target::Hfsc }
}

/// The flow of the largest rate needs most.
fn most(flows: &[RealTime], link: &Link) -> PlanError {
    let flow = flows.iter().max_by_key(|f| f.arrivals.rate());
    sum(flow.map_or("", |f| f.name.as_str()), link)
}
