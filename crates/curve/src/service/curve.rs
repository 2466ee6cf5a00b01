//! The service curve of a flow, and its named forms.

use alloc::vec::Vec;

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};

use crate::curve::{Curve, Piece};
use crate::envelope::nanobits;
use crate::error::overflow;
use crate::{CurveError, Envelope, Rational};

/// The most pieces of a service curve, jumps included: what a packet may cost.
pub const MAX_SERVICE_PIECES: usize = 32;

/// A service curve: non-decreasing, right-continuous and piecewise linear from `S(0) = 0`, with
/// jumps at `t > 0`, in nanobits on the wire over nanoseconds. It grows for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceCurve(Curve);

impl ServiceCurve {
    /// A service curve from a curve.
    ///
    /// # Errors
    /// `S(0)` is not 0, the curve decreases, saturates or repeats, or has more than 32 pieces.
    pub fn new(curve: Curve) -> Result<ServiceCurve, CurveError> {
        let mut jumps = 0;
        let mut before = Rational::ZERO;
        for (i, piece) in curve.pieces().iter().enumerate() {
            let value = piece.at(piece.start)?;
            if i == 0 && value != Rational::ZERO {
                return Err(CurveError::ServiceAtZero);
            }
            if piece.slope.signum() < 0 || value < before {
                return Err(CurveError::Decreasing { at: piece.start });
            }
            jumps += usize::from(value > before);
            if let Some(next) = curve.pieces().get(i + 1) {
                before = piece.at(next.start)?;
            }
        }
        if curve.tail() != crate::Tail::Affine || curve.long_term_slope()?.signum() <= 0 {
            return Err(CurveError::Shape { needs: "growing for ever by a last line" });
        }
        if curve.pieces().len() + jumps > MAX_SERVICE_PIECES {
            return Err(CurveError::TooManyPieces { limit: MAX_SERVICE_PIECES });
        }
        Ok(ServiceCurve(curve))
    }

    /// `R * (t - T)` after the latency `T`, zero before.
    ///
    /// # Errors
    /// A rate of zero.
    pub fn rate_latency(rate: Rate, latency: Span) -> Result<ServiceCurve, CurveError> {
        ServiceCurve::two_piece(Rate(0), latency, rate)
    }

    /// The two-piece curve of HFSC: slope `m1` for the first `d`, then `m2` (Stoica, Zhang and Ng
    /// 1997, section 4). Convex with `m1 < m2`, concave with `m1 > m2`.
    ///
    /// # Errors
    /// `m2` zero.
    pub fn two_piece(m1: Rate, d: Span, m2: Rate) -> Result<ServiceCurve, CurveError> {
        const OP: &str = "a two-piece service curve";
        let first = Piece { start: 0.into(), slope: m1.0.into(), intercept: Rational::ZERO };
        let gap = i128::from(m1.0) - i128::from(m2.0);
        let intercept = gap.checked_mul(d.0.into()).ok_or(overflow(OP))?;
        let second = Piece { start: d.0.into(), slope: m2.0.into(), intercept: intercept.into() };
        let pieces = match d.0 {
            0 => alloc::vec![second],
            _ => alloc::vec![first, second],
        };
        ServiceCurve::new(Curve::affine(pieces)?)
    }

    /// The curve that `tc` writes `umax W dmax D rate R`: packets of up to `umax` within `dmax`,
    /// and `rate` in the long run. Concave `(umax/dmax, dmax, rate)` when `umax/dmax > rate`, else
    /// convex `(0, dmax - umax/rate, rate)`.
    ///
    /// # Errors
    /// `rate` or `dmax` zero, or a slope that [`inverse`](Self::inverse) cannot express.
    pub fn umax_dmax(umax: Bytes, dmax: Span, rate: Rate) -> Result<ServiceCurve, CurveError> {
        if rate.0 == 0 || dmax.0 == 0 {
            return Err(CurveError::OutOfRange { what: "`rate` and `dmax`, both positive" });
        }
        const OP: &str = "a two-piece service curve";
        let (slope, work) = (Rational::new(nanobits(umax), dmax.0.into())?, nanobits(umax));
        let back = i128::from(rate.0).checked_mul(dmax.0.into()).ok_or(overflow(OP))?;
        // The second line passes through (dmax, umax) either way.
        let (rate, intercept) = (Rational::from(rate.0), Rational::whole(work - back));
        let pieces = if slope > rate {
            let first = Piece { start: 0.into(), slope, intercept: Rational::ZERO };
            alloc::vec![first, Piece { start: dmax.0.into(), slope: rate, intercept }]
        } else {
            let start = intercept.negated()?.over(rate)?;
            let flat = Piece { start: 0.into(), slope: 0.into(), intercept: Rational::ZERO };
            let line = Piece { start, slope: rate, intercept };
            if start == Rational::ZERO { alloc::vec![line] } else { alloc::vec![flat, line] }
        };
        ServiceCurve::new(Curve::affine(pieces)?)
    }

