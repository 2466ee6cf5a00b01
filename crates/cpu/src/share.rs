//! Shares of a CPU as binary fractions.

use core::fmt;

use laxity_core::Span;

/// A share of one CPU in units of 2^-40, which resolves a nanosecond in a budget of a quarter of an
/// hour. Sums of reservations are rounded up, the remaining bandwidth down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(pub u64);

impl Share {
    /// A share of zero.
    pub const ZERO: Share = Share(0);
    /// All of one CPU.
    pub const ONE: Share = Share(1 << 40);

    /// `per_mille / 1000`, rounded down.
    pub const fn per_mille(per_mille: u32) -> Share {
        Share((Share::ONE.0 as u128 * per_mille as u128 / 1000) as u64)
    }

    /// `work / time`, rounded up; saturates for no time at all.
    pub fn up(work: Span, time: Span) -> Share {
        Share::ratio(work, time, true)
    }

    /// `work / time`, rounded down; saturates for no time at all.
    pub fn down(work: Span, time: Span) -> Share {
        Share::ratio(work, time, false)
    }

    fn ratio(work: Span, time: Span, up: bool) -> Share {
        let scaled = u128::from(work.0) << 40;
        let time = u128::from(time.0);
        let quotient = match () {
            () if time == 0 => return Share(u64::MAX),
            () if up => scaled.div_ceil(time),
            () => scaled / time,
        };
        Share(u64::try_from(quotient).unwrap_or(u64::MAX))
    }

    /// The sum, saturating.
    #[must_use]
    pub const fn plus(self, other: Share) -> Share {
        Share(self.0.saturating_add(other.0))
    }

    /// The difference, at least zero.
    #[must_use]
    pub const fn minus(self, other: Share) -> Share {
        Share(self.0.saturating_sub(other.0))
    }

    /// CPU time in `time`, rounded down.
    pub fn of(self, time: Span) -> Span {
        let product = u128::from(self.0) * u128::from(time.0);
        Span(u64::try_from(product >> 40).unwrap_or(u64::MAX))
    }

    /// The time in which this share amounts to `work`, rounded up; saturates for a share of zero.
    pub fn time_for(self, work: Span) -> Span {
        if self.0 == 0 {
            return Span(u64::MAX);
        }
        let scaled = u128::from(work.0) << 40;
        Span(u64::try_from(scaled.div_ceil(u128::from(self.0))).unwrap_or(u64::MAX))
    }
}

/// Per cent with three decimals, rounded to the nearest.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scaled = u128::from(self.0) * 100_000 + u128::from(Share::ONE.0 / 2);
        let millis = scaled >> 40;
        write!(f, "{}.{:03} %", millis / 1000, millis % 1000)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn shares_round_in_the_requested_direction() {
        let third = (Span(1), Span(3));
        assert_eq!(Share::up(third.0, third.1).0, Share::down(third.0, third.1).0 + 1);
        assert_eq!(Share::up(Span(1), Span(4)), Share::down(Span(1), Span(4)));
        assert_eq!(Share::up(Span(1), Span(0)), Share(u64::MAX));
        assert_eq!(Share::per_mille(500).of(Span(7)), Span(3));
        assert_eq!(Share::per_mille(250).time_for(Span(7)), Span(28));
        assert_eq!(Share::ZERO.time_for(Span(1)), Span(u64::MAX));
    }

    #[test]
    fn shares_print_as_per_cent() {
        assert_eq!(Share::per_mille(50).to_string(), "5.000 %");
        assert_eq!(Share::up(Span(1), Span(3)).to_string(), "33.333 %");
        assert_eq!(Share::ONE.to_string(), "100.000 %");
    }
}
