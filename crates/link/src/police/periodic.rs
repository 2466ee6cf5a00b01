//! One packet a period, each up to a jitter early against its grid.

use laxity_core::{Bytes, Divisor, NANOBITS_PER_BYTE, Span, Time};

use super::Remaining;

/// The generic cell rate algorithm in its virtual-scheduling form: a packet conforms from its
/// theoretical arrival time less the jitter on, and moves that time on by one period. Whatever its
/// length, up to `size`, it uses one period.
#[derive(Clone, Debug)]
pub struct PeriodicPolicer {
    period: u64,
    jitter: u64,
    size: u64,
    /// Theoretical arrival time of the next packet.
    next: Time,
    /// Conformance of the last one; packets of one flow stay in order.
    last: Time,
    /// Long-term rate in bit/s, rounded up.
    rate: u64,
}

impl PeriodicPolicer {
    /// A policer that has seen no packet yet.
    pub fn new(period: Span, jitter: Span, size: Bytes) -> PeriodicPolicer {
        let nanobits = u128::from(size.0) * NANOBITS_PER_BYTE as u128;
        PeriodicPolicer {
            period: period.0,
            jitter: jitter.0,
            size: size.0,
            next: Time::ZERO,
            last: Time::ZERO,
            rate: Divisor::new(period.0).map_or(u64::MAX, |p| p.div_ceil(nanobits)),
        }
    }

    #[inline]
    pub(super) fn conforms_at(&self, now: Time, bytes: u32) -> Option<Time> {
        if u64::from(bytes) > self.size {
            return None;
        }
        Some(now.max(self.last).max(self.next - Span(self.jitter)))
    }

    #[inline]
    pub(super) fn take(&mut self, at: Time) {
        self.next = at.max(self.next) + Span(self.period);
        self.last = at;
    }

    /// The staircase of the periods still unused, bounded by the line through its steps.
    #[inline]
    pub(super) fn remaining(&self, now: Time) -> Remaining {
        let base = now.max(self.next);
        // size * ((now + y + jitter - base) / period + 1): a whole packet from the first step on.
        let ahead = i128::from(now.0) + i128::from(self.jitter) - i128::from(base.0);
        let level = i128::from(self.size) * NANOBITS_PER_BYTE + ahead * i128::from(self.rate);
        let mut lines = [(0, 0); Remaining::LINES];
        lines[0] = (level, self.rate);
        Remaining { least: i128::from(self.size) * NANOBITS_PER_BYTE, lines, count: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policer() -> PeriodicPolicer {
        PeriodicPolicer::new(Span(10), Span(3), Bytes(100))
    }

    #[test]
    fn early_packets_wait_for_their_grid_less_the_jitter() {
        let mut p = policer();
        let mut times = [Time::ZERO; 4];
        for t in &mut times {
            *t = p.conforms_at(Time::ZERO, 100).unwrap();
            p.take(*t);
        }
        assert_eq!(times, [Time(0), Time(7), Time(17), Time(27)]);
        assert_eq!(p.conforms_at(Time::ZERO, 101), None);
    }

    #[test]
    fn remaining_is_never_below_the_staircase() {
        let mut p = policer();
        p.take(Time(20)); // next place at 30 - 3
        for now in 20..45 {
            let rest = p.remaining(Time(now));
            for y in 0..60 {
                let mut q = p.clone();
                let mut sent = 0;
                while q.conforms_at(Time(now), 100).unwrap() <= Time(now + y) {
                    let at = q.conforms_at(Time(now), 100).unwrap();
                    q.take(at);
                    sent += 100 * NANOBITS_PER_BYTE;
                }
                assert!(rest.at(y) >= sent, "now {now} y {y}: {} < {sent}", rest.at(y));
            }
        }
    }
}
