//! Figures of several seeds.

use laxity_results::Spread;

/// The mean and range of figures over seeds; `None` without any.
pub fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let (mut n, mut sum, mut min, mut max) = (0u32, 0.0, f64::INFINITY, f64::NEG_INFINITY);
    for v in values {
        (n, sum, min, max) = (n + 1, sum + v, min.min(v), max.max(v));
    }
    (n > 0).then(|| Spread { mean: sum / f64::from(n), min, max })
}
