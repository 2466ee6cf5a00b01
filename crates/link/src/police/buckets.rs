//! Token buckets that enforce a minimum of affine curves.

use alloc::boxed::Box;

use laxity_core::{Bytes, Divisor, NANOBITS_PER_BYTE, Time};
use laxity_curve::Bucket;

use super::Remaining;

/// Several token buckets over the same packets: the flow stays below the minimum of
/// `burst + rate * t` over all of them. A TSpec is `(M, p)` and `(b, r)`.
#[derive(Clone, Debug)]
pub struct TokenBuckets {
    buckets: Box<[State]>,
    /// Packets shorter than this count with it (the minimum policed unit of RFC 2215).
    min_packet: u32,
    /// The instant of the levels.
    at: Time,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// Tokens in nanobits at the common instant.
    level: u64,
    burst: u64,
    rate: u64,
    rate_inverse: Option<Divisor>,
}

impl State {
    #[inline]
    fn level_after(&self, elapsed: u64) -> u64 {
        self.level.saturating_add(self.rate.saturating_mul(elapsed)).min(self.burst)
    }
}

impl TokenBuckets {
    /// Full buckets. Bursts are bounded by the envelope's constructors so that they fit in
    /// nanobits.
    pub fn new(buckets: &[Bucket], min_packet: Bytes) -> TokenBuckets {
        let state = |b: &Bucket| {
            let burst = b.burst.0.saturating_mul(NANOBITS_PER_BYTE as u64);
            State { level: burst, burst, rate: b.rate.0, rate_inverse: Divisor::new(b.rate.0) }
        };
        TokenBuckets {
            buckets: buckets.iter().map(state).collect(),
            min_packet: u32::try_from(min_packet.0).unwrap_or(u32::MAX),
            at: Time::ZERO,
        }
    }

    #[inline]
    fn cost(&self, bytes: u32) -> u64 {
        u64::from(bytes.max(self.min_packet)) * NANOBITS_PER_BYTE as u64
    }

    #[inline]
    pub(super) fn conforms_at(&self, now: Time, bytes: u32) -> Option<Time> {
        let cost = self.cost(bytes);
        let start = now.max(self.at);
        let elapsed = start.0 - self.at.0;
        let mut wait = 0;
        for b in &self.buckets {
            let level = b.level_after(elapsed);
            if level < cost {
                if cost > b.burst {
                    return None;
                }
                // From the common instant, not from `start`: a division rounds up once only.
                let needed = b.rate_inverse?.div_ceil(u128::from(cost - b.level));
                wait = wait.max(needed - elapsed);
            }
        }
        Some(Time(start.0.saturating_add(wait)))
    }

    #[inline]
    pub(super) fn take(&mut self, at: Time, bytes: u32) {
        let cost = self.cost(bytes);
        let elapsed = at.since(self.at).0;
        for b in &mut self.buckets {
            b.level = b.level_after(elapsed).saturating_sub(cost);
        }
        self.at = self.at.max(at);
    }

    #[inline]
    pub(super) fn remaining(&self, now: Time) -> Remaining {
        let elapsed = now.since(self.at).0;
        let mut lines = [(0, 0); Remaining::LINES];
        let count = self.buckets.len().min(Remaining::LINES);
        // Of too many buckets the last one stays: its rate bounds the flow in the long run, and a
        // sum of steeper ones could outgrow the link.
        let Some((last, first)) = self.buckets.split_last() else {
            return Remaining { least: i128::from(self.cost(0)), lines, count };
        };
        for (line, b) in lines.iter_mut().zip(first[..count - 1].iter().chain([last])) {
            *line = (i128::from(b.level_after(elapsed)), b.rate);
        }
        Remaining { least: i128::from(self.cost(0)), lines, count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laxity_core::Rate;

    fn tspec() -> TokenBuckets {
        // M = 100 B, p = 1000 B/s; b = 300 B, r = 100 B/s.
        let buckets = [
            Bucket { burst: Bytes(100), rate: Rate::bytes_per_second(1000) },
            Bucket { burst: Bytes(300), rate: Rate::bytes_per_second(100) },
        ];
        TokenBuckets::new(&buckets, Bytes(40))
    }

    #[test]
    fn the_slower_bucket_takes_over_once_it_is_empty() {
        let mut policer = tspec();
        let mut last = Time::ZERO;
        let expected = [0, 100, 200, 1_000, 2_000, 3_000];
        for ms in expected {
            last = policer.conforms_at(last, 100).unwrap();
            assert_eq!(last, Time(ms * 1_000_000));
            policer.take(last, 100);
        }
    }

    #[test]
    fn short_packets_count_as_the_minimum_policed_unit() {
        let mut policer = tspec();
        policer.take(Time::ZERO, 1);
        policer.take(Time::ZERO, 1);
        assert_eq!(policer.conforms_at(Time::ZERO, 1), Some(Time(20_000_000)));
    }

    #[test]
    fn a_packet_larger_than_a_bucket_never_conforms() {
        assert_eq!(tspec().conforms_at(Time::ZERO, 101), None);
        let dry = [Bucket { burst: Bytes(100), rate: Rate(0) }];
        let mut dry = TokenBuckets::new(&dry, Bytes(1));
        dry.take(Time::ZERO, 100);
        assert_eq!(dry.conforms_at(Time::ZERO, 1), None);
    }

    #[test]
    fn remaining_bounds_what_can_still_conform() {
        let mut policer = tspec();
        policer.take(Time::ZERO, 100);
        let rest = policer.remaining(Time(50_000_000));
        let bytes = |y| rest.at(y) / NANOBITS_PER_BYTE;
        assert_eq!((bytes(0), bytes(50_000_000), bytes(1_000_000_000)), (50, 100, 305));
        policer.take(Time(50_000_000), 50);
        let rest = policer.remaining(Time(50_000_000));
        assert_eq!((rest.at(39_999_999), rest.at(40_000_000) / NANOBITS_PER_BYTE), (0, 40));
    }
}
