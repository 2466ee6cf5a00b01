//! Sums, differences, minima, shifts and comparison of curves, tails included.
//!
//! Two tails have a common form: a line is periodic with any period, and two periodic tails share
//! the least common multiple of their periods. So each operator works on finitely many pieces.

use alloc::vec::Vec;

use crate::curve::{Curve, Piece, Tail};
use crate::error::overflow;
use crate::{CurveError, Rational};

/// The most pieces that a curve is expanded to.
pub const MAX_PIECES: usize = 1 << 18;

/// The least positive common multiple of two positive fractions.
fn common_multiple(a: Rational, b: Rational) -> Result<Rational, CurveError> {
    // With a / b = p / q in lowest terms it is a * q.
    let ratio = a.over(b)?;
    a.times(ratio.denominator().into())
}

/// A common form of two tails.
pub(crate) struct Common {
    /// Both repeat from here on.
    pub from: Rational,
    /// The common period; `None` when both are lines.
    pub period: Option<Rational>,
}

impl Common {
    pub fn of(a: &Curve, b: &Curve) -> Result<Common, CurveError> {
        let from = a.tail_start().greatest(b.tail_start());
        let period = match (a.tail(), b.tail()) {
            (Tail::Affine, Tail::Affine) => None,
            (Tail::Periodic { period, .. }, Tail::Affine)
            | (Tail::Affine, Tail::Periodic { period, .. }) => Some(period),
            (Tail::Periodic { period: x, .. }, Tail::Periodic { period: y, .. }) => {
                Some(common_multiple(x, y)?)
            }
        };
        Ok(Common { from, period })
    }
}

/// Two lines that hold together from `start` to `end` (for ever when `None`).
struct Pair {
    start: Rational,
    end: Option<Rational>,
    a: Piece,
    b: Piece,
}

/// The pieces of both curves side by side, all that start before `end`, cut at `cut`.
fn pairs(
    a: &Curve,
    b: &Curve,
    cut: Rational,
    end: Option<Rational>,
) -> Result<Vec<Pair>, CurveError> {
    let (left, right) = (a.expanded(end)?, b.expanded(end)?);
    let mut starts: Vec<Rational> = left.iter().chain(&right).map(|p| p.start).collect();
    if end.is_none_or(|end| cut < end) {
        starts.push(cut);
    }
    starts.sort_unstable();
    starts.dedup();
    let mut out = Vec::with_capacity(starts.len());
    let (mut i, mut j) = (0, 0);
    for (k, start) in starts.iter().enumerate() {
        while left.get(i + 1).is_some_and(|p| p.start <= *start) {
            i += 1;
        }
        while right.get(j + 1).is_some_and(|p| p.start <= *start) {
            j += 1;
        }
        let end = starts.get(k + 1).copied().or(end);
        out.push(Pair { start: *start, end, a: left[i], b: right[j] });
    }
    Ok(out)
}

impl Curve {
    /// Where the tail begins.
    pub(crate) fn tail_start(&self) -> Rational {
        match self.tail() {
            Tail::Affine => self.pieces().last().map_or(Rational::ZERO, |p| p.start),
            Tail::Periodic { from, .. } => from,
        }
    }

    /// All pieces that start before `end`; without an end those there are.
    pub(crate) fn expanded(&self, end: Option<Rational>) -> Result<Vec<Piece>, CurveError> {
        let pieces = self.pieces();
        let before = |p: &Piece| end.is_none_or(|end| p.start < end);
        let mut out: Vec<Piece> = pieces.iter().copied().filter(before).collect();
        let (Tail::Periodic { from, period, rise }, Some(_)) = (self.tail(), end) else {
            return Ok(out);
        };
        let first = pieces.partition_point(|p| p.start < from);
        let (mut late, mut gained) = (Rational::ZERO, Rational::ZERO);
        loop {
            late = late.plus(period)?;
            gained = gained.plus(rise)?;
            for piece in &pieces[first..] {
                let moved = piece.moved(late, gained)?;
                if !before(&moved) {
                    return Ok(out);
                }
                out.push(moved);
                if out.len() > MAX_PIECES {
                    return Err(CurveError::TooManyPieces { limit: MAX_PIECES });
                }
            }
        }
    }

