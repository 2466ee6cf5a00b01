//! Exact division by a number that stays the same for a whole run.

/// A divisor with its reciprocal: quotients rounded up for the price of two multiplications.
///
/// Deadlines are quotients of nanobits by a slope in bit/s. The slope is fixed when the policy is
/// built, so the hardware division of the hot path becomes a multiplication, exact all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    value: u64,
    reciprocal: u64,
}

impl Divisor {
    /// A divisor; `None` for zero.
    pub const fn new(value: u64) -> Option<Divisor> {
        if value == 0 {
            return None;
        }
        // floor((2^64 - 1) / value): at most one below 2^64 / value, so a quotient estimated
        // with it is at most two too small.
        Some(Divisor { value, reciprocal: u64::MAX / value })
    }

    /// The divisor itself.
    #[inline]
    pub const fn get(self) -> u64 {
        self.value
    }

    /// `ceil(n / self)`, saturating at `u64::MAX`.
    #[inline]
    pub fn div_ceil(self, n: u128) -> u64 {
        match u64::try_from(n) {
            Ok(n) => {
                let (q, r) = self.div_rem(n);
                q + u64::from(r != 0)
            }
            Err(_) => self.div_ceil_wide(n),
        }
    }

    /// Quotient and remainder of a 64-bit number.
    #[inline]
    pub fn div_rem(self, n: u64) -> (u64, u64) {
        let mut q = ((u128::from(n) * u128::from(self.reciprocal)) >> 64) as u64;
        let mut r = n - q * self.value;
        while r >= self.value {
            q += 1;
            r -= self.value;
        }
        (q, r)
    }

    #[cold]
    fn div_ceil_wide(self, n: u128) -> u64 {
        u64::try_from(n.div_ceil(u128::from(self.value))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_hardware_division() {
        let mut x: u64 = 0x9e37_79b9_7f4a_7c15;
        for i in 0..200_000u64 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i | 1);
            let d = (x >> (i % 63)).max(1);
            let n = x.rotate_left(17) >> (i % 7);
            let div = Divisor::new(d).unwrap();
            assert_eq!(div.div_rem(n), (n / d, n % d));
            let wide = (u128::from(n) << (i % 40)) + u128::from(x);
            let want = u64::try_from(wide.div_ceil(u128::from(d))).unwrap_or(u64::MAX);
            assert_eq!(div.div_ceil(wide), want);
        }
        for d in [1, 2, 3, u64::MAX - 1, u64::MAX] {
            let div = Divisor::new(d).unwrap();
            for n in [0, 1, d - 1, d, u64::MAX - 1, u64::MAX] {
                assert_eq!(div.div_rem(n), (n / d, n % d));
            }
        }
        assert!(Divisor::new(0).is_none());
    }
}
