//! Quantiles and tails of distributions.

use crate::figure::Key;
use crate::plot::{Ink, Point};

/// Least value that at least `per_mille` of the counts do not exceed.
pub(crate) fn quantile(buckets: &[(u64, u64)], per_mille: u64) -> Option<u64> {
    let total: u128 = buckets.iter().map(|b| u128::from(b.1)).sum();
    let rank = (total * u128::from(per_mille)).div_ceil(1000).max(1);
    let mut seen = 0;
    for (upper, n) in buckets {
        seen += u128::from(*n);
        if seen >= rank {
            return Some(*upper);
        }
    }
    None
}

/// Steps of the share of packets with a longer delay.
pub(crate) fn ccdf(buckets: &[(u64, u64)]) -> Vec<Point> {
    let total: u64 = buckets.iter().map(|b| b.1).fold(0, u64::saturating_add);
    let mut left = total;
    let mut points = Vec::with_capacity(buckets.len() * 2 + 1);
    if total == 0 {
        return points;
    }
    points.push((0.0, 1.0));
    for (upper, n) in buckets {
        points.push((*upper as f64, left as f64 / total as f64));
        left = left.saturating_sub(*n);
        points.push((*upper as f64, left as f64 / total as f64));
    }
    points
}

/// One line for each policy.
pub(crate) fn legend_of<'a>(policies: impl Iterator<Item = &'a str>) -> Vec<Key> {
    policies.enumerate().map(|(i, policy)| Key::line(policy, Ink::series(i))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when the step comes before the bucket's upper bound, or the last step is left out.
    #[test]
    fn tails_step_at_bucket_bounds() {
        let points = ccdf(&[(10, 3), (20, 1)]);
        let want = [(0.0, 1.0), (10.0, 1.0), (10.0, 0.25), (20.0, 0.25), (20.0, 0.0)];
        assert_eq!(points, want);
        assert!(ccdf(&[]).is_empty());
        assert_eq!(ccdf(&[(5, u64::MAX), (9, u64::MAX)]).len(), 5);
    }

    #[test]
    fn quantiles_round_up() {
        let buckets = [(10, 3), (20, 1)];
        assert_eq!(quantile(&buckets, 750), Some(10));
        assert_eq!(quantile(&buckets, 751), Some(20));
        assert_eq!(quantile(&[], 500), None);
    }
}
