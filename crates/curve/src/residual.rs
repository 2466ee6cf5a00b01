//! Residual capacity of the link: the two residual curves and the effective residual.

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
    /// The effective residual in lines of whole slope.
    parts: Vec<Part>,
    /// The least deadline in ns.
    least: Rational,
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
            parts,
            least: flows.iter().map(|f| f.deadline.0).min().unwrap_or(0).into(),
            horizon,
        })
    }

    /// From both residual curves, whose slopes may be fractions; `least` is the shortest interval
    /// in ns in which anything real-time can be due.
    pub(crate) fn of_curves(
        admission: Curve,
        deadlines: Curve,
        least: Rational,
        horizon: Horizon,
    ) -> Result<Residual, CurveError> {
        let effective = deadlines.infimum_from()?;
        let parts = with_whole_slopes(&effective)?;
        Ok(Residual { admission, deadlines, effective, parts, least, horizon })
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

    /// The least deadline of the real-time flows, rounded up to whole ns; 0 without any. With
    /// service curves the shortest interval in which a packet can be due.
    pub fn least_deadline(&self) -> Span {
        Span(u64::try_from(self.least.ceil()).unwrap_or(u64::MAX))
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
        let parts = &self.parts;
        let from = match guarantee {
            Guarantee::Realtime => self.least,
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

/// Lines of whole slope below a non-decreasing curve. What a slope loses, less than a nanobit
/// each ns, stays lost in all later pieces, so that the lines never fall.
fn with_whole_slopes(curve: &Curve) -> Result<Vec<Part>, CurveError> {
    let pieces = curve.pieces();
    let mut parts: Vec<Part> = Vec::with_capacity(pieces.len());
    let mut lost = Rational::ZERO;
    for (i, piece) in pieces.iter().enumerate() {
        let slope = piece.slope.floor();
        let level = piece.at(piece.start)?.minus(lost)?;
        let intercept = level.minus(Rational::whole(slope).times(piece.start)?)?;
        parts.push(Part { start: piece.start, slope, intercept });
        if let (Some(next), false) = (pieces.get(i + 1), piece.slope.is_whole()) {
            let less = piece.slope.minus(slope.into())?;
            let length = next.start.minus(piece.start)?;
            lost = Rational::whole(less.times(length)?.plus(lost)?.ceil());
        }
    }
    Ok(parts)
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
