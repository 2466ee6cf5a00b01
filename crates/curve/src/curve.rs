//! Right-continuous piecewise-linear curves.

use alloc::vec::Vec;

use crate::{CurveError, Rational};

/// A line that holds from `start` to the start of the next piece: `y(t) = intercept + slope * t`
/// with `t` absolute, so that sums of shifted token buckets keep whole slopes and intercepts and
/// only the corner points are fractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First instant at which the line holds, in ns.
    pub start: Rational,
    /// Slope in bit/s.
    pub slope: Rational,
    /// Value of the line at `t = 0`, in nanobits.
    pub intercept: Rational,
}

impl Piece {
    /// The line at `t`.
    pub fn at(&self, t: Rational) -> Result<Rational, CurveError> {
        self.slope.times(t)?.plus(self.intercept)
    }
}

/// How a curve goes on after its pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// The last piece holds for ever.
    Affine,
    /// `f(t + period) = f(t) + rise` for all `t >= from`; the pieces reach up to `from + period`.
    Periodic {
        /// Where the repetition begins, in ns.
        from: Rational,
        /// Its length in ns.
        period: Rational,
        /// The rise of the curve in one period, in nanobits.
        rise: Rational,
    },
}

/// A right-continuous, piecewise-linear curve over `t >= 0`, in nanobits over nanoseconds, that
/// is zero for `t < 0`. It may jump at corner points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    pieces: Vec<Piece>,
    tail: Tail,
}

impl Curve {
    /// A curve whose last piece holds for ever. The first piece must start at 0, each later than
    /// the one before; pieces that continue the line before them are merged.
    pub fn affine(pieces: Vec<Piece>) -> Result<Curve, CurveError> {
        check(&pieces)?;
        Ok(Curve { pieces: merged(pieces), tail: Tail::Affine })
    }

    /// A curve with a periodic tail: from the start of piece `from` on, `f(t + period) = f(t) +
    /// rise`; all pieces start before that instant plus `period`.
    pub fn periodic(
        pieces: Vec<Piece>,
        from: usize,
        period: Rational,
        rise: Rational,
    ) -> Result<Curve, CurveError> {
        check(&pieces)?;
        let shape = CurveError::Shape { needs: "periodic with pieces inside its first period" };
        let (Some(first), Some(last)) = (pieces.get(from), pieces.last()) else {
            return Err(shape);
        };
        let from = first.start;
        if period.signum() <= 0 || last.start >= from.plus(period)? {
            return Err(shape);
        }
        Ok(Curve { pieces, tail: Tail::Periodic { from, period, rise } })
    }

    /// The line `intercept + slope * t`.
    pub fn line(slope: Rational, intercept: Rational) -> Curve {
        let piece = Piece { start: Rational::ZERO, slope, intercept };
        Curve { pieces: alloc::vec![piece], tail: Tail::Affine }
    }

    /// The pieces up to the tail.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// How the curve goes on after its pieces.
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// The value at `t`, from the right where the curve jumps; zero for `t < 0`.
    pub fn value(&self, t: Rational) -> Result<Rational, CurveError> {
        if t.signum() < 0 {
            return Ok(Rational::ZERO);
        }
        let (inside, gained) = self.fold(t, false)?;
        let index = self.pieces.partition_point(|p| p.start <= inside);
        self.pieces[index.saturating_sub(1)].at(inside)?.plus(gained)
    }

    /// The limit from the left at `t`; zero for `t <= 0`.
    pub fn left_limit(&self, t: Rational) -> Result<Rational, CurveError> {
        if t.signum() <= 0 {
            return Ok(Rational::ZERO);
        }
        let (inside, gained) = self.fold(t, true)?;
        let index = self.pieces.partition_point(|p| p.start < inside);
        self.pieces[index.saturating_sub(1)].at(inside)?.plus(gained)
    }

    /// The instant inside the pieces that `t` repeats, and what was gained since.
    fn fold(&self, t: Rational, left: bool) -> Result<(Rational, Rational), CurveError> {
        let Tail::Periodic { from, period, rise } = self.tail else {
            return Ok((t, Rational::ZERO));
        };
        if t < from {
            return Ok((t, Rational::ZERO));
        }
        let periods = t.minus(from)?.over(period)?;
        let mut whole = periods.floor();
        // From the left, the end of a period is not yet the start of the next one.
        if left && periods.is_whole() && whole > 0 {
            whole -= 1;
        }
        let whole = Rational::whole(whole);
        Ok((t.minus(period.times(whole)?)?, rise.times(whole)?))
    }

    /// The slope in the long run, in bit/s.
    pub fn long_term_slope(&self) -> Result<Rational, CurveError> {
        match self.tail {
            Tail::Affine => Ok(self.pieces.last().map_or(Rational::ZERO, |p| p.slope)),
            Tail::Periodic { period, rise, .. } => rise.over(period),
        }
    }

    /// The corner points of the pieces as `(t, limit from the left, value)`.
    pub fn corners(
        &self,
    ) -> impl Iterator<Item = Result<(Rational, Rational, Rational), CurveError>> + '_ {
        self.pieces.iter().map(|p| Ok((p.start, self.left_limit(p.start)?, p.at(p.start)?)))
    }
}

fn check(pieces: &[Piece]) -> Result<(), CurveError> {
    let ordered = pieces.windows(2).all(|w| w[0].start < w[1].start);
    if ordered && pieces.first().is_some_and(|p| p.start == Rational::ZERO) {
        return Ok(());
    }
    Err(CurveError::Shape { needs: "a list of pieces from 0 on, in order of time" })
}

fn merged(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.dedup_by(|b, a| a.slope == b.slope && a.intercept == b.intercept);
    pieces
}
