//! Min-plus convolution and deconvolution where they are simple: of concave and of convex curves.

use alloc::vec::Vec;

use crate::curve::{Curve, Piece, Tail};
use crate::{CurveError, Rational};

impl Curve {
    /// Slopes from piece to piece, if the curve is continuous for `t > 0` and has no periodic tail.
    fn continuous(&self) -> Result<bool, CurveError> {
        if self.tail() != Tail::Affine {
            return Ok(false);
        }
        for pair in self.pieces().windows(2) {
            if pair[0].at(pair[1].start)? != pair[1].at(pair[1].start)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the curve is concave for `t >= 0` and not negative at 0, as sums and minima of
    /// token buckets are.
    pub fn is_concave(&self) -> Result<bool, CurveError> {
        let falling = self.pieces().windows(2).all(|w| w[0].slope >= w[1].slope);
        let rising = self.pieces().last().is_some_and(|p| p.slope.signum() >= 0);
        let begins = self.value(Rational::ZERO)?.signum() >= 0;
        Ok(falling && rising && begins && self.continuous()?)
    }

    /// Whether the curve is convex, non-decreasing and 0 at 0, as service curves of lines are.
    pub fn is_convex(&self) -> Result<bool, CurveError> {
        let rising = self.pieces().windows(2).all(|w| w[0].slope <= w[1].slope);
        let up = self.pieces().first().is_some_and(|p| p.slope.signum() >= 0);
        let begins = self.value(Rational::ZERO)?.signum() == 0;
        Ok(rising && up && begins && self.continuous()?)
    }

    /// `inf_s f(s) + g(t - s)` of two concave curves (arrival curves), which are 0 before 0: their
    /// minimum.
    ///
    /// # Errors
    /// [`CurveError::Shape`] unless both are [concave](Self::is_concave).
    pub fn convolved_concave(&self, other: &Curve) -> Result<Curve, CurveError> {
        if !self.is_concave()? || !other.is_concave()? {
            return Err(CurveError::Shape { needs: "concave with a line for a tail" });
        }
        self.min(other)
    }

    /// `inf_s f(s) + g(t - s)` of two convex curves (service curves in a row): their lines one
    /// after the other by rising slope.
    ///
    /// # Errors
    /// [`CurveError::Shape`] unless both are [convex](Self::is_convex).
    pub fn convolved_convex(&self, other: &Curve) -> Result<Curve, CurveError> {
        if !self.is_convex()? || !other.is_convex()? {
            return Err(CurveError::Shape { needs: "convex, 0 at 0, with a line for a tail" });
        }
        let mut lines: Vec<(Rational, Option<Rational>)> = Vec::new();
        for curve in [self, other] {
            let pieces = curve.pieces();
            for (i, piece) in pieces.iter().enumerate() {
                let length = pieces.get(i + 1).map(|next| next.start.minus(piece.start));
                lines.push((piece.slope, length.transpose()?));
            }
        }
        lines.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.is_none().cmp(&b.1.is_none())));
        in_a_row(Rational::ZERO, lines)
    }

    /// `inf_s f(s) + g(t - s)` of two curves that are both concave or both convex.
    ///
    /// # Errors
    /// [`CurveError::Shape`] for any other pair.
    pub fn convolved(&self, other: &Curve) -> Result<Curve, CurveError> {
        if self.is_convex()? && other.is_convex()? {
            return self.convolved_convex(other);
        }
        if self.is_concave()? && other.is_concave()? {
            return self.convolved_concave(other);
        }
        let needs = "concave like the other, or convex like the other, with a line for a tail";
        Err(CurveError::Shape { needs })
    }

    /// `sup_s f(t + s) - g(s)` over `s >= 0`, of a concave arrival curve and a convex service curve:
    /// the arrival curve of what leaves (Le Boudec and Thiran, "Network Calculus", 2001, theorem
    /// 1.4.3). `None` when it has no bound.
    ///
    /// The supremum at 0 is attained where `f` stops to rise faster than `g`. From there on the
    /// lines of `f` after that point and those of `g` before it, which are run through backwards, follow
    /// one another by falling slope.
    ///
    /// # Errors
    /// [`CurveError::Shape`] unless this curve is [concave](Self::is_concave) and `service`
    /// [convex](Self::is_convex).
    pub fn deconvolved(&self, service: &Curve) -> Result<Option<Curve>, CurveError> {
        if !self.is_concave()? || !service.is_convex()? {
            let needs = "concave, and the service curve convex, both with a line for a tail";
            return Err(CurveError::Shape { needs });
        }
        if self.long_term_slope()? > service.long_term_slope()? {
            return Ok(None);
        }
        let backlog = self.difference(service)?;
        let falls = |piece: &&Piece| piece.slope.signum() <= 0;
        // The last slope of the difference is not positive, so there is such a piece.
        let top = backlog.pieces().iter().find(falls).map_or(Rational::ZERO, |p| p.start);
        let mut lines: Vec<(Rational, Option<Rational>)> = Vec::new();
        let ends = |pieces: &[Piece], i: usize| pieces.get(i + 1).map(|next| next.start);
        for (i, piece) in self.pieces().iter().enumerate() {
            let end = ends(self.pieces(), i);
            if end.is_none_or(|end| end > top) {
                let length = end.map(|end| end.minus(piece.start.greatest(top))).transpose()?;
                lines.push((piece.slope, length));
            }
        }
        for (i, piece) in service.pieces().iter().enumerate().filter(|(_, p)| p.start < top) {
            let end = ends(service.pieces(), i).map_or(top, |end| end.least(top));
            lines.push((piece.slope, Some(end.minus(piece.start)?)));
        }
        lines.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.is_none().cmp(&b.1.is_none())));
        in_a_row(backlog.value(top)?, lines).map(Some)
    }
}

/// Lines of these slopes and lengths one after the other from `level` on, up to the first without an
/// end.
fn in_a_row(
    mut level: Rational,
    lines: Vec<(Rational, Option<Rational>)>,
) -> Result<Curve, CurveError> {
    let mut at = Rational::ZERO;
    let mut pieces = Vec::with_capacity(lines.len());
    for (slope, length) in lines {
        pieces.push(Piece { start: at, slope, intercept: level.minus(slope.times(at)?)? });
        let Some(length) = length else { break };
        at = at.plus(length)?;
        level = level.plus(slope.times(length)?)?;
    }
    Curve::affine(pieces)
}
