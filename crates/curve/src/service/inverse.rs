//! The inverse of a service curve on whole bytes: what deadlines are read from.

use alloc::vec::Vec;

use laxity_core::{Divisor, NANOBITS_PER_BYTE, Span};

use super::ServiceCurve;
use crate::error::overflow;
use crate::{CurveError, Rational};

/// A line of the inverse: `t(w) = (gap * 8e9 * w + offset) / rise` ns for `w` bytes.
///
/// A line of the curve with slope `rise / gap` bit/s gives one; so does a jump, with `gap` 0 and
/// `rise` 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceLine {
    /// Valid for more than this many bytes, up to and including the next line's `above`.
    pub above: u64,
    /// Numerator of the slope in bit/s, positive.
    pub rise: Divisor,
    /// Denominator of the slope, below 2^31; 0 for a jump.
    pub gap: u64,
    /// See the type.
    pub offset: i128,
}

impl ServiceLine {
    /// `rise * t(w)` with the work in bytes.
    #[inline]
    pub(crate) fn scaled(&self, work: u64) -> i128 {
        i128::from(self.gap) * NANOBITS_PER_BYTE * i128::from(work) + self.offset
    }

    /// `t(w)` in ns, rounded up, without the bound of a [`Span`]: virtual time may outrun the clock.
    #[inline]
    fn wide(&self, work: u64) -> u128 {
        let scaled = self.scaled(work).max(0) as u128;
        match u64::try_from(scaled) {
            Ok(_) => self.rise.div_ceil(scaled).into(),
            Err(_) => scaled.div_ceil(self.rise.get().into()),
        }
    }
}

/// `Sinv(w) = min { t : S(t) >= w }` for whole bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceInverse {
    lines: Vec<ServiceLine>,
}

/// Denominators of slopes stay below this, so that 2^62 bytes of a busy period at 8e9 nanobits
/// each fit 128 bits.
const MAX_GAP: i128 = 1 << 31;
/// Offsets of lines stay below this: the demand of more than a century at the largest rates.
const MAX_OFFSET: i128 = 1 << 125;

impl ServiceCurve {
    /// The inverse on whole bytes.
    ///
    /// # Errors
    /// [`CurveError::ServiceSlope`] when a slope in bit/s is no fraction with a denominator below
    /// 2^31, and overflow beyond 128 bits.
    pub fn inverse(&self) -> Result<ServiceInverse, CurveError> {
        // A whole number of bytes is above a level exactly when it is above its whole bytes.
        Ok(ServiceInverse { lines: self.lines(Rational::floor)? })
    }

    /// The upper inverse on whole bytes.
    ///
    /// # Errors
    /// As [`inverse`](Self::inverse).
    pub fn upper_inverse(&self) -> Result<ServiceUpperInverse, CurveError> {
        // The line after a level holds from the level on, and at it begins where a flat ends.
        Ok(ServiceUpperInverse { lines: self.lines(Rational::ceil)? })
    }

    /// The lines, with levels in bytes rounded by `round`.
    fn lines(&self, round: fn(Rational) -> i128) -> Result<Vec<ServiceLine>, CurveError> {
        let level = |level: Rational| {
            let bytes = level.over(Rational::whole(NANOBITS_PER_BYTE))?;
            u64::try_from(round(bytes)).map_err(|_| overflow("a level of a service curve"))
        };
        let mut lines: Vec<ServiceLine> = Vec::new();
        let mut push = |line: ServiceLine| {
            // A line without a whole byte on it is never asked for.
            if lines.last().is_some_and(|last| last.above == line.above) {
                lines.pop();
            }
            lines.push(line);
        };
        let pieces = self.curve().pieces();
        let mut before = Rational::ZERO;
        for (i, piece) in pieces.iter().enumerate() {
            let value = piece.at(piece.start)?;
            if value > before {
                let rise = divisor(1, piece.start)?;
                let offset = piece.start.ceil();
                push(ServiceLine { above: level(before)?, rise, gap: 0, offset });
            }
            if piece.slope.signum() > 0 {
                let (num, den) = (piece.slope.numerator(), piece.slope.denominator());
                let scaled = piece.intercept.times(den.into())?;
                let fits = den < MAX_GAP && scaled.floor().abs() < MAX_OFFSET;
                if !fits || !scaled.is_whole() {
                    return Err(CurveError::ServiceSlope { at: piece.start });
                }
                let (rise, gap) = (divisor(num, piece.start)?, den as u64);
                push(ServiceLine { above: level(value)?, rise, gap, offset: -scaled.floor() });
            }
            if let Some(next) = pieces.get(i + 1) {
                before = piece.at(next.start)?;
            }
        }
        Ok(lines)
    }
}

/// `sup { t : S(t) <= w }` for whole bytes: when service of the byte after `w` begins. Where the
/// curve is flat it is the end of the flat, where [`ServiceInverse`] has the begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceUpperInverse {
    /// As of the inverse, but each holds from `above` bytes on.
    lines: Vec<ServiceLine>,
}

impl ServiceUpperInverse {
    /// `sup { t : S(t) <= work }` for `work` bytes, rounded up to whole ns.
    pub fn at(&self, work: u64) -> u128 {
        let after = self.lines.partition_point(|line| line.above <= work);
        after.checked_sub(1).map_or(0, |index| self.lines[index].wide(work))
    }

    /// Bytes from which the last line holds.
    pub(crate) fn last_from(&self) -> u64 {
        self.lines.last().map_or(0, |line| line.above)
    }
}

impl ServiceInverse {
    /// The lines in order of work; the first holds from the first byte on, the last for ever.
    pub fn lines(&self) -> &[ServiceLine] {
        &self.lines
    }

    /// `Sinv(work)` for `work` bytes, rounded up to whole ns; 0 for no work. Saturates.
    pub fn at(&self, work: u64) -> Span {
        let after = self.lines.partition_point(|line| line.above < work);
        let Some(line) = after.checked_sub(1).map(|index| self.lines[index]) else {
            return Span::ZERO;
        };
        let scaled = line.scaled(work).max(0);
        Span(line.rise.div_ceil(scaled as u128))
    }

    /// The same without the bound of a [`Span`].
    pub(crate) fn wide(&self, work: u64) -> u128 {
        let after = self.lines.partition_point(|line| line.above < work);
        after.checked_sub(1).map_or(0, |index| self.lines[index].wide(work))
    }
}

fn divisor(num: i128, at: Rational) -> Result<Divisor, CurveError> {
    // Below 2^62, so that its product with times below 2^63 fits beside the other terms.
    let fits = u64::try_from(num).ok().filter(|num| *num < 1 << 62);
    fits.and_then(Divisor::new).ok_or(CurveError::ServiceSlope { at })
}
