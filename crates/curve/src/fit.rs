//! Straight lines below the effective residual: checking given ones and finding the best.

use alloc::vec::Vec;
use core::fmt;

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};

use crate::{Curve, CurveError, Guarantee, Rational, Residual, ShiftedLine, TwoSegment};

/// Why an approximation of the residual is refused, or none exists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FitError {
    /// The residual itself could not be evaluated.
    Curve(CurveError),
    /// A slope of zero serves nothing.
    ZeroSlope,
    /// The first slope is above the second; the algorithm needs `first <= second`.
    FallingSlopes {
        /// The slope from the origin.
        first: Rate,
        /// The slope after the corner.
        second: Rate,
    },
    /// The flows leave nothing in the long run: no rising line stays below the residual.
    Saturated,
    /// No line through the origin is safe, because packets may block at once.
    NoLineThroughOrigin,
    /// The approximation lies above the effective residual.
    Above {
        /// Where it lies highest above it.
        at: Span,
        /// By how much there, rounded up.
        excess: Bytes,
        /// The largest slope that would do, the other parameters unchanged.
        slope: Option<Rate>,
        /// The least shift or corner that would do with the same slopes.
        shift: Option<Span>,
    },
}

impl From<CurveError> for FitError {
    fn from(error: CurveError) -> FitError {
        FitError::Curve(error)
    }
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FitError::Curve(error) => error.fmt(f),
            FitError::ZeroSlope => write!(f, "the slope is 0; give a positive rate"),
            FitError::FallingSlopes { first, second } => write!(
                f,
                "the first slope {first} is above the second {second}; exchange or lower them"
            ),
            FitError::Saturated => write!(
                f,
                "the flows take the whole link in the long run, so no line is safe; lower a rate"
            ),
            FitError::NoLineThroughOrigin => write!(
                f,
                "no line through the origin is safe; use a shifted line or guarantee = \"realtime\""
            ),
            FitError::Above { at, excess, slope, shift } => {
                write!(f, "at {at} it lies {excess} above the effective residual")?;
                match (slope, shift) {
                    (Some(slope), Some(shift)) => {
                        write!(f, "; a slope of {slope}, or a shift or corner of {shift}, would do")
                    }
                    (Some(slope), None) => write!(f, "; a slope of {slope} would do"),
                    (None, Some(shift)) => write!(f, "; a shift or corner of {shift} would do"),
                    (None, None) => write!(f, "; leave the parameters out to have them fitted"),
                }
            }
        }
    }
}

impl core::error::Error for FitError {}

/// Upper bound of a convex approximation: the corners at which `E` grows steeper, and its
/// slope in the long run. Elsewhere a convex curve is never highest above `E`.
struct Bound<'a> {
    curve: &'a Curve,
    /// The constraint holds from here on.
    from: Rational,
    corners: Vec<(Rational, Rational)>,
    last_slope: u64,
}

