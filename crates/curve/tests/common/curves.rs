//! Small curves and their evaluation by definition at every sixtieth of a unit.
#![allow(dead_code)]

use laxity_curve::{Curve, Piece, Rational};
use proptest::prelude::*;

/// Points in one unit of time; crossings of slopes that differ by at most 6 fall on them.
pub const GRID: i128 = 60;

#[derive(Clone, Debug)]
pub struct Slow {
    /// Start, value and slope of each piece.
    pub pieces: Vec<(i128, i128, i128)>,
    /// First piece that repeats, end of the pieces, rise.
    pub tail: Option<(usize, i128, i128)>,
}

impl Slow {
    /// Value times `GRID` at `t / GRID`, or its limit from the left.
    pub fn at(&self, mut t: i128, left: bool) -> i128 {
        if t < 0 || (left && t == 0) {
            return 0;
        }
        let mut gained = 0;
        if let Some((from, end, rise)) = self.tail {
            let period = (end - self.pieces[from].0) * GRID;
            while t > end * GRID || (t == end * GRID && !left) {
                t -= period;
                gained += rise * GRID;
            }
        }
        let holds = |p: &&(i128, i128, i128)| p.0 * GRID < t || (p.0 * GRID == t && !left);
        let (start, value, slope) = self.pieces.iter().rev().find(holds).unwrap();
        value * GRID + slope * (t - start * GRID) + gained
    }

    pub fn curve(&self) -> Curve {
        let piece = |&(start, value, slope): &(i128, i128, i128)| Piece {
            start: start.into(),
            slope: slope.into(),
            intercept: (value - slope * start).into(),
        };
        let pieces: Vec<Piece> = self.pieces.iter().map(piece).collect();
        match self.tail {
            None => Curve::affine(pieces).unwrap(),
            Some((from, end, rise)) => {
                let period = end - self.pieces[from].0;
                Curve::periodic(pieces, from, period.into(), rise.into()).unwrap()
            }
        }
    }
}

/// A point of the grid, and a value on it.
pub fn grid(t: i128) -> Rational {
    Rational::new(t, GRID).unwrap()
}

fn build(raw: Vec<(i128, i128, i128)>, tail: Option<(usize, i128)>, rising: bool) -> Slow {
    let (mut at, mut level) = (0, 0);
    let mut pieces = Vec::new();
    for (length, slope, jump) in raw {
        level += jump;
        pieces.push((at, level, slope));
        at += length;
        level += slope * length;
    }
    let tail = tail.map(|(from, rise)| {
        let from = from % pieces.len();
        // A rising curve may not fall from the end of a period to the start of the next.
        let rise = if rising { level - pieces[from].1 + rise } else { rise };
        (from, at, rise)
    });
    Slow { pieces, tail }
}

/// Anything: rising and falling, with jumps.
pub fn any_curve() -> impl Strategy<Value = Slow> {
    let piece = (1i128..4, -2i128..4, -3i128..6);
    let tail = proptest::option::of((0usize..4, -3i128..8));
    (proptest::collection::vec(piece, 1..5), tail).prop_map(|(raw, tail)| build(raw, tail, false))
}

/// Non-decreasing and not negative.
pub fn rising_curve() -> impl Strategy<Value = Slow> {
    let piece = (1i128..4, 0i128..4, prop_oneof![3 => Just(0i128), 2 => 0i128..6]);
    let tail = proptest::option::of((0usize..4, 0i128..4));
    (proptest::collection::vec(piece, 1..5), tail).prop_map(|(raw, tail)| build(raw, tail, true))
}

/// Concave with a jump at 0, or convex from 0.
pub fn bent_curve(convex: bool) -> impl Strategy<Value = Slow> {
    (proptest::collection::vec((1i128..5, 0i128..6), 1..5), 0i128..5).prop_map(
        move |(raw, jump)| {
            let mut slopes: Vec<i128> = raw.iter().map(|p| p.1).collect();
            slopes.sort_unstable_by_key(|s| if convex { *s } else { -s });
            let first = if convex { 0 } else { jump };
            let pieces = raw.iter().zip(slopes).enumerate();
            let pieces = pieces.map(|(i, (p, s))| (p.0, s, if i == 0 { first } else { 0 }));
            build(pieces.collect(), None, false)
        },
    )
}

/// `curve` equals `slow` (value and limit from the left, times `GRID`) on the grid up to `end`.
pub fn same(
    curve: &Curve,
    slow: impl Fn(i128, bool) -> i128,
    end: i128,
) -> Result<(), TestCaseError> {
    for t in 0..end * GRID {
        let t_exact = grid(t);
        prop_assert_eq!(curve.value(t_exact).unwrap(), grid(slow(t, false)), "at {}/60", t);
        if t > 0 {
            let left = curve.left_limit(t_exact).unwrap();
            prop_assert_eq!(left, grid(slow(t, true)), "left of {}/60", t);
        }
    }
    Ok(())
}

pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}
