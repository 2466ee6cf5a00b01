//! Figures of tables that several kinds have: spreads over seeds, shares, delays.

use crate::number::{Delays, fixed};
use crate::table::Cell;
use laxity_results::Spread;

/// Mean, least and greatest of the finite ones; `None` without any.
pub(crate) fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let (mut n, mut sum, mut min, mut max) = (0u32, 0.0, f64::INFINITY, f64::NEG_INFINITY);
    for v in values.filter(|v| v.is_finite()) {
        (n, sum, min, max) = (n + 1, sum + v, min.min(v), max.max(v));
    }
    (n > 0).then(|| Spread { mean: sum / f64::from(n), min, max })
}

/// The number of runs and their seeds; `unseeded` names a run without one.
pub(crate) fn runs(seeds: &[u64], unseeded: &str) -> String {
    match seeds {
        [] => unseeded.into(),
        [one] => format!("one, seed {one}"),
        [first, .., last] => format!("{}, seeds {first} to {last}", seeds.len()),
    }
}

/// A mean, and half the range where there is one.
pub(crate) fn delay(spread: Option<Spread>, unit: &Delays) -> Cell {
    match spread {
        None => Cell::none(),
        Some(s) if s.max > s.min => {
            let half = unit.text((s.max - s.min) / 2.0);
            Cell::new(format!("{} \u{b1} {half}", unit.text(s.mean)))
        }
        Some(s) => Cell::new(unit.text(s.mean)),
    }
}

/// Enough digits to distinguish a small share from none.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = match percent {
        p if p >= 10.0 || p == 0.0 => 1,
        p if p >= 0.1 => 2,
        _ => 4,
    };
    fixed(percent, decimals)
}
