//! When a transmission ends, without losing the part below a nanosecond.

use crate::{Bytes, Divisor, NANOBITS_PER_BYTE, Rate, Time};

/// The clock of a link that sends one packet after the other.
///
/// 64 B at 100 Gbit/s take 5.12 ns. Rounding each packet up would cost 15 % of that link, so the
/// clock keeps the remainder (in nanobits still to be sent in the begun nanosecond) from packet to
/// packet while the link stays busy. Instants that it reports are rounded up.
#[derive(Clone, Debug)]
pub struct LinkClock {
    rate: Divisor,
    /// End of the last transmission, rounded up.
    free: Time,
    /// The link's capacity between the true end and `free`, in nanobits.
    spare: u64,
}

impl LinkClock {
    /// A link of the given rate, idle since time zero; `None` for a rate of zero.
    pub fn new(rate: Rate) -> Option<LinkClock> {
        Divisor::new(rate.0).map(|rate| LinkClock { rate, free: Time::ZERO, spare: 0 })
    }

    /// The instant from which the link is free, rounded up to a nanosecond.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free
    }

    /// Sends `work` bytes from `now` on and returns the end of the transmission, rounded up.
    ///
    /// `now` must not be before [`free_at`](Self::free_at); a decision taken exactly then starts
    /// at the true end of the packet before it.
    #[inline]
    pub fn transmit(&mut self, now: Time, work: Bytes) -> Time {
        debug_assert!(now >= self.free);
        let spare = if now == self.free { self.spare } else { 0 };
        let nanobits = u128::from(work.0) * NANOBITS_PER_BYTE as u128;
        let need = nanobits.saturating_sub(u128::from(spare));
        let ns = self.rate.div_ceil(need);
        self.spare = (u128::from(ns) * u128::from(self.rate.get())
            - need.min(u128::from(ns) * u128::from(self.rate.get()))) as u64;
        self.free = Time(now.0.saturating_add(ns));
        self.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_do_not_accumulate() {
        let mut clock = LinkClock::new(Rate(100_000_000_000)).unwrap();
        let mut now = Time::ZERO;
        for _ in 0..100 {
            now = clock.transmit(now, Bytes(64));
        }
        assert_eq!(now, Time(512));
    }

    #[test]
    fn an_idle_gap_forgets_the_remainder() {
        let mut clock = LinkClock::new(Rate(3_000_000_000)).unwrap();
        assert_eq!(clock.transmit(Time(0), Bytes(1)), Time(3)); // 2.67 ns
        assert_eq!(clock.transmit(Time(3), Bytes(1)), Time(6)); // ends at 5.33
        assert_eq!(clock.transmit(Time(10), Bytes(1)), Time(13));
        assert!(LinkClock::new(Rate(0)).is_none());
    }
}