impl Bound<'_> {
    fn new(residual: &Residual, guarantee: Guarantee) -> Result<Bound<'_>, CurveError> {
        let curve = residual.effective();
        let from = match guarantee {
            Guarantee::Realtime => Rational::from(residual.least_deadline().0),
            Guarantee::All => Rational::ZERO,
        };
        let mut corners = Vec::new();
        for pair in curve.pieces().windows(2) {
            if pair[1].slope > pair[0].slope && pair[1].start > from {
                corners.push((pair[1].start, pair[1].at(pair[1].start)?));
            }
        }
        let last = curve.long_term_slope()?.floor();
        let last_slope = u64::try_from(last.max(0))
            .map_err(|_| crate::error::overflow("the slope of the residual"))?;
        Ok(Bound { curve, from, corners, last_slope })
    }

    /// The corners as whole numbers, time up and work down, from the first instant on at which
    /// the residual is not negative; lower convex hull. Empty when it stays negative.
    fn hull(&self) -> Result<Vec<(i128, i128)>, CurveError> {
        let mut hull: Vec<(i128, i128)> = Vec::new();
        let Some(first) = self.first_not_negative()? else { return Ok(hull) };
        let begin = (first.ceil(), self.curve.value(first)?.floor().max(0));
        let later = self.corners.iter().filter(|(t, _)| *t > first);
        for point in core::iter::once(begin).chain(later.map(|(t, v)| (t.ceil(), v.floor()))) {
            if hull.last().is_some_and(|last| last.0 == point.0) {
                continue; // `E` does not fall, so the earlier one is the tighter
            }
            while let [.., a, b] = hull[..] {
                let turn = product(b.1 - a.1, point.0 - a.0)? - product(point.1 - a.1, b.0 - a.0)?;
                if turn < 0 {
                    break;
                }
                hull.pop();
            }
            hull.push(point);
        }
        Ok(hull)
    }

    /// The last corner of the residual, rounded up. Not always one that constrains: a flow whose
    /// packet stops blocking as it becomes demand may only make the residual less steep.
    fn end(&self, hull: &[(i128, i128)]) -> i128 {
        let last = self.curve.pieces().last().map_or(0, |p| p.start.ceil());
        hull.last().map_or(last, |point| last.max(point.0))
    }

    fn first_not_negative(&self) -> Result<Option<Rational>, CurveError> {
        if self.curve.value(self.from)?.signum() >= 0 {
            return Ok(Some(self.from));
        }
        let pieces = self.curve.pieces();
        for (i, piece) in pieces.iter().enumerate() {
            if piece.slope.signum() <= 0 {
                continue;
            }
            let zero = piece.intercept.negated()?.over(piece.slope)?;
            if pieces.get(i + 1).is_none_or(|next| zero < next.start) {
                return Ok(Some(zero.greatest(self.from)));
            }
        }
        Ok(None)
    }

    /// Compares the convex curve `line`, from `straight` on a line of this slope, with `E` from
    /// `begin` on. Where it lies highest above, if it does.
    fn highest(
        &self,
        begin: Rational,
        straight: Rational,
        slope: u64,
        line: &dyn Fn(Rational) -> Result<Rational, CurveError>,
    ) -> Result<Option<(Span, Bytes)>, CurveError> {
        let begin = begin.greatest(self.from);
        let mut worst = (begin, line(begin)?.minus(self.curve.value(begin)?)?);
        for (t, v) in self.corners.iter().filter(|(t, _)| *t > begin) {
            let excess = line(*t)?.minus(*v)?;
            if excess > worst.1 {
                worst = (*t, excess);
            }
        }
        if worst.1.signum() <= 0 && slope > self.last_slope {
            // Only far out: the first whole ns past the crossing with the last line.
            let last = self.curve.pieces().last().map_or(begin, |p| p.start);
            let last = last.greatest(begin).greatest(straight);
            let gap = self.curve.value(last)?.minus(line(last)?)?;
            let steeper = i128::from(slope) - i128::from(self.last_slope);
            let at = last.plus(gap.over(steeper.into())?)?.floor() + 1;
            worst = (at.into(), line(at.into())?.minus(self.curve.value(at.into())?)?);
        }
        if worst.1.signum() <= 0 {
            return Ok(None);
        }
        let excess = worst.1.over(NANOBITS_PER_BYTE.into())?.ceil();
        Ok(Some((span(worst.0.ceil()), Bytes(u64::try_from(excess).unwrap_or(u64::MAX)))))
    }
}

fn product(a: i128, b: i128) -> Result<i128, CurveError> {
    a.checked_mul(b).ok_or(crate::error::overflow("a fit to the residual"))
}

fn span(ns: i128) -> Span {
    Span(u64::try_from(ns.max(0)).unwrap_or(u64::MAX))
}

fn ceil_div(a: i128, b: i128) -> i128 {
    -(-a).div_euclid(b)
}

/// The least shift that keeps a line of this slope below the hull.
fn least_shift(hull: &[(i128, i128)], slope: u64) -> i128 {
    let late = |(t, v): &(i128, i128)| t - v.div_euclid(i128::from(slope.max(1)));
    hull.iter().map(late).max().unwrap_or(0).max(0)
}