    /// The rise of the curve from `t` to `t + period`, for `t` in the tail.
    pub(crate) fn gain(&self, period: Rational) -> Result<Rational, CurveError> {
        self.long_term_slope()?.times(period)
    }

    /// The curve itself up to `end`, from there on the line that holds at `end`: finite pieces of
    /// a periodic curve.
    pub fn materialised(&self, end: Rational) -> Result<Curve, CurveError> {
        Curve::affine(self.expanded(Some(end.greatest(Rational::ONE)))?)
    }

    /// Applies `line` to each pair of lines that hold together.
    fn combined(
        &self,
        other: &Curve,
        line: impl Fn(Rational, Rational) -> Result<Rational, CurveError>,
    ) -> Result<Curve, CurveError> {
        let common = Common::of(self, other)?;
        let end = common.period.map(|period| common.from.plus(period)).transpose()?;
        let mut pieces = Vec::new();
        for pair in pairs(self, other, common.from, end)? {
            pieces.push(Piece {
                start: pair.start,
                slope: line(pair.a.slope, pair.b.slope)?,
                intercept: line(pair.a.intercept, pair.b.intercept)?,
            });
        }
        match common.period {
            None => Curve::affine(pieces),
            Some(period) => {
                let rise = line(self.gain(period)?, other.gain(period)?)?;
                let from = pieces.partition_point(|p| p.start < common.from);
                Curve::periodic(pieces, from, period, rise)
            }
        }
    }

    /// `f(t) + g(t)`.
    pub fn sum(&self, other: &Curve) -> Result<Curve, CurveError> {
        self.combined(other, Rational::plus)
    }

    /// `f(t) - g(t)`.
    pub fn difference(&self, other: &Curve) -> Result<Curve, CurveError> {
        self.combined(other, Rational::minus)
    }

    /// `min(f(t), g(t))`. Where a periodic tail falls behind the other curve for good, it alone
    /// goes on.
    pub fn min(&self, other: &Curve) -> Result<Curve, CurveError> {
        let common = Common::of(self, other)?;
        let Some(period) = common.period else {
            return Curve::affine(lower(pairs(self, other, common.from, None)?)?);
        };
        let (up, down) = (self.gain(period)?, other.gain(period)?);
        if up == down {
            let end = common.from.plus(period)?;
            let pieces = lower(pairs(self, other, common.from, Some(end))?)?;
            let from = pieces.partition_point(|p| p.start < common.from);
            return Curve::periodic(pieces, from, period, up);
        }
        let (low, high, each) =
            if up < down { (self, other, down.minus(up)?) } else { (other, self, up.minus(down)?) };
        // After so many periods the lower one has caught up with whatever it is behind.
        let end = common.from.plus(period)?;
        let most = low.difference(high)?.most_between(common.from, end)?;
        let periods = most.over(each)?.ceil().max(0);
        let from = common.from.plus(period.times(periods.into())?)?;
        match low.tail() {
            Tail::Affine => {
                let mut pieces = lower(pairs(low, high, from, Some(from.plus(period)?))?)?;
                pieces.retain(|p| p.start < from);
                let last = low.pieces().last().copied();
                pieces.extend(last.map(|p| Piece { start: from, ..p }));
                Curve::affine(pieces)
            }
            Tail::Periodic { period, rise, .. } => {
                let end = from.plus(period)?;
                let pieces = lower(pairs(low, high, from, Some(end))?)?;
                let index = pieces.partition_point(|p| p.start < from);
                Curve::periodic(pieces, index, period, rise)
            }
        }
    }

