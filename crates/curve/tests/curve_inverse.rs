//! Pseudo-inverses against a search over all points.

use crate::curves::{GRID, any_curve, cases, grid, rising_curve};
use laxity_curve::*;
use proptest::prelude::*;

const END: i128 = 60;

proptest! {
    #![proptest_config(cases(300))]

    /// Fails when a jump or a flat is taken on its wrong side, or a period too many is skipped.
    #[test]
    fn both_pseudo_inverses_match_the_definition(a in rising_curve()) {
        let curve = a.curve();
        for work in 0..30i128 {
            // The first point of the grid is the right one up to the width of the grid.
            let first = |reached: &dyn Fn(i128) -> bool| {
                (0..END * GRID).find(|t| reached(a.at(*t, false)))
            };
            let lower = curve.lower_inverse(work.into()).unwrap();
            let upper = curve.upper_inverse(work.into()).unwrap();
            match first(&|y| y >= work * GRID) {
                Some(t) => prop_assert_eq!(lower, Some(grid(t)), "{}", work),
                None => prop_assert!(lower.is_none_or(|t| t >= Rational::whole(END))),
            }
            match first(&|y| y > work * GRID) {
                // Just above the level: the point itself after a jump, else the one before it.
                Some(t) => {
                    let upper = upper.unwrap();
                    let exact = a.at(t, true) <= work * GRID && t > 0 || t == 0;
                    let found = if exact { upper == grid(t) } else { false };
                    prop_assert!(found || (upper >= grid(t - 1) && upper < grid(t)), "{}", work);
                    prop_assert!(curve.left_limit(upper).unwrap() <= Rational::whole(work));
                }
                None => prop_assert!(upper.is_none_or(|t| t >= Rational::whole(END - 1))),
            }
        }
    }

    /// The curve of the inverse: upper from the right, lower from the left.
    #[test]
    fn the_inverse_as_a_curve(a in rising_curve()) {
        let curve = a.curve();
        let inverse = curve.inverted();
        if curve.long_term_slope().unwrap().signum() == 0 {
            prop_assert!(matches!(inverse, Err(CurveError::Shape { .. })), "{:?}", inverse);
            return Ok(());
        }
        let inverse = inverse.unwrap();
        for half in 0..80i128 {
            let work = Rational::new(half, 2).unwrap();
            let upper = curve.upper_inverse(work).unwrap();
            prop_assert_eq!(Some(inverse.value(work).unwrap()), upper, "{}", work);
            if half > 0 {
                let lower = curve.lower_inverse(work).unwrap();
                prop_assert_eq!(Some(inverse.left_limit(work).unwrap()), lower, "{}", work);
            }
        }
    }

    #[test]
    fn decreasing_curves_are_detected(a in any_curve()) {
        let points = |t: i128| [a.at(t, false), a.at(t + 1, true), a.at(t + 1, false)];
        let rising = (0..END * GRID).all(|t| points(t).is_sorted());
        prop_assert_eq!(a.curve().is_non_decreasing().unwrap(), rising);
    }
}
