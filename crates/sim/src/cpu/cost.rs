//! How much CPU time jobs take.

use laxity_core::Span;

use super::Gap;
use crate::Random;

/// CPU time of one job after the other. Never less than 1 us, so that jobs make progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cost {
    /// Always the same.
    Fixed(Span),
    /// Each time between the two as likely.
    Uniform(Span, Span),
    /// Independent and normal; `cv` is the deviation as a fraction of the mean.
    Gauss {
        /// The mean.
        mean: Span,
        /// Coefficient of variation.
        cv: f64,
    },
    /// Groups of twelve pictures, I BB P BB P BB P BB, at 2 : 1.2 : 0.8 of the mean.
    Gop {
        /// The mean over a group.
        mean: Span,
        /// Normal variation of each picture about its size.
        cv: f64,
    },
    /// Normal, each correlated with the last.
    Autoregressive {
        /// The mean.
        mean: Span,
        /// Coefficient of variation.
        cv: f64,
        /// Correlation of neighbours.
        rho: f64,
    },
    /// Normal levels, each held for a number of frames.
    Scenes {
        /// The mean.
        mean: Span,
        /// Coefficient of variation of the levels.
        cv: f64,
        /// Frames to each level.
        frames: u32,
    },
}

pub(super) const LEAST: u64 = 1_000;

const GROUP_OF_PICTURES: [f64; 12] = [2.0, 0.8, 0.8, 1.2, 0.8, 0.8, 1.2, 0.8, 0.8, 1.2, 0.8, 0.8];

/// Position in a sequence of costs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CostState {
    drawn: u64,
    /// The last normal of a correlated sequence.
    level: f64,
}

impl Cost {
    /// The long-run mean, before the least cost.
    pub fn mean(&self) -> Span {
        match *self {
            Cost::Fixed(mean)
            | Cost::Gauss { mean, .. }
            | Cost::Gop { mean, .. }
            | Cost::Autoregressive { mean, .. }
            | Cost::Scenes { mean, .. } => mean,
            Cost::Uniform(least, most) => Span(least.0.midpoint(most.0)),
        }
    }

    pub(super) fn draw(&self, state: &mut CostState, random: &mut Random) -> u64 {
        let index = state.drawn;
        state.drawn += 1;
        let around = |mean: Span, factor: f64| libm::round(mean.0 as f64 * factor.max(0.0)) as u64;
        let cost = match *self {
            Cost::Fixed(cost) => cost.0,
            Cost::Uniform(least, most) => random.uniform(least.0, most.0),
            Cost::Gauss { mean, cv } => around(mean, 1.0 + cv * random.standard_normal()),
            Cost::Gop { mean, cv } => {
                let size = GROUP_OF_PICTURES[(index % 12) as usize];
                around(mean, size * (1.0 + cv * random.standard_normal()))
            }
            Cost::Autoregressive { mean, cv, rho } => {
                let fresh = random.standard_normal();
                state.level = if index == 0 {
                    fresh
                } else {
                    rho * state.level + libm::sqrt(1.0 - rho * rho) * fresh
                };
                around(mean, 1.0 + cv * state.level)
            }
            Cost::Scenes { mean, cv, frames } => {
                if index % u64::from(frames.max(1)) == 0 {
                    state.level = random.standard_normal();
                }
                around(mean, 1.0 + cv * state.level)
            }
        };
        cost.max(LEAST)
    }
}

impl Gap {
    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        match *self {
            Gap::Fixed(length) => length.0,
            Gap::Uniform(least, most) => random.uniform(least.0, most.0),
            Gap::Exponential(mean) => {
                let unit = (random.uniform(1, 1 << 53)) as f64 / (1u64 << 53) as f64;
                libm::round(-(mean.0 as f64) * libm::log(unit)) as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and deviation of many draws, as fractions of 10 ms.
    fn moments(cost: Cost) -> (f64, f64, f64) {
        let (mut state, mut random) = (CostState::default(), Random::new(1, 0));
        let draws: Vec<f64> =
            (0..120_000).map(|_| cost.draw(&mut state, &mut random) as f64 / 1e7).collect();
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        let pairs = draws.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / n;
        (mean, variance.sqrt(), pairs / variance)
    }

    #[test]
    fn cost_distributions_have_their_nominal_moments() {
        let mean = Span::from_millis(10);
        let close = |found: f64, want: f64| assert!((found - want).abs() < 0.03, "{found} {want}");
        let (m, d, _) = moments(Cost::Gauss { mean, cv: 0.2 });
        close(m, 1.0);
        close(d, 0.2);
        let (m, d, r) = moments(Cost::Autoregressive { mean, cv: 0.2, rho: 0.9 });
        close(m, 1.0);
        close(d, 0.2);
        close(r, 0.9);
        let (m, _, r) = moments(Cost::Scenes { mean, cv: 0.2, frames: 50 });
        close(m, 1.0);
        close(r, 0.98);
        close(moments(Cost::Gop { mean, cv: 0.0 }).0, 1.0);
        close(moments(Cost::Uniform(Span(0), Span(20_000_000))).0, 1.0);
    }
}