    /// `f(t - by)`: later by `by >= 0`, zero before.
    pub fn later(&self, by: Rational) -> Result<Curve, CurveError> {
        if by.signum() < 0 {
            return Err(CurveError::OutOfRange { what: "a shift to later, not negative" });
        }
        if by.signum() == 0 {
            return Ok(self.clone());
        }
        let zero =
            Piece { start: Rational::ZERO, slope: Rational::ZERO, intercept: Rational::ZERO };
        let mut pieces = alloc::vec![zero];
        for piece in self.pieces() {
            pieces.push(piece.moved(by, Rational::ZERO)?);
        }
        match self.tail() {
            Tail::Affine => Curve::affine(pieces),
            Tail::Periodic { from, period, rise } => {
                let from = from.plus(by)?;
                let index = pieces.partition_point(|p| p.start < from);
                Curve::periodic(pieces, index, period, rise)
            }
        }
    }

    /// `f(t) + by` for `t >= 0`.
    pub fn raised(&self, by: Rational) -> Result<Curve, CurveError> {
        self.sum(&Curve::line(Rational::ZERO, by))
    }

    /// Where this curve lies above another: some `t` with `f(t) > g(t)`; `None` when `f <= g`
    /// everywhere.
    pub fn above(&self, other: &Curve) -> Result<Option<Rational>, CurveError> {
        self.difference(other)?.positive_point()
    }

    /// Some `t >= 0` at which the curve is positive.
    fn positive_point(&self) -> Result<Option<Rational>, CurveError> {
        let (end, rise) = match self.tail() {
            Tail::Affine => (None, Rational::ZERO),
            Tail::Periodic { from, period, rise } => (Some((from.plus(period)?, period)), rise),
        };
        let pieces = self.pieces();
        for (i, piece) in pieces.iter().enumerate() {
            if piece.at(piece.start)?.signum() > 0 {
                return Ok(Some(piece.start));
            }
            if piece.slope.signum() <= 0 {
                continue;
            }
            let zero = piece.intercept.negated()?.over(piece.slope)?;
            let next = pieces.get(i + 1).map(|p| p.start).or(end.map(|(t, _)| t));
            match next {
                None => return Ok(Some(zero.plus(Rational::ONE)?)),
                Some(next) if zero < next => {
                    return Ok(Some(zero.plus(next)?.over(2i128.into())?));
                }
                Some(_) => {}
            }
        }
        let (Some((end, period)), true) = (end, rise.signum() > 0) else { return Ok(None) };
        // It rises from period to period, so some later one is positive at its start.
        let from = end.minus(period)?;
        let missing = self.value(from)?.negated()?.over(rise)?.floor();
        let periods = missing.checked_add(1).ok_or(overflow("comparing curves"))?;
        Ok(Some(from.plus(period.times(periods.into())?)?))
    }
}

impl Piece {
    /// The same line `late` ns later and `gained` nanobits higher.
    fn moved(&self, late: Rational, gained: Rational) -> Result<Piece, CurveError> {
        Ok(Piece {
            start: self.start.plus(late)?,
            slope: self.slope,
            intercept: self.intercept.minus(self.slope.times(late)?)?.plus(gained)?,
        })
    }
}

/// The lower of two lines on each interval, cut where they cross.
fn lower(pairs: Vec<Pair>) -> Result<Vec<Piece>, CurveError> {
    let mut out = Vec::with_capacity(pairs.len());
    for Pair { start, end, a, b } in pairs {
        let (x, y) = (a.at(start)?, b.at(start)?);
        let a_first = x < y || (x == y && a.slope <= b.slope);
        let (low, high) = if a_first { (a, b) } else { (b, a) };
        out.push(Piece { start, ..low });
        if low.slope > high.slope {
            let rise = high.intercept.minus(low.intercept)?;
            let cross = rise.over(low.slope.minus(high.slope)?)?;
            if cross > start && end.is_none_or(|end| cross < end) {
                out.push(Piece { start: cross, ..high });
            }
        }
    }
    Ok(out)
}
