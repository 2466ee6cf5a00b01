//! Operators that work point by point: value, sum, difference, minimum, shifts, comparison.

use crate::curves::{GRID, any_curve, cases, grid, same};
use laxity_curve::*;
use proptest::prelude::*;

const END: i128 = 60;

proptest! {
    #![proptest_config(cases(200))]

    /// Fails when a period is folded onto the wrong instant, above all from the left.
    #[test]
    fn values_and_limits(a in any_curve()) {
        same(&a.curve(), |t, left| a.at(t, left), END)?;
        let end = 17;
        let finite = a.curve().materialised(end.into()).unwrap();
        prop_assert_eq!(finite.tail(), Tail::Affine);
        same(&finite, |t, left| a.at(t, left), end)?;
        let corners: Vec<_> = a.curve().corners().collect::<Result<_, _>>().unwrap();
        for (t, left, value) in corners {
            let t = t.floor() * GRID;
            prop_assert_eq!((left, value), (grid(a.at(t, true)), grid(a.at(t, false))));
        }
    }

    /// Fails when the tails are joined before both have begun, or with too short a period.
    #[test]
    fn sums(a in any_curve(), b in any_curve()) {
        let sum = a.curve().sum(&b.curve()).unwrap();
        same(&sum, |t, left| a.at(t, left) + b.at(t, left), END)?;
    }

    #[test]
    fn differences(a in any_curve(), b in any_curve()) {
        let difference = a.curve().difference(&b.curve()).unwrap();
        same(&difference, |t, left| a.at(t, left) - b.at(t, left), END)?;
    }

    /// Fails when a crossing is missed or the tail that stays lower is chosen too early.
    #[test]
    fn minima(a in any_curve(), b in any_curve()) {
        let min = a.curve().min(&b.curve()).unwrap();
        same(&min, |t, left| a.at(t, left).min(b.at(t, left)), 2 * END)?;
    }

    #[test]
    fn shifts(a in any_curve(), by in 0i128..200, up in -5i128..6) {
        let later = a.curve().later(grid(by)).unwrap();
        same(&later, |t, left| a.at(t - by, left), END)?;
        let raised = a.curve().raised(up.into()).unwrap();
        same(&raised, |t, left| a.at(t, left) + if t == 0 && left { 0 } else { up * GRID }, END)?;
    }

    /// Fails when a piece that rises above only in its interior, or a period after the first, is
    /// overlooked.
    #[test]
    fn comparison_has_a_witness(a in any_curve(), b in any_curve()) {
        match a.curve().above(&b.curve()).unwrap() {
            Some(t) => {
                prop_assert!(a.curve().value(t).unwrap() > b.curve().value(t).unwrap(), "{}", t);
            }
            None => {
                for t in 0..2 * END * GRID {
                    prop_assert!(a.at(t, false) <= b.at(t, false), "{}", t);
                }
            }
        }
    }
}

#[test]
fn shapes_are_checked() {
    let piece = |start: i128| Piece { start: start.into(), slope: 1.into(), intercept: 0.into() };
    assert!(Curve::affine(vec![]).is_err());
    assert!(Curve::affine(vec![piece(1)]).is_err());
    assert!(Curve::affine(vec![piece(0), piece(0)]).is_err());
    assert!(Curve::periodic(vec![piece(0)], 1, 1.into(), 1.into()).is_err());
    assert!(Curve::periodic(vec![piece(0), piece(5)], 0, 5.into(), 1.into()).is_err());
    assert!(Curve::periodic(vec![piece(0)], 0, 0.into(), 1.into()).is_err());
    assert!(Curve::line(1.into(), 0.into()).later((-1).into()).is_err());
}

/// Periods without a small common multiple are refused, not followed for ever.
#[test]
fn too_many_pieces_are_an_error() {
    let steps = |period: i128| {
        let piece = Piece { start: 0.into(), slope: 0.into(), intercept: 1.into() };
        Curve::periodic(vec![piece], 0, period.into(), 1.into()).unwrap()
    };
    let sum = steps(1_000_003).sum(&steps(1_000_033));
    assert_eq!(sum, Err(CurveError::TooManyPieces { limit: MAX_PIECES }));
    let huge = Curve::line(Rational::whole(i128::MAX), Rational::ONE);
    assert!(matches!(huge.value(2.into()), Err(CurveError::Overflow { .. })));
    assert!(matches!(huge.sum(&huge), Err(CurveError::Overflow { .. })));
}