    /// `A(t - d)`: what an envelope and a deadline ask for. Needs token buckets; a periodic
    /// envelope never ends in a line.
    ///
    /// # Errors
    /// A periodic envelope, a deadline of zero, or a long-term rate of zero.
    pub fn delay(envelope: &Envelope, deadline: Span) -> Result<ServiceCurve, CurveError> {
        ServiceCurve::new(envelope.curve()?.later(deadline.0.into())?)
    }

    /// The curve through points `(t, S(t))` in order of time, straight between them and with slope
    /// `rate` after the last. Two points at one instant are a jump there. From the origin to the
    /// first point it is straight as well.
    ///
    /// # Errors
    /// Points out of order or decreasing, a jump at 0, more than two points at one instant, or a
    /// slope that [`inverse`](Self::inverse) cannot express.
    pub fn points(points: &[(Span, Bytes)], rate: Rate) -> Result<ServiceCurve, CurveError> {
        let mut pieces: Vec<Piece> = Vec::with_capacity(points.len() + 1);
        let (mut from, mut level) = (Span(0), Bytes(0));
        let mut jumped = true;
        for &(t, work) in points {
            if t < from || work < level {
                return Err(CurveError::Decreasing { at: t.0.into() });
            }
            if t == from && jumped && work > level {
                let zero = CurveError::Shape { needs: "without a second jump at one instant" };
                return Err(if t.0 == 0 { CurveError::ServiceAtZero } else { zero });
            }
            jumped = t == from && work > level;
            if t > from {
                pieces.push(through((from, level), slope((from, level), (t, work))?)?);
            }
            (from, level) = (t, work);
        }
        pieces.push(through((from, level), rate.0.into())?);
        ServiceCurve::new(Curve::affine(pieces)?)
    }

    /// The curve later by `by`: `S(t - by)`.
    ///
    /// # Errors
    /// Numbers beyond 128 bits.
    pub fn later(&self, by: Span) -> Result<ServiceCurve, CurveError> {
        ServiceCurve::new(self.0.later(by.0.into())?)
    }

    /// The curve itself.
    pub fn curve(&self) -> &Curve {
        &self.0
    }

    /// The long-term rate, rounded up to a whole bit/s.
    pub fn rate(&self) -> Rate {
        let slope = self.0.pieces().last().map_or(0, |p| p.slope.ceil());
        Rate(u64::try_from(slope).unwrap_or(u64::MAX))
    }

    /// `Sinv(w) = min { t : S(t) >= w }` in ns, for work in nanobits.
    ///
    /// # Errors
    /// Numbers beyond 128 bits.
    pub fn reach(&self, work: Rational) -> Result<Rational, CurveError> {
        Ok(self.0.lower_inverse(work)?.unwrap_or(Rational::ZERO))
    }
}

/// The slope from one point to a later one, in bit/s.
fn slope(a: (Span, Bytes), b: (Span, Bytes)) -> Result<Rational, CurveError> {
    Rational::new(nanobits(b.1) - nanobits(a.1), i128::from(b.0.0) - i128::from(a.0.0))
}

/// The line of a slope through a point, from it on.
fn through(point: (Span, Bytes), slope: Rational) -> Result<Piece, CurveError> {
    let level = Rational::whole(i128::from(point.1.0) * NANOBITS_PER_BYTE);
    let intercept = level.minus(slope.times(point.0.0.into())?)?;
    Ok(Piece { start: point.0.0.into(), slope, intercept })
}
