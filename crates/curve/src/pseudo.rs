//! Pseudo-inverses of non-decreasing curves.

use alloc::vec::Vec;

use crate::curve::{Curve, Piece, Tail};
use crate::{CurveError, Rational};

impl Curve {
    /// Whether the curve never falls for `t >= 0`.
    pub fn is_non_decreasing(&self) -> Result<bool, CurveError> {
        let end = match self.tail() {
            Tail::Affine => None,
            Tail::Periodic { from, period, .. } => Some(from.plus(period)?),
        };
        let pieces = self.expanded(end)?;
        for (i, piece) in pieces.iter().enumerate() {
            let falls = match pieces.get(i + 1) {
                Some(next) => next.at(next.start)? < piece.at(next.start)?,
                None => match end {
                    Some(end) => self.value(end)? < piece.at(end)?,
                    None => false,
                },
            };
            if falls || piece.slope.signum() < 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `inf { t >= 0 : f(t) >= work }`, exact; `None` when the curve never gets there. For a
    /// non-decreasing curve.
    pub fn lower_inverse(&self, work: Rational) -> Result<Option<Rational>, CurveError> {
        self.inverse_at(work, |value| value >= work)
    }

    /// `inf { t >= 0 : f(t) > work }`, which is `sup { t : f(t) <= work }`; `None` when the curve
    /// never exceeds `work`. For a non-decreasing curve.
    pub fn upper_inverse(&self, work: Rational) -> Result<Option<Rational>, CurveError> {
        self.inverse_at(work, |value| value > work)
    }

    fn inverse_at(
        &self,
        work: Rational,
        reached: impl Fn(Rational) -> bool,
    ) -> Result<Option<Rational>, CurveError> {
        // Whole periods first, one fewer than might be enough.
        let (mut late, mut gained) = (Rational::ZERO, Rational::ZERO);
        let mut end = None;
        if let Tail::Periodic { from, period, rise } = self.tail() {
            end = Some(from.plus(period.times(3.into())?)?);
            if rise.signum() > 0 {
                let missing = work.minus(self.value(from)?)?.over(rise)?.floor() - 1;
                let periods = Rational::whole(missing.max(0));
                late = period.times(periods)?;
                gained = rise.times(periods)?;
            }
        }
        let skipped = late.signum() > 0;
        let pieces = self.expanded(end)?;
        let target = work.minus(gained)?;
        for (i, piece) in pieces.iter().enumerate() {
            if skipped && piece.start < self.tail_start() {
                continue;
            }
            if reached(piece.at(piece.start)?.plus(gained)?) {
                return piece.start.plus(late).map(Some);
            }
            if piece.slope.signum() <= 0 {
                continue;
            }
            let at = target.minus(piece.intercept)?.over(piece.slope)?;
            let next = pieces.get(i + 1).map(|p| p.start).or(end);
            // A line that gets just to its end is continued, or jumped over, by the next piece.
            if next.is_none_or(|next| at < next) {
                return at.plus(late).map(Some);
            }
        }
        Ok(None)
    }

    /// The upper pseudo-inverse as a curve: ns over nanobits, right-continuous. Its limit from
    /// the left is the lower pseudo-inverse.
    ///
    /// # Errors
    /// [`CurveError::Shape`] unless the curve is non-decreasing and grows without bound.
    pub fn inverted(&self) -> Result<Curve, CurveError> {
        if !self.is_non_decreasing()? || self.long_term_slope()?.signum() <= 0 {
            return Err(CurveError::Shape { needs: "non-decreasing and without bound" });
        }
        let end = match self.tail() {
            Tail::Affine => None,
            Tail::Periodic { from, period, .. } => Some(from.plus(period)?.plus(period)?),
        };
        let pieces = self.expanded(end)?;
        let mut out: Vec<Piece> = Vec::with_capacity(pieces.len() * 2);
        // The inverse is known for work below `known`.
        let mut known = Rational::ZERO;
        for (i, piece) in pieces.iter().enumerate() {
            let value = piece.at(piece.start)?;
            if value > known {
                out.push(Piece { start: known, slope: Rational::ZERO, intercept: piece.start });
                known = value;
            }
            let top = match pieces.get(i + 1).map(|p| p.start).or(end) {
                Some(next) => Some(piece.at(next)?),
                None => None,
            };
            if piece.slope.signum() > 0 && top.is_none_or(|top| top > known) {
                let slope = Rational::ONE.over(piece.slope)?;
                let intercept = piece.intercept.negated()?.over(piece.slope)?;
                out.push(Piece { start: known, slope, intercept });
                known = top.unwrap_or(known);
            }
        }
        let Tail::Periodic { from, period, rise } = self.tail() else {
            return Curve::affine(out);
        };
        // Repeats from the level at the start of the tail, or from 0 if that is below.
        let mut level = self.value(from)?;
        while level.signum() < 0 {
            level = level.plus(rise)?;
        }
        let index = out.partition_point(|p| p.start < level);
        if out.get(index).is_none_or(|p| p.start > level) && index > 0 {
            let piece = Piece { start: level, ..out[index - 1] };
            out.insert(index, piece);
        }
        let top = level.plus(rise)?;
        out.retain(|p| p.start < top);
        Curve::periodic(out, index, rise, period)
    }
}
