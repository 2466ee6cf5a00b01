//! How often deadlines are looked at.

use core::num::NonZeroU32;

use laxity_core::Span;

use crate::Check;

/// Measured decisions between two judgements.
const INTERVAL: u32 = 64;

/// The period p of the paper's approximation, fixed or governed (section 4: the policy that
/// governs the scheduler's own rate of execution).
///
/// Governed, it doubles when decisions cost more than their budget. It halves when windows
/// suffer, that is when rule (C) strikes clearly more often than it did at p = 1, and when half
/// the budget would do. Overload alone therefore does not lower it: only what p itself spoils.
#[derive(Clone, Debug)]
pub(crate) struct Governor {
    check: Check,
    period: NonZeroU32,
    decisions: u32,
    cost: u64,
    violations: u64,
    /// Violations of an interval at p = 1.
    usual: u64,
}

impl Governor {
    pub(crate) fn new(check: Check) -> Governor {
        let period = match check {
            Check::Every(period) => period,
            Check::Adaptive { .. } => NonZeroU32::MIN,
        };
        Governor { check, period, decisions: 0, cost: 0, violations: 0, usual: 0 }
    }

    #[inline]
    pub(crate) fn period(&self) -> NonZeroU32 {
        self.period
    }

    #[inline]
    pub(crate) fn violated(&mut self, violations: u64) {
        self.violations = self.violations.saturating_add(violations);
    }

    /// A decision took this long.
    pub(crate) fn cost(&mut self, cost: Span) {
        let Check::Adaptive { budget, most } = self.check else { return };
        self.cost = self.cost.saturating_add(cost.0);
        self.decisions += 1;
        if self.decisions == INTERVAL {
            self.judge(budget, most);
            (self.decisions, self.cost, self.violations) = (0, 0, 0);
        }
    }

    fn judge(&mut self, budget: Span, most: NonZeroU32) {
        let mean = self.cost / u64::from(INTERVAL);
        if self.period == NonZeroU32::MIN {
            self.usual = self.violations;
        }
        // An eighth more, and one, so that chance does not count as suffering.
        let tolerable = self.usual.saturating_add(self.usual / 8 + 1);
        if self.violations > tolerable || mean < budget.0 / 2 {
            self.period = NonZeroU32::new(self.period.get() / 2).unwrap_or(NonZeroU32::MIN);
        } else if mean > budget.0 {
            self.period = self.period.saturating_mul(TWO).min(most);
        }
    }
}

const TWO: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(governor: &mut Governor, cost: u64, violations: u64) -> u32 {
        governor.violated(violations);
        (0..INTERVAL).for_each(|_| governor.cost(Span(cost)));
        governor.period().get()
    }

    fn governor(most: u32) -> Governor {
        let most = NonZeroU32::new(most).expect("not zero");
        Governor::new(Check::Adaptive { budget: Span(100), most })
    }

    /// Fails when cost does not raise the period, when it passes its limit, or when it stays up
    /// after the load has dropped: tried without `mean < budget / 2`.
    #[test]
    fn cost_raises_the_period_and_room_lowers_it() {
        let mut g = governor(12);
        let periods = [101, 101, 101, 101, 101, 100, 50, 49, 49, 49, 49, 49];
        let seen = periods.map(|cost| interval(&mut g, cost, 0));
        assert_eq!(seen, [2, 4, 8, 12, 12, 12, 12, 6, 3, 1, 1, 1]);
        // A fixed one does not listen.
        let mut fixed = Governor::new(Check::ALWAYS);
        assert_eq!(interval(&mut fixed, 1_000_000, 0), 1);
    }

    /// Fails when suffering windows do not lower the period, or when those that suffer anyway do:
    /// tried without `usual`.
    #[test]
    fn violated_windows_lower_the_period() {
        let mut g = governor(64);
        let seen = [(200, 8), (200, 9), (200, 10), (200, 11), (200, 12), (200, 12), (200, 20)]
            .map(|(cost, violations)| interval(&mut g, cost, violations));
        // At p = 1 there were 8, so up to 10 are usual; back at 1 the 12 are.
        assert_eq!(seen, [2, 4, 8, 4, 2, 1, 2]);
    }
}
