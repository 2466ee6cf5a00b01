//! Demand of a service curve in whole packets.

use alloc::vec::Vec;

use laxity_core::Bytes;

use crate::curve::{Curve, Piece};
use crate::envelope::nanobits;
use crate::{CurveError, Rational};

/// Sizes of a flow's packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packets {
    pub min: Bytes,
    pub max: Bytes,
}

impl Packets {
    /// `P(f(t))` for a non-decreasing curve `f` of lines: `P(v)` is the largest sum of packet
    /// sizes not above `v`, `n = ceil(v / max)` packets if they may be that small, else `n - 1` of
    /// the largest. Fractions of a byte count as sizes, which gives away less than a byte.
    ///
    /// From `until` on it is `f` itself, which is never below.
    pub fn of(self, f: &Curve, until: Rational) -> Result<Curve, CurveError> {
        let mut out: Vec<Piece> = Vec::new();
        for (i, piece) in f.pieces().iter().enumerate() {
            let end = f.pieces().get(i + 1).map(|next| next.start);
            self.piece(piece, end, until, &mut out)?;
        }
        Curve::affine(out)
    }

    /// How many corners [`of`](Self::of) adds below a level in nanobits.
    pub fn steps(self, level: i128) -> i128 {
        let packets = level.max(0) / nanobits(self.max).max(1) + 1;
        packets.min(self.last_gap().unwrap_or(i128::MAX)).saturating_mul(2)
    }

    /// Whether some levels from here on are no sum of packet sizes.
    pub fn leaves_gaps_above(self, level: Rational) -> bool {
        let last = self.last_gap();
        last.is_none_or(|packets| level < Rational::whole(packets * nanobits(self.max)))
    }

    /// The number of packets from which on every level is a sum of packet sizes; `None` when all
    /// packets have one size.
    pub fn last_gap(self) -> Option<i128> {
        let spread = self.max.0.checked_sub(self.min.0).filter(|spread| *spread > 0)?;
        Some(self.min.0.div_ceil(spread).into())
    }

    fn piece(
        self,
        piece: &Piece,
        end: Option<Rational>,
        until: Rational,
        out: &mut Vec<Piece>,
    ) -> Result<(), CurveError> {
        let (small, large) = (nanobits(self.min), nanobits(self.max));
        let reach = |work: i128| -> Result<Option<Rational>, CurveError> {
            if piece.slope.signum() <= 0 {
                return Ok(None);
            }
            let at = Rational::whole(work).minus(piece.intercept)?.over(piece.slope)?;
            Ok((end.is_none_or(|end| at < end)).then_some(at))
        };
        let mut at = piece.start;
        let mut level = piece.at(at)?;
        // The number of packets that a level needs at least.
        let mut n = level.over(large.into())?.ceil().max(1);
        while at < until {
            let least = n * small;
            if level < Rational::whole(least) {
                let flat = (n - 1) * large;
                out.push(Piece { start: at, slope: Rational::ZERO, intercept: flat.into() });
                match reach(least)? {
                    Some(next) => (at, level) = (next, least.into()),
                    None => return Ok(()),
                }
                continue;
            }
            if n * large >= (n + 1) * small {
                // From here on packets of some sizes fill every level.
                break;
            }
            let most = n * large;
            if level < Rational::whole(most) {
                out.push(Piece { start: at, ..*piece });
                match reach(most)? {
                    Some(next) => (at, level) = (next, most.into()),
                    None => return Ok(()),
                }
            } else if piece.slope.signum() <= 0 {
                break;
            }
            n += 1;
        }
        out.push(Piece { start: at, ..*piece });
        Ok(())
    }
}