/// The largest whole slope of a line through `(shift, 0)` below the hull, if positive.
fn largest_slope(hull: &[(i128, i128)], shift: i128, last_slope: u64) -> Option<u64> {
    let after = hull.iter().filter(|(t, _)| *t > shift);
    let most = after.map(|(t, v)| v.div_euclid(t - shift)).fold(last_slope.into(), i128::min);
    u64::try_from(most).ok().filter(|slope| *slope > 0)
}

/// The least corner after which `second` stays below the hull, `first` before it.
fn least_corner(
    hull: &[(i128, i128)],
    first: u64,
    second: u64,
) -> Result<Option<i128>, CurveError> {
    let Some(steeper) = second.checked_sub(first).filter(|d| *d > 0) else { return Ok(None) };
    let mut corner = 0;
    for (t, v) in hull {
        corner = corner.max(ceil_div(product(second.into(), *t)? - v, steeper.into()));
    }
    Ok(Some(corner))
}

/// Slopes at which the best tangent can lie: the area under a tangent, as a function of its slope,
/// is convex while it touches one corner, so the best one follows an edge or the last line.
fn tangents(hull: &[(i128, i128)], last_slope: u64) -> Vec<u64> {
    let edges = hull.windows(2).map(|w| (w[1].1 - w[0].1).div_euclid(w[1].0 - w[0].0));
    let mut slopes: Vec<u64> = edges
        .filter_map(|slope| u64::try_from(slope).ok())
        .filter(|slope| *slope > 0 && *slope < last_slope)
        .collect();
    slopes.push(last_slope);
    slopes
}

/// `slope * (end - begin)^2`, scaled alike for all candidates so that nothing overflows.
fn area(slope: u64, begin: i128, end: i128) -> u128 {
    let bits = 128 - end.max(1).leading_zeros();
    let scale = bits.saturating_sub(32);
    let length = ((end - begin).max(0) >> scale) as u128;
    u128::from(slope) * length * length
}

fn usable(bound: &Bound) -> Result<Vec<(i128, i128)>, FitError> {
    if bound.last_slope == 0 {
        return Err(FitError::Saturated);
    }
    let hull = bound.hull()?;
    if hull.is_empty() { Err(FitError::Saturated) } else { Ok(hull) }
}

/// Checks a shifted line against the effective residual.
///
/// # Errors
/// [`FitError::Above`] with the place and the nearest parameters that would do.
pub fn check_shifted_line(
    residual: &Residual,
    guarantee: Guarantee,
    line: &ShiftedLine,
) -> Result<(), FitError> {
    if line.slope.0 == 0 {
        return Err(FitError::ZeroSlope);
    }
    let bound = Bound::new(residual, guarantee)?;
    let shift = Rational::from(line.shift.0);
    let slope = Rational::from(line.slope.0);
    let at = |t: Rational| slope.times(t.minus(shift)?.greatest(Rational::ZERO));
    let Some((at, excess)) = bound.highest(shift, shift, line.slope.0, &at)? else { return Ok(()) };
    let hull = usable(&bound)?;
    let shift = i128::from(line.shift.0);
    // A line that leaves zero where the residual is negative is unsafe at any slope.
    let early = hull[0].1 == 0 && shift < hull[0].0;
    Err(FitError::Above {
        at,
        excess,
        slope: largest_slope(&hull, shift, bound.last_slope).filter(|_| !early).map(Rate),
        shift: (line.slope.0 <= bound.last_slope).then(|| span(least_shift(&hull, line.slope.0))),
    })
}

/// Checks a line through the origin (the rate of a Total Bandwidth Server).
///
/// # Errors
/// [`FitError::Above`] with the place and the largest rate that would do.
pub fn check_line(residual: &Residual, guarantee: Guarantee, slope: Rate) -> Result<(), FitError> {
    check_shifted_line(residual, guarantee, &ShiftedLine { slope, shift: Span(0) })
}

