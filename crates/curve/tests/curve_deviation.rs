//! Delay and backlog bounds against all points.

use crate::curves::{GRID, any_curve, cases, rising_curve};
use laxity_core::{Bytes, Rate};
use laxity_curve::*;
use proptest::prelude::*;

proptest! {
    #![proptest_config(cases(200))]

    /// Fails when the greatest distance is sought at corners of one of the curves only, or the
    /// tails are not followed far enough.
    #[test]
    fn delays(a in rising_curve(), b in rising_curve()) {
        let found = a.curve().delay(&b.curve()).unwrap();
        let slopes = [&a, &b].map(|x| x.curve().long_term_slope().unwrap());
        let first = |level: i128, from: i128| (from..900 * GRID).find(|t| b.at(*t, false) >= level);
        let mut worst = Some(0);
        let mut from = 0;
        for t in 0..160 * GRID {
            worst = match (worst, first(a.at(t, false), from)) {
                (Some(worst), Some(at)) => {
                    from = at;
                    Some(worst.max(at - t))
                }
                _ => None,
            };
            if worst.is_none() {
                break;
            }
        }
        match (found, worst) {
            (Some(found), Some(worst)) => {
                // On the grid the delay falls short by less than one point on either side.
                let exact = found.times(GRID.into()).unwrap();
                prop_assert!(exact <= Rational::whole(worst + 1), "{} {}", exact, worst);
                prop_assert!(exact >= Rational::whole(worst - 1), "{} {}", exact, worst);
            }
            (None, _) => prop_assert!(
                slopes[0] > slopes[1] || worst.is_none() || slopes[1].signum() == 0
            ),
            (Some(found), None) => prop_assert!(false, "{}", found),
        }
    }

    #[test]
    fn backlogs(a in any_curve(), b in any_curve()) {
        let found = a.curve().backlog(&b.curve()).unwrap();
        let slopes = [&a, &b].map(|x| x.curve().long_term_slope().unwrap());
        if slopes[0] > slopes[1] {
            prop_assert_eq!(found, None);
            return Ok(());
        }
        let points = (0..160 * GRID).flat_map(|t| [(t, false), (t + 1, true)]);
        let most = points.map(|(t, left)| a.at(t, left) - b.at(t, left)).max().unwrap();
        prop_assert_eq!(found, Some(crate::curves::grid(most)));
    }
}

/// The delay of a TSpec at rate R is that of RFC 2212, whichever way it is computed.
#[test]
fn a_tspec_at_a_rate() {
    let envelope = crate::common::tspec(1000, 5000, 10_000, 1000);
    let line = Curve::line(16_000.into(), 0.into());
    let delay = envelope.curve().unwrap().delay(&line).unwrap().unwrap();
    assert_eq!(delay, Rational::whole(3_875_000_000));
    let none = envelope.curve().unwrap().delay(&Curve::line(7999.into(), 0.into()));
    assert_eq!(none, Ok(None));
    let backlog = envelope.curve().unwrap().backlog(&line).unwrap().unwrap();
    // At the knee, 2.25 s: 12250 B came, 4500 B went.
    assert_eq!(backlog, Rational::whole(7750 * 8_000_000_000));
    let steps = Envelope::periodic(laxity_core::Span(10), Bytes(1), laxity_core::Span(25)).unwrap();
    let line = Curve::line(Rational::from(Rate::bytes_per_second(200_000_000).0), 0.into());
    // 3 B at once take 15 ns; the fourth comes after 5 ns and ends at 20.
    assert_eq!(steps.curve().unwrap().delay(&line), Ok(Some(15.into())));
}
