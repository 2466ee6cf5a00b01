//! Newtypes for the physical quantities, so that a time is never mistaken for an amount of work.

use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// An instant: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

/// An amount of work on a link, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate in bits per second. `1 B/s` is 8 bit/s, so rates in bytes are exact too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// A share relative to other shares, in millionths (`0.5` is `500_000`). Never zero where it is
/// used as a divisor; the readers of scenarios see to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(pub u32);

/// A flow by its place in the scenario: real-time flows first, then best-effort classes, each in
/// file order, the implicit class `other` last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than any instant of a run; the deadline of work that has none.
    pub const MAX: Time = Time(u64::MAX);

    /// The first of two instants of which there may be none. An array of both would be written to memory to be
    /// iterated over.
    #[inline]
    pub fn first(a: Option<Time>, b: Option<Time>) -> Option<Time> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The time from `earlier` to `self`, zero when `earlier` is in fact later.
    #[inline]
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Span {
        Span(n * 1_000_000)
    }
}

impl Weight {
    /// The weight 1.
    pub const ONE: Weight = Weight(1_000_000);
}

impl Rate {
    /// `n` bytes per second.
    pub const fn bytes_per_second(n: u64) -> Rate {
        Rate(n * 8)
    }

    /// Nanoseconds to send `work` at this rate, rounded up; `None` when the rate is zero or the
    /// result does not fit.
    pub fn time_for(self, work: Bytes) -> Option<Span> {
        let bits = (work.0 as u128) * crate::NANOBITS_PER_BYTE as u128;
        if self.0 == 0 {
            return None;
        }
        u64::try_from(bits.div_ceil(self.0 as u128)).ok().map(Span)
    }
}

impl FlowId {
    /// The flow's index into tables that hold one row for each flow.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

// Saturation keeps `Time::MAX` ("never") above every finite instant.
impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, rhs: Span) -> Time {
        Time(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, rhs: Span) {
        *self = *self + rhs;
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, rhs: Span) -> Time {
        Time(self.0.saturating_sub(rhs.0))
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, rhs: Span) -> Span {
        Span(self.0.saturating_add(rhs.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, rhs: Bytes) -> Bytes {
        Bytes(self.0 + rhs.0)
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, rhs: Bytes) {
        self.0 += rhs.0;
    }
}

impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, rhs: Bytes) {
        self.0 -= rhs.0;
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

/// Milliseconds with as many decimals as the value needs.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, mut rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if rest == 0 {
            return write!(f, "{whole} ms");
        }
        let mut width = 6;
        while rest % 10 == 0 {
            rest /= 10;
            width -= 1;
        }
        write!(f, "{whole}.{rest:0width$} ms")
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

/// `B/s` where that is whole, else `bit/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 % 8 == 0 {
            write!(f, "{} B/s", self.0 / 8)
        } else {
            write!(f, "{} bit/s", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn spans_print_only_the_digits_they_need() {
        assert_eq!(Span(15_000_000).to_string(), "15 ms");
        assert_eq!(Span(15_000_001).to_string(), "15.000001 ms");
        assert_eq!(Span(1_500).to_string(), "0.0015 ms");
    }

    #[test]
    fn time_max_stays_later_than_every_instant() {
        assert_eq!(Time::MAX + Span(1), Time::MAX);
        assert_eq!(Time(3).since(Time(5)), Span::ZERO);
    }

    #[test]
    fn transmission_time_rounds_up() {
        assert_eq!(Rate(100_000_000_000).time_for(Bytes(64)), Some(Span(6)));
        assert_eq!(Rate(10_000_000).time_for(Bytes(1536)), Some(Span(1_228_800)));
        assert_eq!(Rate(0).time_for(Bytes(1)), None);
    }
}
