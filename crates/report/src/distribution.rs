//! Quantiles and tails of distributions.

use crate::figure::Key;
use crate::number::span;
use crate::plot::{Axis, Ink, Mark, Plot, Point, Unit};
use crate::ticks;

/// Buckets of a distribution as (largest value in ns, count), rising.
pub(crate) type Buckets = Vec<(u64, u64)>;

/// A distribution with the last bounds lowered to the exact maximum, so that a bucket's width never
/// looks like a missed deadline.
pub(crate) fn up_to(distribution: &[(u64, u64)], max_ms: Option<f64>) -> Buckets {
    let max = max_ms.map_or(u64::MAX, |ms| (ms * 1e6).round() as u64);
    distribution.iter().map(|(upper, n)| ((*upper).min(max), *n)).collect()
}

/// The number of values.
pub(crate) fn total(buckets: &[(u64, u64)]) -> u64 {
    buckets.iter().map(|b| b.1).fold(0, u64::saturating_add)
}

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
    let total = total(buckets);
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

/// The quantiles of a policy as a sentence, for readers who cannot see the plot.
pub(crate) fn quantiles(policy: &str, buckets: &[(u64, u64)]) -> String {
    let at = |q| quantile(buckets, q).map_or("none".into(), span);
    let (median, high, most) = (at(500), at(990), at(1000));
    format!("{policy}: median {median}, 99th percentile {high}, largest {most}. ")
}

/// A plot of tails: the share of values beyond each value, a line for each policy.
pub(crate) struct Tails {
    lines: Vec<Mark>,
    description: String,
    right: f64,
    least: f64,
}

impl Tails {
    pub(crate) fn new() -> Tails {
        Tails { lines: Vec::new(), description: String::new(), right: 0.0, least: 0.1 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Adds the line of the policy at a place of the legend.
    pub(crate) fn add(&mut self, place: usize, policy: &str, buckets: &[(u64, u64)]) {
        let points = ccdf(buckets);
        self.right = points.last().map_or(self.right, |p| self.right.max(p.0));
        let total = total(buckets);
        if total > 0 {
            self.least = self.least.min(1.0 / total as f64);
        }
        self.description.push_str(&quantiles(policy, buckets));
        self.lines.push(Mark::Line { points, ink: Ink::series(place) });
    }

    /// The plot, with a dashed line at a named limit. `top` is the end of the scale of shares.
    pub(crate) fn plot(
        self,
        title: impl Into<String>,
        (x, y, top): (&str, &str, f64),
        limit: Option<(&str, u64)>,
    ) -> Plot {
        let right = limit.map_or(self.right, |(_, at)| self.right.max(at as f64)).max(1.0);
        let floor = libm::floor(libm::log10(self.least)).max(-9.0) as i32;
        let x = Axis::linear(x, Unit::Time, 0.0, right * 1.04);
        let y = Axis::log(y, Unit::Plain, ticks::decimal(1, floor), top).with_zero();
        let limit = limit.map(|(name, at)| Mark::Vertical {
            x: at as f64,
            label: format!("{name} {}", span(at)),
            ink: Ink::limit(),
        });
        Plot::new(title, x, y)
            .sized(380.0, 250.0)
            .described(self.description.trim_end())
            .with_all(self.lines)
            .with_all(limit)
    }
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
