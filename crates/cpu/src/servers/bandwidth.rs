//! The bandwidth that best-effort servers divide.

use crate::Share;

/// Bits below the binary point of a [`Bandwidth::pace`].
const POINT: u32 = 32;
/// The longest period that is computed: two days. Longer ones arise at extreme loads only.
const MAX_PERIOD: u64 = 172_800_000_000_000;

/// `U_BE` and `L`, stored as the pace `L / U_BE`, so that the period `b L / (q U_BE)` of a server
/// costs one multiplication and one division by its small weight.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Bandwidth {
    best_effort: Share,
    total_weight: u64,
    pace: u128,
}

impl Bandwidth {
    /// The least share that is divided.
    pub(crate) const MIN: Share = Share(1 << 20);

    pub(crate) fn new() -> Bandwidth {
        let mut bandwidth = Bandwidth { best_effort: Share::ONE, total_weight: 0, pace: 0 };
        bandwidth.update();
        bandwidth
    }

    /// Whether there is enough bandwidth to divide.
    pub(crate) fn is_divisible(&self) -> bool {
        self.best_effort >= Bandwidth::MIN
    }

    pub(crate) fn total_weight(&self) -> u64 {
        self.total_weight
    }

    pub(crate) fn set_total_weight(&mut self, total_weight: u64) {
        self.total_weight = total_weight;
        self.update();
    }

    pub(crate) fn set_best_effort(&mut self, share: Share) {
        self.best_effort = share;
        self.update();
    }

    fn update(&mut self) {
        let scaled = u128::from(self.total_weight.clamp(1, 1 << 40)) << (40 + POINT);
        self.pace = scaled.div_ceil(u128::from(self.best_effort.max(Bandwidth::MIN).0));
    }

    /// The share of weight `q`, rounded down.
    pub(crate) fn share_down(&self, q: u32) -> Share {
        let (product, total_weight) = self.share_parts(q);
        Share((product / total_weight) as u64)
    }

    /// The share of weight `q`, rounded up.
    pub(crate) fn share_up(&self, q: u32) -> Share {
        let (product, total_weight) = self.share_parts(q);
        Share(product.div_ceil(total_weight) as u64)
    }

    fn share_parts(&self, q: u32) -> (u128, u128) {
        let share = u128::from(self.best_effort.max(Bandwidth::MIN).0);
        (share * u128::from(q), self.total_weight.clamp(1, 1 << 40).into())
    }

    /// Whether every share is greater than it was under `before`.
    pub(crate) fn rises_from(&self, before: &Bandwidth) -> bool {
        self.pace < before.pace
    }

    /// The period that makes `budget` the share of weight `q`, rounded up so that the share is
    /// never exceeded.
    #[inline]
    pub(crate) fn period(&self, budget: u64, q: u32) -> u64 {
        let product = u128::from(budget).saturating_mul(self.pace).div_ceil(1 << POINT);
        match u64::try_from(product) {
            Ok(product) => product.div_ceil(u64::from(q.max(1))).clamp(1, MAX_PERIOD),
            Err(_) => MAX_PERIOD,
        }
    }

    /// The budget that makes `period` the share of weight `q`, rounded down but never to nothing.
    pub(crate) fn budget(&self, period: u64, q: u32) -> u64 {
        let scaled = (u128::from(period) * u128::from(q)) << POINT;
        // A 128-bit division costs many times more, and is rarely needed.
        let budget = match (u64::try_from(scaled), u64::try_from(self.pace)) {
            (Ok(scaled), Ok(pace)) => u128::from(scaled / pace),
            _ => scaled / self.pace,
        };
        budget.clamp(1, u128::from(period)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_divide_evenly() {
        let mut bandwidth = Bandwidth::new();
        bandwidth.set_total_weight(60);
        assert_eq!(bandwidth.period(10, 20), 30);
        assert_eq!(bandwidth.budget(30, 20), 10);
        bandwidth.set_best_effort(Share::per_mille(500));
        assert_eq!(bandwidth.period(10, 20), 60);
    }

    #[test]
    fn extreme_weights_saturate() {
        let mut bandwidth = Bandwidth::new();
        bandwidth.set_total_weight(u64::MAX);
        bandwidth.set_best_effort(Share::ZERO);
        assert!(!bandwidth.is_divisible());
        assert_eq!(bandwidth.period(1 << 40, 1), MAX_PERIOD);
        assert_eq!(bandwidth.budget(1 << 40, 1), 1);
    }
}
