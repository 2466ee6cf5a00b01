//! How far an arrival curve is from a service curve: bounds of delay and backlog.

use alloc::vec::Vec;

use crate::algebra::Common;
use crate::curve::{Curve, Tail};
use crate::{CurveError, Rational};

impl Curve {
    /// The vertical deviation `sup_t f(t) - g(t)`: the backlog of arrivals `f` served by `g`;
    /// `None` when it has no bound.
    pub fn backlog(&self, service: &Curve) -> Result<Option<Rational>, CurveError> {
        self.difference(service)?.supremum()
    }

    /// The horizontal deviation `sup_t inf { d >= 0 : f(t) <= g(t + d) }`: the delay of arrivals
    /// `f` served by `g`; `None` when it has no bound. Both must be non-decreasing.
    ///
    /// Between two levels at which one of the curves has a corner both inverses are lines, so the
    /// greatest distance is at such a level, on one of its sides.
    pub fn delay(&self, service: &Curve) -> Result<Option<Rational>, CurveError> {
        if !self.is_non_decreasing()? || !service.is_non_decreasing()? {
            return Err(CurveError::Shape { needs: "non-decreasing" });
        }
        let (rate, served) = (self.long_term_slope()?, service.long_term_slope()?);
        if rate > served {
            return Ok(None);
        }
        let mut levels: Vec<Rational> = Vec::new();
        let until = self.levels_until(service)?;
        for curve in [self, service] {
            let pieces = curve.expanded(until)?;
            for (i, piece) in pieces.iter().enumerate() {
                levels.push(piece.at(piece.start)?);
                if let Some(end) = pieces.get(i + 1).map(|next| next.start).or(until) {
                    levels.push(piece.at(end)?);
                }
            }
        }
        let top = self.supremum()?;
        levels.retain(|w| w.signum() > 0 && top.is_none_or(|top| *w <= top));
        levels.sort_unstable();
        levels.dedup();
        let mut worst = Rational::ZERO;
        for work in levels {
            if let Some(begin) = self.lower_inverse(work)? {
                let Some(end) = service.lower_inverse(work)? else { return Ok(None) };
                worst = worst.greatest(end.minus(begin)?);
            }
            if let Some(begin) = self.upper_inverse(work)? {
                let Some(end) = service.upper_inverse(work)? else { return Ok(None) };
                worst = worst.greatest(end.minus(begin)?);
            }
        }
        if let Some(begin) = self.upper_inverse(Rational::ZERO)? {
            let Some(end) = service.upper_inverse(Rational::ZERO)? else { return Ok(None) };
            worst = worst.greatest(end.minus(begin)?);
        }
        Ok(Some(worst))
    }

    /// How long to follow both curves so that every corner of either meets each part of the
    /// other's tail: both tails begun, and the common multiple of what they gain twice over.
    fn levels_until(&self, service: &Curve) -> Result<Option<Rational>, CurveError> {
        let rises = [self, service].map(|curve| match curve.tail() {
            Tail::Affine => None,
            Tail::Periodic { period, rise, .. } => Some((period, rise)),
        });
        let begun = Common::of(self, service)?.from;
        let mut until = begun;
        let each = match rises {
            [None, None] => return Ok(None),
            [Some((_, rise)), None] | [None, Some((_, rise))] => rise,
            [Some((_, a)), Some((_, b))] if a.signum() > 0 && b.signum() > 0 => {
                a.times(a.over(b)?.denominator().into())?
            }
            [Some((_, a)), Some((_, b))] => a.greatest(b),
        };
        // From the level at which both tails have begun, that much further on either curve.
        let level = self.value(begun)?.greatest(service.value(begun)?).plus(each)?.plus(each)?;
        for curve in [self, service] {
            if let Some(t) = curve.upper_inverse(level)? {
                until = until.greatest(t);
            }
        }
        for (period, _) in rises.into_iter().flatten() {
            until = until.greatest(begun.plus(period)?.plus(period)?);
        }
        Ok(Some(until))
    }
}
