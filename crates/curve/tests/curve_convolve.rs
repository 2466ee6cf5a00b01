//! Convolution against all ways to split an interval.

use crate::curves::{GRID, Slow, any_curve, bent_curve, cases, same};
use laxity_curve::*;
use proptest::prelude::*;

const END: i128 = 14;

/// The least of `f(s) + g(t - s)` on the grid; `before` lets `s` reach beyond either end, where
/// one of the curves is zero.
fn convolved(f: &Slow, g: &Slow, t: i128, before: bool) -> i128 {
    let inside = (0..=t).map(|s| f.at(s, false) + g.at(t - s, false)).min().unwrap();
    if before { inside.min(f.at(t, false)).min(g.at(t, false)) } else { inside }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn convolution_of_concave_curves_matches_the_definition(f in bent_curve(false), g in bent_curve(false)) {
        let found = f.curve().convolved_concave(&g.curve()).unwrap();
        for t in (0..END * GRID).step_by(7) {
            prop_assert_eq!(found.value(crate::curves::grid(t)).unwrap(),
                crate::curves::grid(convolved(&f, &g, t, true)));
        }
    }

    /// Fails when the lines are not sorted, or one after an infinite line is kept.
    #[test]
    fn convolution_of_convex_curves_matches_the_definition(f in bent_curve(true), g in bent_curve(true)) {
        let found = f.curve().convolved_convex(&g.curve()).unwrap();
        let whole = |t: i128| convolved(&f, &g, t, false);
        for t in (0..END * GRID).step_by(5) {
            prop_assert_eq!(found.value(crate::curves::grid(t)).unwrap(), crate::curves::grid(whole(t)));
        }
    }

    /// Fails when the lines of either curve are cut at the wrong point or sorted by rising slope, or the
    /// value at 0 is not the backlog: each was tried.
    #[test]
    fn deconvolution_matches_the_definition(f in bent_curve(false), g in bent_curve(true)) {
        let (arrivals, service) = (f.curve(), g.curve());
        let found = arrivals.deconvolved(&service).unwrap();
        let bounded = arrivals.long_term_slope().unwrap() <= service.long_term_slope().unwrap();
        prop_assert_eq!(found.is_some(), bounded);
        let Some(found) = found else { return Ok(()) };
        for t in (0..END * GRID).step_by(20) {
            // Both are lines beyond the last corner, so no later point is higher.
            let most = (0..40 * GRID).map(|s| f.at(t + s, false) - g.at(s, false)).max().unwrap();
            prop_assert_eq!(found.value(crate::curves::grid(t)).unwrap(), crate::curves::grid(most));
        }
    }

    /// Other shapes are refused.
    #[test]
    fn shapes(a in any_curve()) {
        let curve = a.curve();
        let steps = |t: i128| [t, t + 1, t + 2].map(|t| a.at(t, false));
        let bends = |sign: i128| (0..40 * GRID).all(|t| {
            let [x, y, z] = steps(t);
            sign * (z - y) >= sign * (y - x) && (t == 0 || a.at(t, true) == a.at(t, false))
        });
        if curve.tail() == Tail::Affine {
            let up = a.pieces.last().unwrap().2 >= 0;
            let concave = bends(-1) && up && a.at(0, false) >= 0;
            prop_assert_eq!(curve.is_concave().unwrap(), concave);
            let convex = bends(1) && a.pieces[0].2 >= 0 && a.at(0, false) == 0;
            prop_assert_eq!(curve.is_convex().unwrap(), convex);
            prop_assert_eq!(curve.convolved_convex(&curve).is_ok(), convex);
            prop_assert_eq!(curve.convolved_concave(&curve).is_ok(), concave);
            prop_assert_eq!(curve.convolved(&curve).is_ok(), concave || convex);
        } else {
            prop_assert!(curve.convolved_convex(&curve).is_err());
        }
    }
}

/// Two buckets in a row: the tighter of both at each length.
#[test]
fn two_buckets() {
    let line = |slope: i128, burst: i128| Curve::line(slope.into(), burst.into());
    let both = line(3, 1).convolved_concave(&line(1, 5)).unwrap();
    let slow = |t: i128, left: bool| {
        if t == 0 && left { 0 } else { (3 * t + GRID).min(t + 5 * GRID) }
    };
    same(&both, slow, 10).unwrap();
}
