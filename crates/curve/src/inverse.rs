//! The inverse of an effective residual on whole bytes: what deadline assigners read.

use alloc::vec::Vec;

use laxity_core::{NANOBITS_PER_BYTE, Span};

use crate::{CurveError, ShiftedLine, TwoSegment};

/// One rising line of the residual, seen from the axis of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InversePiece {
    /// Valid for more than this many bytes, up to and including the next piece's `above`.
    pub above: u64,
    /// Slope of the line in bit/s, positive.
    pub slope: u64,
    /// Value of the line at `t = 0`, in nanobits.
    pub intercept: i128,
}

impl InversePiece {
    /// When the line reaches `work` bytes, in ns, rounded up, not below 0. Saturates.
    #[inline]
    pub fn at(&self, work: u64) -> Span {
        let rise = i128::from(work) * NANOBITS_PER_BYTE - self.intercept;
        if rise <= 0 {
            return Span(0);
        }
        let ns = (rise as u128).div_ceil(u128::from(self.slope.max(1)));
        Span(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// `Einv(w) = min { t >= 0 : E(t) >= w }` for whole bytes `w >= 1`, rounded up to whole ns;
/// left-continuous in `w`. A flat of `E` is a jump of `Einv` and leaves no piece. No work needs no
/// time: `Einv(0)` counts as 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InverseCurve {
    pieces: Vec<InversePiece>,
    saturated_above: Option<u64>,
}

impl InverseCurve {
    /// From pieces in rising order of `above`. `saturated_above` is the work that the residual
    /// never exceeds, `None` when it grows for ever.
    ///
    /// # Errors
    /// Pieces out of order, a slope of zero, or a growing curve without any piece.
    pub fn new(
        pieces: Vec<InversePiece>,
        saturated_above: Option<u64>,
    ) -> Result<InverseCurve, CurveError> {
        let ordered = pieces.windows(2).all(|w| w[0].above < w[1].above);
        let rising = pieces.iter().all(|p| p.slope > 0);
        let inside = match (saturated_above, pieces.last()) {
            (Some(top), Some(last)) => last.above < top,
            (None, None) => false,
            _ => true,
        };
        if ordered && rising && inside {
            return Ok(InverseCurve { pieces, saturated_above });
        }
        Err(CurveError::Shape { needs: "a non-decreasing curve with rising pieces in order" })
    }

    /// The inverse of a shifted line.
    ///
    /// # Errors
    /// A slope of zero.
    pub fn from_shifted_line(line: &ShiftedLine) -> Result<InverseCurve, CurveError> {
        let intercept = -product(line.slope.0, line.shift.0)?;
        let piece = InversePiece { above: 0, slope: line.slope.0, intercept };
        InverseCurve::new(alloc::vec![piece], None)
    }

    /// The inverse of two segments. A slope of zero is a flat; with `second` zero the curve is
    /// saturated above the corner.
    pub fn from_two_segment(two: &TwoSegment) -> Result<InverseCurve, CurveError> {
        let level = product(two.first.0, two.corner.0)?;
        let top = u64::try_from(level / NANOBITS_PER_BYTE)
            .map_err(|_| crate::error::overflow("the corner of two segments"))?;
        let mut pieces = Vec::with_capacity(2);
        if top > 0 {
            pieces.push(InversePiece { above: 0, slope: two.first.0, intercept: 0 });
        }
        if two.second.0 == 0 {
            return InverseCurve::new(pieces, Some(top));
        }
        let intercept = level - product(two.second.0, two.corner.0)?;
        pieces.push(InversePiece { above: top, slope: two.second.0, intercept });
        InverseCurve::new(pieces, None)
    }

    /// The rising lines in order of work.
    pub fn pieces(&self) -> &[InversePiece] {
        &self.pieces
    }

    /// `Einv(w) = 0` for all work up to this many bytes.
    pub fn free(&self) -> u64 {
        self.pieces.first().map(|p| p.above).or(self.saturated_above).unwrap_or(0)
    }

    /// The work that the residual never exceeds: `Einv` is infinite above. `None` when it grows
    /// for ever. Assigners treat such packets as background traffic.
    pub fn saturated_above(&self) -> Option<u64> {
        self.saturated_above
    }

    /// `Einv(work)`, rounded up to whole ns; `None` when the residual never reaches it.
    #[inline]
    pub fn at(&self, work: u64) -> Option<Span> {
        if self.saturated_above.is_some_and(|top| work > top) {
            return None;
        }
        let after = self.pieces.partition_point(|p| p.above < work);
        match after.checked_sub(1) {
            Some(index) => Some(self.pieces[index].at(work)),
            None => Some(Span(0)),
        }
    }
}

fn product(rate: u64, time: u64) -> Result<i128, CurveError> {
    i128::from(rate)
        .checked_mul(i128::from(time))
        .ok_or(crate::error::overflow("a line of the residual"))
}