/// Checks two segments against the effective residual.
///
/// # Errors
/// [`FitError::FallingSlopes`], or [`FitError::Above`] with the place and, where only that one
/// parameter is wrong, the largest first slope or the least corner that would do.
pub fn check_two_segment(
    residual: &Residual,
    guarantee: Guarantee,
    two: &TwoSegment,
) -> Result<(), FitError> {
    if two.first.0 == 0 || two.second.0 == 0 {
        return Err(FitError::ZeroSlope);
    }
    if two.first > two.second {
        return Err(FitError::FallingSlopes { first: two.first, second: two.second });
    }
    let bound = Bound::new(residual, guarantee)?;
    let (first, second) = (Rational::from(two.first.0), Rational::from(two.second.0));
    let corner = Rational::from(two.corner.0);
    let at = |t: Rational| {
        let after = t.minus(corner)?.greatest(Rational::ZERO);
        first.times(t.least(corner))?.plus(second.times(after)?)
    };
    // The corner of a convex curve is never the place where it lies highest above `E`.
    let Some((at, excess)) = bound.highest(Rational::ZERO, corner, two.second.0, &at)? else {
        return Ok(());
    };
    let hull = usable(&bound)?;
    let most = largest_slope(&hull, 0, bound.last_slope);
    let (slope, shift) = match most {
        Some(most) if two.first.0 > most => (Some(Rate(most)), None),
        Some(_) if two.second.0 <= bound.last_slope => {
            (None, least_corner(&hull, two.first.0, two.second.0)?.map(span))
        }
        _ => (None, None),
    };
    Err(FitError::Above { at, excess, slope, shift })
}

/// The steepest safe line through the origin, in whole bit/s (for a Total Bandwidth Server).
pub fn fit_line(residual: &Residual, guarantee: Guarantee) -> Result<Rate, FitError> {
    let bound = Bound::new(residual, guarantee)?;
    let hull = usable(&bound)?;
    let slope = largest_slope(&hull, 0, bound.last_slope).ok_or(FitError::NoLineThroughOrigin)?;
    check_line(residual, guarantee, Rate(slope))?;
    Ok(Rate(slope))
}

/// The safe shifted line with the largest area under it up to the last corner of the residual;
/// of equal ones the steepest. Slope rounded down to whole bit/s, then the shift up to whole ns.
pub fn fit_shifted_line(
    residual: &Residual,
    guarantee: Guarantee,
) -> Result<ShiftedLine, FitError> {
    let bound = Bound::new(residual, guarantee)?;
    let hull = usable(&bound)?;
    let end = bound.end(&hull);
    let mut slopes = tangents(&hull, bound.last_slope);
    slopes.extend(largest_slope(&hull, 0, bound.last_slope));
    let best = slopes
        .into_iter()
        .map(|slope| (slope, least_shift(&hull, slope)))
        .max_by_key(|(slope, shift)| (area(*slope, *shift, end), *slope))
        .ok_or(FitError::Saturated)?;
    let line = ShiftedLine { slope: Rate(best.0), shift: span(best.1) };
    check_shifted_line(residual, guarantee, &line)?;
    Ok(line)
}

/// The safe two segments with the largest area under them up to the last corner of the residual;
/// of equal ones that with the steepest second slope.
///
/// # Errors
/// [`FitError::NoLineThroughOrigin`] when no positive first slope is safe: always under
/// [`Guarantee::All`] when packets block.
pub fn fit_two_segment(residual: &Residual, guarantee: Guarantee) -> Result<TwoSegment, FitError> {
    let bound = Bound::new(residual, guarantee)?;
    let hull = usable(&bound)?;
    let first = largest_slope(&hull, 0, bound.last_slope).ok_or(FitError::NoLineThroughOrigin)?;
    let end = bound.end(&hull);
    let mut best = (0, first, end);
    for second in tangents(&hull, bound.last_slope) {
        let Some(corner) = least_corner(&hull, first, second)? else { continue };
        let gain = area(second - first, corner, end);
        if (gain, second) > (best.0, best.1) {
            best = (gain, second, corner);
        }
    }
    let two = TwoSegment { first: Rate(first), second: Rate(best.1), corner: span(best.2) };
    check_two_segment(residual, guarantee, &two)?;
    Ok(two)
}
