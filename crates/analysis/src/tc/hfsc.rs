//! HFSC: the real-time curves of its leaves.

use laxity_curve::{Curve, CurveError, Piece, Rational};
use laxity_tc::TwoPiece;

use super::service::{Device, Offered, Reason, Rule, Service};

/// The curve as configured.
pub fn two_piece(c: TwoPiece) -> Result<Curve, CurveError> {
    let (m1, d, m2): (Rational, Rational, Rational) = (c.m1.into(), c.d.into(), c.m2.into());
    if c.d == 0 {
        return Ok(Curve::line(m2, Rational::ZERO));
    }
    let intercept = m1.minus(m2)?.times(d)?;
    Curve::affine(vec![
        Piece { start: Rational::ZERO, slope: m1, intercept: Rational::ZERO },
        Piece { start: d, slope: m2, intercept },
    ])
}

/// Demand of all leaves above the link, in nanobits: `X = sup [sum S - C t]+`, with `m2 t` for
/// convex curves, since the kernel's `rtsc_min` keeps the old curve where it lies below the work served.
/// `None` where it has no bound.
pub fn excess(leaves: &[TwoPiece], rate: Rational) -> Result<Option<Rational>, CurveError> {
    let mut demand = Curve::line(Rational::ZERO, Rational::ZERO);
    for c in leaves {
        let curve = match c.m1 < c.m2 {
            true => Curve::line(c.m2.into(), Rational::ZERO),
            false => two_piece(*c)?,
        };
        demand = demand.sum(&curve)?;
    }
    let excess = demand.backlog(&Curve::line(rate, Rational::ZERO))?;
    Ok(excess.map(|x| x.greatest(Rational::ZERO)))
}

/// The service of a leaf beside the real-time curves of all leaves, its own included.
pub fn leaf(
    own: Option<TwoPiece>,
    all: &[TwoPiece],
    (rate, latency): (Rational, Rational),
    device: &Device,
) -> Result<Offered, CurveError> {
    let Some(own) = own else { return Ok(Err(Reason::OnlyShare)) };
    if own.m1 == 0 && own.m2 == 0 {
        return Ok(Err(Reason::Zero));
    }
    let Some(excess) = excess(all, rate)? else { return Ok(Err(Reason::CurvesExceedLink)) };
    let late = device.packet().plus(excess)?.over(rate)?.plus(latency)?.plus(device.late())?;
    let curve = two_piece(own)?.later(late)?;
    Ok(Ok(Service { curve, link: None, rule: Rule::HfscRealTime }))
}
