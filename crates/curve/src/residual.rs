//! What the link has left: the two residual curves and the effective residual.

use alloc::vec::Vec;

use laxity_core::{Rate, Span};

use crate::curve::{Curve, Piece};
use crate::sweep::{self, Horizon, Segment, Which, bytes_floor};
use crate::{CurveError, FlowSpec, Guarantee, InverseCurve, InversePiece, LinkSpec, Rational};

/// Residual capacity of a link beside its real-time flows.
///
/// `R(t) = C t - sum_k A_k(t - d_k) - s(t)`; `admission` and `deadlines` differ in the blocking
/// term `s` under [`Blocking::Exact`](crate::Blocking::Exact). `effective` is
/// `E(t) = inf { R(t') : t' >= t }` of `deadlines` (section 3 of the paper).
#[derive(Clone, Debug)]
pub struct Residual {
    admission: Curve,
    deadlines: Curve,
    effective: Curve,
    segments: Vec<Segment>,
    least_deadline: Span,
    horizon: Horizon,
}

/// A part of the effective residual, from the left: the line `slope`, `intercept` from `start`
/// on; a flat has slope 0 and its level as intercept.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: Rational,
    slope: i128,
    intercept: Rational,
}

impl Residual {
    /// The residual of a link.
    ///
    /// # Errors
    /// A link of rate zero, [`CurveError::Overload`], or numbers beyond 128 bits.
    pub fn new(link: &LinkSpec, flows: &[FlowSpec]) -> Result<Residual, CurveError> {
        if link.rate.0 == 0 {
            return Err(CurveError::ZeroCapacity);
        }
        let total = sweep::total_rate(flows);
        if total > i128::from(link.rate.0) {
            let total = Rate(u64::try_from(total).unwrap_or(u64::MAX));
            return Err(CurveError::Overload { total, capacity: link.rate });
        }
        let horizon = sweep::horizon(link, flows, 2)?;
        let admission = curve(&sweep::residual(link, flows, Which::Admission, horizon)?)?;
        let segments = sweep::residual(link, flows, Which::Deadlines, horizon)?;
        let parts = effective(&segments)?;
        let pieces = parts.iter().map(|p| Piece {
            start: p.start,
            slope: p.slope.into(),
            intercept: p.intercept,
        });
        Ok(Residual {
            admission,
            deadlines: curve(&segments)?,
            effective: Curve::affine(pieces.collect())?,
            segments,
            least_deadline: flows.iter().map(|f| f.deadline).min().unwrap_or(Span(0)),
            horizon,
        })
    }

    /// The residual that must not be negative from the least deadline on.
    pub fn admission(&self) -> &Curve {
        &self.admission
    }

    /// The residual that bounds what best-effort deadlines may promise.
    pub fn deadlines(&self) -> &Curve {
        &self.deadlines
    }

    /// The effective residual `E`: continuous, non-decreasing, negative near 0 where packets
    /// block.
    pub fn effective(&self) -> &Curve {
        &self.effective
    }

    /// The least deadline of the real-time flows; 0 without any.
    pub fn least_deadline(&self) -> Span {
        self.least_deadline
    }

    /// Up to here the curves are exact, in ns; `None` when they are everywhere.
    pub fn horizon(&self) -> Option<i128> {
        self.horizon.periodic.then_some(self.horizon.until)
    }

    /// Whether periodic envelopes were replaced by affine upper bounds after the horizon. `E` is
    /// then a lower bound near the horizon too, always on the safe side.
    pub fn is_bound(&self) -> bool {
        self.horizon.periodic
    }

    /// The inverse that assigners work on: of `E`, or of `E_rt(t) = E(max(t, d_min))` when only
    /// real-time deadlines are guaranteed.
    pub fn service(&self, guarantee: Guarantee) -> Result<InverseCurve, CurveError> {
        let parts = effective(&self.segments)?;
        let from = match guarantee {
            Guarantee::Realtime => Rational::from(self.least_deadline.0),
            Guarantee::All => Rational::ZERO,
        };
        let mut pieces: Vec<InversePiece> = Vec::with_capacity(parts.len());
        let mut top = 0;
        for (i, part) in parts.iter().enumerate() {
            if parts.get(i + 1).is_some_and(|next| next.start <= from) {
                continue;
            }
            let start = part.start.greatest(from);
            let level = Rational::whole(part.slope).times(start)?.plus(part.intercept)?;
            let above = u64::try_from(bytes_floor(level.floor()).max(0))
                .map_err(|_| crate::error::overflow("the inverse residual"))?;
            top = above;
            if part.slope == 0 {
                continue;
            }
            // A line without a whole byte on it is never asked for.
            if pieces.last().is_some_and(|p| p.above == above) {
                pieces.pop();
            }
            let slope = u64::try_from(part.slope)
                .map_err(|_| crate::error::overflow("the inverse residual"))?;
            pieces.push(InversePiece { above, slope, intercept: part.intercept.floor() });
        }
        let saturated = parts.last().is_some_and(|p| p.slope == 0).then_some(top);
        if saturated.is_some() {
            while pieces.last().is_some_and(|p| p.above >= top) {
                pieces.pop();
            }
        }
        InverseCurve::new(pieces, saturated)
    }
}

fn curve(segments: &[Segment]) -> Result<Curve, CurveError> {
    let pieces = segments.iter().map(|s| Piece {
        start: s.start,
        slope: s.slope.into(),
        intercept: s.intercept.into(),
    });
    Curve::affine(pieces.collect())
}

/// The infimum from the right of a residual that does not fall for ever, in order of time.
fn effective(segments: &[Segment]) -> Result<Vec<Part>, CurveError> {
    let mut parts: Vec<Part> = Vec::with_capacity(segments.len() * 2);
    let flat =
        |at: Rational, level: Rational| -> Part { Part { start: at, slope: 0, intercept: level } };
    // From the right; `level` is the infimum of everything after the segment.
    let mut level: Option<Rational> = None;
    for (i, segment) in segments.iter().enumerate().rev() {
        let begin = segment.at(segment.start)?;
        let line = Part {
            start: segment.start,
            slope: segment.slope,
            intercept: segment.intercept.into(),
        };
        let Some(bound) = level else {
            parts.push(line);
            level = Some(begin);
            continue;
        };
        let end = segment.at(segments[i + 1].start)?;
        if segment.slope <= 0 {
            let low = bound.least(end);
            parts.push(flat(segment.start, low));
            level = Some(low);
        } else if begin >= bound {
            parts.push(flat(segment.start, bound));
        } else {
            if end > bound {
                let rise = bound.minus(segment.intercept.into())?;
                let at = rise.over(segment.slope.into())?;
                parts.push(flat(at, bound));
            }
            parts.push(line);
            level = Some(begin);
        }
    }
    parts.reverse();
    parts.dedup_by(|b, a| a.slope == b.slope && a.intercept == b.intercept);
    Ok(parts)
}
