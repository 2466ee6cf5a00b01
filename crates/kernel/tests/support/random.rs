//! A small counter-based generator: the same events on every machine.

/// The generator, with its seed.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// One of the choices.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Normal with a deviation of so many per cent of the mean: the sum of twelve uniform numbers.
    #[allow(dead_code, reason = "not all that include this draw frames")]
    pub fn normal(&mut self, mean: u64, variability: u64) -> u64 {
        const PRECISION: u64 = 1 << 20;
        let sum: u64 = (0..12).map(|_| self.below(PRECISION)).sum();
        let around =
            (100 * PRECISION + variability * sum).saturating_sub(variability * 6 * PRECISION);
        mean * around / (100 * PRECISION)
    }
}
