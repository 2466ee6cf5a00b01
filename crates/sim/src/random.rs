//! Random numbers that are the same on any machine and any number of threads.

use laxity_core::Bytes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// One stream of ChaCha8 for each (seed, flow): counter-based, so that what one flow draws never
/// depends on another.
#[derive(Clone, Debug)]
pub struct Random {
    rng: ChaCha8Rng,
    /// The second value of the last pair of normals.
    spare: Option<f64>,
}

/// The subject of an event, so that the draws of one do not shift those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// When packets come.
    Times = 0,
    /// How long they are.
    Lengths = 1,
}

impl Random {
    /// The stream of a flow under a seed.
    pub fn new(seed: u64, flow: u32) -> Random {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(u64::from(flow));
        Random { rng, spare: None }
    }

    /// The numbers of one event of a flow, independent of earlier draws: for flows so many that
    /// none can have a separate generator. An event has 64 words (of 32 bits) to itself.
    pub fn event(&self, flow: u32, lane: Lane, event: u64) -> Random {
        let mut rng = self.rng.clone();
        rng.set_stream(u64::from(flow));
        rng.set_word_pos((u128::from(event) << 1 | lane as u128) * 64);
        Random { rng, spare: None }
    }

    /// Uniform in `[least, most]`, without bias (Lemire's multiplication with rejection).
    pub fn uniform(&mut self, least: u64, most: u64) -> u64 {
        let Some(count) = most.saturating_sub(least).checked_add(1) else {
            return self.rng.next_u64();
        };
        let unfair = count.wrapping_neg() % count;
        loop {
            let wide = u128::from(self.rng.next_u64()) * u128::from(count);
            if wide as u64 >= unfair {
                return least + (wide >> 64) as u64;
            }
        }
    }

    /// Normal with the given mean and deviation, rounded to the nearest byte, never below zero.
    ///
    /// Marsaglia's polar method; `libm` gives the same bits everywhere, the platform's own
    /// mathematics library does not.
    pub fn normal(&mut self, mean: Bytes, deviation: Bytes) -> u64 {
        let value = mean.0 as f64 + deviation.0 as f64 * self.standard_normal();
        libm::round(value.max(0.0)) as u64
    }

    /// Normal with mean 0 and deviation 1.
    pub fn standard_normal(&mut self) -> f64 {
        match self.spare.take() {
            Some(z) => z,
            None => self.normal_pair(),
        }
    }

    fn normal_pair(&mut self) -> f64 {
        loop {
            let (x, y) = (self.signed_unit(), self.signed_unit());
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = libm::sqrt(-2.0 * libm::log(square) / square);
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }

    /// Uniform in (-1, 1), from 53 bits.
    fn signed_unit(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 * (2.0 / (1u64 << 53) as f64) - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_one_seed_differ_and_repeat() {
        let draw = |seed, flow| Random::new(seed, flow).uniform(0, u64::MAX);
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
    }

    #[test]
    fn uniform_covers_its_range_and_nothing_else() {
        let mut r = Random::new(7, 0);
        let mut seen = [0u32; 6];
        for _ in 0..6000 {
            seen[r.uniform(10, 15) as usize - 10] += 1;
        }
        assert!(seen.iter().all(|n| (850..1150).contains(n)), "{seen:?}");
        assert_eq!(r.uniform(3, 3), 3);
    }

    #[test]
    fn normals_have_their_moments() {
        let mut r = Random::new(7, 3);
        let values: Vec<f64> =
            (0..100_000).map(|_| r.normal(Bytes(1700), Bytes(200)) as f64).collect();
        let mean = values.iter().sum::<f64>() / 1e5;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / 1e5;
        assert!((mean - 1700.0).abs() < 3.0, "{mean}");
        assert!((variance.sqrt() - 200.0).abs() < 2.0, "{}", variance.sqrt());
    }
}
