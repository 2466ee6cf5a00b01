//! CoDel (RFC 8289), a packet at a time.

use laxity_core::{Span, Time};

/// Within so many intervals of the last signal a new episode goes on with the rate of signals of
/// the one before (RFC 8289, section 5.5, and its pseudo-code).
const RESUME: u64 = 16;

/// Target and interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters {
    target: u64,
    interval: u64,
    /// A queue of so few bytes is never signalled to.
    least_bytes: u64,
}

impl Parameters {
    /// `interval` is at least twice the target, else signals could follow each other faster than
    /// they take effect.
    pub(crate) fn new(target: Span, interval: Span, largest: u32) -> Parameters {
        let interval = interval.0.max(target.0.saturating_mul(2)).max(1);
        Parameters { target: target.0, interval, least_bytes: u64::from(largest) }
    }
}

/// The state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Codel {
    /// When the delay will have been above the target for an interval; 0 while it is below.
    first_above: u64,
    /// When the next packet is signalled.
    next: u64,
    /// Signals of this episode, and of the last one at its begin.
    count: u32,
    last_count: u32,
    /// In an episode of signals.
    signals: bool,
}

impl Codel {
    /// Whether the packet that leaves at `now` after `sojourn` is to be dropped or marked, with
    /// `packets` and `bytes` in its queue, itself included. After a drop the packet behind it asks
    /// for itself.
    ///
    /// A queue's last packet is never signalled, nor one of a queue of at most a largest packet.
    pub(crate) fn signals(
        &mut self,
        now: Time,
        sojourn: Span,
        packets: u32,
        bytes: u64,
        parameters: &Parameters,
    ) -> bool {
        let now = now.0;
        let above = self.stays_above(now, sojourn, packets, bytes, parameters);
        if self.signals {
            if !above {
                self.signals = false;
            } else if now >= self.next {
                self.count = self.count.saturating_add(1);
                self.next = control_law(self.next, parameters.interval, self.count);
                return true;
            }
            return false;
        }
        if !above {
            return false;
        }
        self.signals = true;
        // The rate that controlled the queue last is a good first guess, if that was just now.
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.saturating_sub(self.next) < RESUME.saturating_mul(parameters.interval);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.next = control_law(now, parameters.interval, self.count);
        true
    }

    /// Whether the delay has been above the target for an interval.
    fn stays_above(
        &mut self,
        now: u64,
        sojourn: Span,
        packets: u32,
        bytes: u64,
        parameters: &Parameters,
    ) -> bool {
        if sojourn.0 < parameters.target || packets <= 1 || bytes <= parameters.least_bytes {
            self.first_above = 0;
            return false;
        }
        if self.first_above == 0 {
            self.first_above = now.saturating_add(parameters.interval);
            return false;
        }
        now >= self.first_above
    }
}

/// `from + interval / sqrt(count)`.
fn control_law(from: u64, interval: u64, count: u32) -> u64 {
    let step = (u128::from(interval) * u128::from(inverse_root(count))) >> 32;
    from.saturating_add(step as u64)
}

/// `2^32 / sqrt(n)`, rounded down below 64.
const TABLE: [u64; 64] = table();

const fn table() -> [u64; 64] {
    let mut table = [u32::MAX as u64 + 1; 64];
    let mut n = 1;
    while n < 64 {
        // The square root of 2^64 / n, by bisection.
        let (mut low, mut high) = (0u128, 1u128 << 32);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if middle * middle * n as u128 <= 1 << 64 {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        table[n] = low as u64;
        n += 1;
    }
    table
}

/// `2^32 / sqrt(n)` with a relative error of at most `2^-16`: exact below 64; above, `n` is scaled
/// by a power of 4 into `[16, 64)`, and two Newton steps improve the value of its whole part.
fn inverse_root(n: u32) -> u64 {
    if n < 64 {
        return TABLE[n as usize];
    }
    // n = m 4^k with m in [16, 64), in Q20.
    let k = (n.ilog2() - 4) / 2;
    let m = (u64::from(n) << 20) >> (2 * k);
    let mut y = u128::from(TABLE[(m >> 20) as usize]);
    for _ in 0..2 {
        // y (3 - m y^2) / 2, with y in Q32 and m in Q20.
        let square = (y * y) >> 32;
        let product = (square * u128::from(m)) >> 20;
        y = (y * ((3 << 32) - product)) >> 33;
    }
    (y >> k) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a Newton step is left out, or the scale is off by one.
    #[test]
    fn inverse_roots_have_a_relative_error_of_at_most_two_to_the_minus_16() {
        let all = (1..70_000).chain((70_000..u32::MAX - 20_000).step_by(9_973));
        for n in all.chain([u32::MAX - 1, u32::MAX]) {
            let exact = 4_294_967_296.0 / f64::from(n).sqrt();
            // The value is an integer, so for large n its last place counts.
            let error = (inverse_root(n) as f64 - exact).abs();
            assert!(error <= exact / 65_536.0 + 1.0, "{n}: {error} of {exact}");
        }
    }

    /// RFC 8289's pseudo-code in floating point, for one queue of packets with given sojourns.
    #[derive(Default)]
    struct Reference {
        first_above: f64,
        next: f64,
        count: f64,
        last_count: f64,
        signals: bool,
    }

    impl Reference {
        fn signals(
            &mut self,
            now: f64,
            sojourn: f64,
            last: bool,
            target: f64,
            interval: f64,
        ) -> bool {
            let mut ok = false;
            if sojourn < target || last {
                self.first_above = 0.0;
            } else if self.first_above == 0.0 {
                self.first_above = now + interval;
            } else {
                ok = now >= self.first_above;
            }
            if self.signals {
                self.signals = ok;
                if ok && now >= self.next {
                    self.count += 1.0;
                    self.next += interval / self.count.sqrt();
                    return true;
                }
                return false;
            }
            if ok {
                self.signals = true;
                let delta = self.count - self.last_count;
                let recent = now - self.next < 16.0 * interval;
                self.count = if delta > 1.0 && recent { delta } else { 1.0 };
                self.last_count = self.count;
                self.next = now + interval / self.count.sqrt();
            }
            ok
        }
    }

    // Fails when an episode does not resume its rate, when the interval is not waited for, when the
    // last packet of a queue is signalled, or with a wrong control law.
    #[test]
    fn signals_are_those_of_the_rfc_in_floating_point() {
        let parameters = Parameters::new(Span(5_000_000), Span(100_000_000), 0);
        let (mut codel, mut reference) = (Codel::default(), Reference::default());
        let (mut draw, mut now, mut sojourn) = (3u64, 0u64, 0i64);
        let (mut signals, mut differ) = (0, 0);
        for _ in 0..400_000 {
            draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(99);
            now += 500_000 + (draw >> 44);
            // A queue that drifts, with episodes above and below the target.
            let drift = if now / 3_000_000_000 % 2 == 0 { 20_000 } else { -30_000 };
            sojourn =
                (sojourn + drift + (draw >> 45 & 0x3_ffff) as i64 - 131_072).clamp(0, 60_000_000);
            let packets = 1 + (draw >> 33 & 63) as u32;
            let ours =
                codel.signals(Time(now), Span(sojourn as u64), packets, 1 << 20, &parameters);
            let theirs = reference.signals(now as f64, sojourn as f64, packets == 1, 5e6, 1e8);
            signals += u32::from(ours);
            differ += u32::from(ours != theirs);
        }
        assert!(signals > 1_000 && differ == 0, "{signals} {differ}");
    }
}
