//! Running extrema: the infimum of all that follows, the maximum of all so far.

use alloc::vec::Vec;

use crate::curve::{Curve, Piece, Tail};
use crate::{CurveError, Rational};

fn flat(start: Rational, level: Rational) -> Piece {
    Piece { start, slope: Rational::ZERO, intercept: level }
}

/// The end of a piece: the start of the next one, or the end of the expansion.
fn end_of(pieces: &[Piece], i: usize, end: Option<Rational>) -> Option<Rational> {
    pieces.get(i + 1).map(|p| p.start).or(end)
}

impl Curve {
    /// The supremum over `[from, end)`, limits from the left included.
    pub(crate) fn most_between(
        &self,
        from: Rational,
        end: Rational,
    ) -> Result<Rational, CurveError> {
        let pieces = self.expanded(Some(end))?;
        let mut most = self.value(from)?;
        for (i, piece) in pieces.iter().enumerate() {
            let last = end_of(&pieces, i, Some(end)).unwrap_or(end);
            if last > from {
                most = most.greatest(piece.at(last)?);
                most = most.greatest(piece.at(piece.start.greatest(from))?);
            }
        }
        Ok(most)
    }

    /// The infimum over `[from, end)`, limits from the left included.
    fn least_between(&self, from: Rational, end: Rational) -> Result<Rational, CurveError> {
        let pieces = self.expanded(Some(end))?;
        let mut least = self.value(from)?;
        for (i, piece) in pieces.iter().enumerate() {
            let last = end_of(&pieces, i, Some(end)).unwrap_or(end);
            if last > from {
                least = least.least(piece.at(last)?);
                least = least.least(piece.at(piece.start.greatest(from))?);
            }
        }
        Ok(least)
    }

    /// The supremum over all `t >= 0`; `None` when it grows without bound.
    pub fn supremum(&self) -> Result<Option<Rational>, CurveError> {
        if self.long_term_slope()?.signum() > 0 {
            return Ok(None);
        }
        let last = self.tail_start();
        let end = match self.tail() {
            Tail::Affine => last.plus(Rational::ONE)?,
            Tail::Periodic { period, .. } => last.plus(period)?,
        };
        self.most_between(Rational::ZERO, end).map(Some)
    }

    /// `inf { f(t') : t' >= t }`, the effective residual of the paper (section 3).
    ///
    /// # Errors
    /// [`CurveError::Shape`] when the curve falls for ever.
    pub fn infimum_from(&self) -> Result<Curve, CurveError> {
        if self.long_term_slope()?.signum() < 0 {
            return Err(CurveError::Shape { needs: "one that does not fall in the long run" });
        }
        match self.tail() {
            Tail::Affine => Curve::affine(infimum(self.pieces(), None)?),
            Tail::Periodic { from, period, rise } => {
                // Later periods are no lower, so what follows one is the least of the next.
                let first = from.plus(period)?;
                let least = self.least_between(from, first)?.plus(rise)?;
                let pieces = infimum(&self.expanded(Some(first))?, Some((first, least)))?;
                periodic_from(pieces, from, period, rise)
            }
        }
    }

    /// `sup { f(t') : 0 <= t' <= t }`, limits from the left included.
    pub fn maximum_so_far(&self) -> Result<Curve, CurveError> {
        let Tail::Periodic { from, period, rise } = self.tail() else {
            return Curve::affine(maximum(self.pieces(), None)?);
        };
        let end = from.plus(period)?;
        if rise.signum() <= 0 {
            // The first period holds the greatest value; from its end on nothing changes.
            let mut pieces = maximum(&self.expanded(Some(end))?, Some(end))?;
            pieces.push(flat(end, self.most_between(Rational::ZERO, end)?));
            return Curve::affine(pieces);
        }
        // So many periods until what came before the tail is overtaken.
        let behind = match from.signum() {
            0 => Rational::ZERO,
            _ => self.most_between(Rational::ZERO, from)?.minus(self.most_between(from, end)?)?,
        };
        let periods = behind.over(rise)?.ceil().max(0) + 1;
        let from = from.plus(period.times(periods.into())?)?;
        let end = from.plus(period)?;
        let pieces = maximum(&self.expanded(Some(end))?, Some(end))?;
        periodic_from(pieces, from, period, rise)
    }
}

/// A periodic curve whose repetition begins inside a piece.
fn periodic_from(
    mut pieces: Vec<Piece>,
    from: Rational,
    period: Rational,
    rise: Rational,
) -> Result<Curve, CurveError> {
    let index = pieces.partition_point(|p| p.start < from);
    if pieces.get(index).is_none_or(|p| p.start > from) && index > 0 {
        let piece = Piece { start: from, ..pieces[index - 1] };
        pieces.insert(index, piece);
    }
    Curve::periodic(pieces, index, period, rise)
}

/// The infimum from the right over pieces that end at `end.0` with `end.1` the infimum of all
/// that follows, or over pieces of which the last one holds for ever.
fn infimum(pieces: &[Piece], end: Option<(Rational, Rational)>) -> Result<Vec<Piece>, CurveError> {
    let mut out = Vec::with_capacity(pieces.len() * 2);
    let mut level = end.map(|(_, level)| level);
    for (i, piece) in pieces.iter().enumerate().rev() {
        let begin = piece.at(piece.start)?;
        let (Some(bound), Some(last)) = (level, end_of(pieces, i, end.map(|(t, _)| t))) else {
            out.push(*piece);
            level = Some(begin);
            continue;
        };
        let last = piece.at(last)?;
        if piece.slope.signum() <= 0 || begin >= bound {
            let low = bound.least(last);
            out.push(flat(piece.start, low));
            level = Some(low);
            continue;
        }
        if last > bound {
            let at = bound.minus(piece.intercept)?.over(piece.slope)?;
            out.push(flat(at, bound));
        }
        out.push(*piece);
        level = Some(begin);
    }
    out.reverse();
    Ok(out)
}

/// The maximum from the left over pieces that end at `end`, or of which the last holds for ever.
fn maximum(pieces: &[Piece], end: Option<Rational>) -> Result<Vec<Piece>, CurveError> {
    let mut out = Vec::with_capacity(pieces.len() * 2);
    let mut level: Option<Rational> = None;
    for (i, piece) in pieces.iter().enumerate() {
        let begin = piece.at(piece.start)?;
        let most = level.map_or(begin, |level| level.greatest(begin));
        let last = end_of(pieces, i, end).map(|t| piece.at(t)).transpose()?;
        let rises = piece.slope.signum() > 0;
        if rises && begin == most {
            out.push(*piece);
        } else {
            out.push(flat(piece.start, most));
            if rises && last.is_none_or(|last| last > most) {
                let at = most.minus(piece.intercept)?.over(piece.slope)?;
                out.push(Piece { start: at, ..*piece });
            }
        }
        level = Some(last.filter(|_| rises).map_or(most, |last| most.greatest(last)));
    }
    Ok(out)
}
