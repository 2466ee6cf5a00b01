//! PI2: the controller of RFC 8033 on a linear probability, squared for classic traffic (RFC 9332,
//! section 2.1 and appendix A).

use laxity_core::{Span, Time};

/// Between two updates: 16 ms.
const PERIOD: u64 = 16_000_000;

/// Updates that are made up for at once after a gap.
const MAX_UPDATES: u64 = 8;

/// Gains of 0.16 and 3.2 Hz for a delay in ns and a probability in Q32, in 2^-16.
const ALPHA: i64 = 45_036;
const BETA: i64 = 900_720;

/// No signals for so long once the queue begins to build up (RFC 8033, section 4.4): 150 ms.
const BURST: u64 = 150_000_000;

/// Probability 1 in Q32.
pub(crate) const ONE: u64 = 1 << 32;

/// The probability `p'`, and a seeded generator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pi2 {
    target: i64,
    /// `p'` in Q32, at most [`ONE`].
    probability: u64,
    last_delay: i64,
    updated: u64,
    burst: u64,
    random: u64,
}

impl Pi2 {
    pub(crate) fn new(target: Span, seed: u64) -> Pi2 {
        let target = target.0.min(i64::MAX as u64) as i64;
        // A seed of zero would stay zero.
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Pi2 { target, probability: 0, last_delay: 0, updated: 0, burst: BURST, random }
    }

    /// `p'` in Q32 for a packet that leaves at `now`, with the delay of the queue; 0 while a burst
    /// is allowed.
    pub(crate) fn probability(&mut self, now: Time, delay: Span) -> u64 {
        self.update(now.0, delay);
        if self.burst > 0 { 0 } else { self.probability }
    }

    fn update(&mut self, now: u64, delay: Span) {
        let due = now.saturating_sub(self.updated) / PERIOD;
        let delay = delay.0.min(1 << 31) as i64;
        for _ in 0..due.min(MAX_UPDATES) {
            // Below 2^32 * 2^20 * 2.
            let change =
                (delay - self.target.min(1 << 31)) * ALPHA + (delay - self.last_delay) * BETA;
            let probability = self.probability as i64 + (change >> 16);
            self.probability = probability.clamp(0, ONE as i64) as u64;
            let low = |delay: i64| delay < self.target / 2;
            if self.probability == 0 && low(delay) && low(self.last_delay) {
                self.burst = BURST;
            } else {
                self.burst = self.burst.saturating_sub(PERIOD);
            }
            self.last_delay = delay;
        }
        self.updated = if due > MAX_UPDATES { now } else { self.updated + due * PERIOD };
    }

    /// Two independent rolls, in Q32: the halves of one draw of xorshift64*.
    pub(crate) fn rolls(&mut self) -> (u64, u64) {
        let mut x = self.random;
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.random = x;
        let draw = x.wrapping_mul(0x2545_f491_4f6c_dd1d);
        (draw >> 32, draw & 0xffff_ffff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a gain is wrong, when an update is skipped or made twice, or when the burst
    // allowance neither ends nor returns.
    #[test]
    fn the_probability_follows_the_controller_in_floating_point() {
        let target = 15e-3;
        let mut pi2 = Pi2::new(Span(15_000_000), 1);
        let (mut p, mut last, mut burst, mut updated) = (0f64, 0f64, 0.150f64, 0u64);
        let (mut now, mut draw, mut delay, mut compared) = (0u64, 5u64, 0i64, 0);
        for _ in 0..300_000 {
            draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(99);
            now += draw >> 42;
            let drift = if now / 4_000_000_000 % 2 == 0 { 15_000 } else { -20_000 };
            delay = (delay + drift + (draw >> 47 & 0xffff) as i64 - 32_768).clamp(0, 45_000_000);
            let ours = pi2.probability(Time(now), Span(delay as u64));
            while now - updated >= PERIOD {
                let d = delay as f64 * 1e-9;
                p = (p + 0.16 * (d - target) + 3.2 * (d - last)).clamp(0.0, 1.0);
                if p == 0.0 && d < target / 2.0 && last < target / 2.0 {
                    burst = 0.150;
                } else {
                    burst = (burst - 0.016).max(0.0);
                }
                last = d;
                updated += PERIOD;
            }
            // Where both decide alike about the burst, rounding alone separates them.
            if (burst > 0.0) == (pi2.burst > 0) && burst == 0.0 {
                assert!((ours as f64 / ONE as f64 - p).abs() < 1e-3, "{now}: {ours} {p}");
                compared += 1;
            }
        }
        assert!(compared > 100_000, "{compared}");
    }

    // Fails when the two rolls of a draw are the same, or one is not uniform.
    #[test]
    fn rolls_are_uniform_and_independent() {
        let mut pi2 = Pi2::new(Span(15_000_000), 7);
        let mut quarters = [0u32; 4];
        for _ in 0..100_000 {
            let (a, b) = pi2.rolls();
            quarters[usize::from(a < ONE / 2) + 2 * usize::from(b < ONE / 2)] += 1;
        }
        assert!(quarters.iter().all(|n| n.abs_diff(25_000) < 700), "{quarters:?}");
    }
}
