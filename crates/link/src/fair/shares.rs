//! Weights as integers in which the cost of a byte is exact wherever that is possible.

use alloc::{boxed::Box, vec::Vec};

use laxity_core::Weight;

/// `scale` never exceeds this; see the module's notes on numbers.
const LARGEST_SCALE: u64 = 1 << 60;

/// Weights in lowest terms, and the cost of a byte for each class.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    weights: Box<[u64]>,
    costs: Box<[u64]>,
    /// `scale` over the sum of all weights.
    common: u64,
    scale: u64,
    #[cfg(test)]
    exact: bool,
}

impl Shares {
    /// `divide_sum`: whether `scale` should be a multiple of the sum of all weights too, for
    /// [`common_cost`](Self::common_cost). A weight of zero counts as the least there is.
    pub(super) fn new(weights: &[Weight], divide_sum: bool) -> Shares {
        let common = weights.iter().fold(0, |d, w| gcd(d, u64::from(w.0.max(1)))).max(1);
        let weights: Box<[u64]> = weights.iter().map(|w| u64::from(w.0.max(1)) / common).collect();
        // Below 2^32 each, and no machine holds 2^32 classes.
        let sum = weights.iter().sum::<u64>();
        let divisors = weights.iter().copied().chain(divide_sum.then_some(sum.max(1)));
        let multiple = divisors
            .into_iter()
            .try_fold(1u64, |m, w| (m / gcd(m, w)).checked_mul(w).filter(|m| *m <= LARGEST_SCALE));
        // Spare bits make virtual time finer where it must be rounded.
        let scale = match multiple {
            Some(m) => m << (m.leading_zeros() - LARGEST_SCALE.leading_zeros()).saturating_sub(1),
            None => LARGEST_SCALE,
        };
        let costs: Vec<u64> = weights.iter().map(|w| scale / w).collect();
        let costs = costs.into_boxed_slice();
        Shares {
            weights,
            costs,
            common: scale / sum.max(1),
            scale,
            #[cfg(test)]
            exact: multiple.is_some(),
        }
    }

    /// A class's weight in lowest terms.
    #[inline]
    pub(super) fn weight(&self, class: usize) -> u64 {
        self.weights[class]
    }

    /// Units of virtual time in a byte for a weight of one.
    #[inline]
    pub(super) fn scale(&self) -> u64 {
        self.scale
    }

    /// Whether costs are exact.
    #[cfg(test)]
    pub(super) fn exact(&self) -> bool {
        self.exact
    }

    /// Virtual time that `wire` bytes of a class take.
    #[inline]
    pub(super) fn cost(&self, class: usize, wire: u32) -> i128 {
        // Below 2^60 * 2^32.
        (u128::from(self.costs[class]) * u128::from(wire)) as i128
    }

    /// Virtual time that `wire` bytes take when all classes share them.
    #[inline]
    pub(super) fn common_cost(&self, wire: u32) -> i128 {
        (u128::from(self.common) * u128::from(wire)) as i128
    }

    /// Queued work relative to weight, at most 2^124.
    #[inline]
    pub(super) fn normalised(&self, class: usize, bytes: u64) -> i128 {
        (u128::from(self.costs[class]) * u128::from(bytes)) as i128
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_exact_when_the_weights_allow_it() {
        let paper = Shares::new(&[Weight(500_000), Weight(200_000), Weight(100_000)], true);
        assert_eq!((paper.weight(0), paper.weight(1), paper.weight(2)), (5, 2, 1));
        assert!(paper.exact() && paper.scale() % 40 == 0 && paper.scale() <= LARGEST_SCALE);
        assert!(paper.scale() > LARGEST_SCALE / 4);
        assert_eq!(paper.cost(0, 5 * 7), paper.cost(2, 7));
        assert_eq!(paper.cost(1, 1) * 2, i128::from(paper.scale()));
        // Large coprime weights: no common multiple, but a relative error below 2^-28.
        let odd: Vec<Weight> = (0..20).map(|i| Weight(u32::MAX - 2 * i)).collect();
        let odd = Shares::new(&odd, true);
        assert!(!odd.exact());
        for class in 0..20 {
            let lost = odd.scale() - odd.cost(class, 1) as u64 * odd.weight(class);
            assert!(lost < odd.scale() >> 28);
        }
        let zero = Shares::new(&[Weight(0), Weight(3)], false);
        assert_eq!((zero.weight(0), zero.weight(1)), (1, 3));
        assert_eq!(Shares::new(&[], true).common_cost(0), 0);
        assert_eq!(paper.common_cost(8), i128::from(paper.scale()));
    }
}
