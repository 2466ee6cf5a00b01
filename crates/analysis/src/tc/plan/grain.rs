//! Values that `tc` stores and prints without rounding: what is planned is what a dump reads.
//!
//! `tc` prints rates in whole bit/s below 1 Mbit/s, then in whole kbit/s and Mbit/s, and times with three
//! digits. It stores bursts as times in ticks of 64 ns, older versions in whole microseconds, and prints
//! sizes near a multiple of 1024 B as that.

use laxity_curve::Rational;

/// The next rate up, in bit/s.
pub fn rate_up(rate: Rational) -> u64 {
    let up = |grain: i128| u64::try_from(rate.ceil().div_euclid(grain) * grain).unwrap_or(u64::MAX);
    let grain = match rate.ceil() {
        ..1_000_000 => 8,
        1_000_000..1_000_000_000 => 1000,
        _ => 1_000_000,
    };
    let down = up(grain);
    match Rational::from(down) < rate {
        true => down.saturating_add(grain as u64),
        false => down,
    }
}

/// The next rate down, in bit/s.
pub fn rate_down(rate: Rational) -> u64 {
    let floor = u64::try_from(rate.floor()).unwrap_or(0);
    let grain = match floor {
        ..1_000_000 => 8,
        1_000_000..1_000_000_000 => 1000,
        _ => 1_000_000,
    };
    floor / grain * grain
}

/// A time in ns with three digits of microseconds and up.
fn step(ns: u64) -> u64 {
    let mut step = 1000;
    while ns / step >= 1000 && step < 10_000_000_000 {
        step *= 10;
    }
    step
}

/// The next time up, in ns.
pub fn time_up(ns: Rational) -> u64 {
    let whole = u64::try_from(ns.ceil()).unwrap_or(u64::MAX);
    let step = step(whole);
    whole.div_ceil(step).saturating_mul(step)
}

/// The next time down, in ns.
pub fn time_down(ns: Rational) -> u64 {
    let whole = u64::try_from(ns.floor()).unwrap_or(0);
    let step = step(whole);
    whole / step * step
}

/// By how many bytes a burst at a rate may differ, as stored or printed.
fn uncertain(burst: u64, rate: u64) -> u64 {
    let print = if burst >= 1 << 20 { 1024 } else { 16 };
    2 * rate.div_ceil(8_000_000) + print
}

/// A burst that is at least `bytes`, however it is stored and printed.
pub fn burst_up(bytes: u64, rate: u64) -> u64 {
    bytes.saturating_add(uncertain(bytes.saturating_mul(2), rate))
}

/// The most that a burst may be read as.
pub fn burst_at_most(burst: u64) -> u64 {
    burst.saturating_add(if burst >= (1 << 20) - 1024 { 1024 } else { 16 })
}

/// A size that is printed as it is: a multiple of 1024 B.
pub fn size_up(bytes: u64) -> u64 {
    bytes.div_ceil(1024).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::{rate_down, rate_up, time_down, time_up};

    // Fails when a rounded value is on the wrong side, or has digits that tc would drop.
    #[test]
    fn values_keep_their_side_and_their_digits() {
        for (rate, up, down) in [
            (1u64, 8, 0),
            (999_993, 1_000_000, 999_992),
            (1_163_201, 1_164_000, 1_163_000),
            (1_163_000, 1_163_000, 1_163_000),
            (2_000_000_001, 2_001_000_000, 2_000_000_000),
        ] {
            assert_eq!((rate_up(rate.into()), rate_down(rate.into())), (up, down), "{rate}");
        }
        for (ns, up, down) in [
            (1u64, 1000, 0),
            (999_001, 1_000_000, 999_000),
            (3_770_500, 3_780_000, 3_770_000),
            (461_795_000, 462_000_000, 461_000_000),
        ] {
            assert_eq!((time_up(ns.into()), time_down(ns.into())), (up, down), "{ns}");
        }
    }
}
