//! Running extrema against all points before or after.

use crate::curves::{GRID, any_curve, cases, same};
use laxity_curve::*;
use proptest::prelude::*;

const END: i128 = 60;

proptest! {
    #![proptest_config(cases(300))]

    /// Fails when limits from the left are left out, or what follows a period is not.
    #[test]
    fn infimum_of_all_later_values(a in any_curve()) {
        let curve = a.curve();
        let found = curve.infimum_from();
        if curve.long_term_slope().unwrap().signum() < 0 {
            prop_assert!(matches!(found, Err(CurveError::Shape { .. })), "{:?}", found);
            return Ok(());
        }
        // The tail does not fall, so all that matters lies within two of the longest periods.
        let mut least = vec![0; usize::try_from((END + 40) * GRID + 1).unwrap()];
        let mut low = i128::MAX;
        for t in (0..(END + 40) * GRID).rev() {
            low = low.min(a.at(t + 1, true)).min(a.at(t, false));
            least[usize::try_from(t).unwrap()] = low;
        }
        // Its own limit from the left is the least of the limit there and all that follows.
        let at = |t: i128| least[usize::try_from(t).unwrap()];
        same(&found.unwrap(), |t, left| if left { at(t).min(a.at(t, true)) } else { at(t) }, END)?;
    }

    /// Fails when a later period is thought to overtake what came before too early.
    #[test]
    fn maximum_of_all_earlier_values(a in any_curve()) {
        let found = a.curve().maximum_so_far().unwrap();
        let mut most = Vec::new();
        let mut high = i128::MIN;
        for t in 0..2 * END * GRID {
            if t > 0 {
                high = high.max(a.at(t, true));
            }
            let left = high;
            high = high.max(a.at(t, false));
            most.push((left, high));
        }
        let at = |t: i128| most[usize::try_from(t).unwrap()];
        same(&found, |t, left| if left { at(t).0 } else { at(t).1 }, 2 * END)?;
    }

    #[test]
    fn suprema(a in any_curve()) {
        let curve = a.curve();
        let found = curve.supremum().unwrap();
        if curve.long_term_slope().unwrap().signum() > 0 {
            prop_assert_eq!(found, None);
        } else {
            let points = (0..END * GRID).flat_map(|t| [(t, false), (t + 1, true)]);
            let most = points.map(|(t, left)| a.at(t, left)).max().unwrap();
            prop_assert_eq!(found, Some(crate::curves::grid(most)));
        }
    }
}
