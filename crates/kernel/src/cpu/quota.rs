//! Limits that control groups set on CPU time (`cpu.max`). The kernel enforces them for its own scheduling classes, not
//! for tasks of a sched_ext scheduler.

use std::fmt;

use laxity_core::Span;
use laxity_cpu::Reservation;

/// `cpu.max` of a control group: CPU time of all its tasks, on all CPUs together, in every period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The path of the group below the mount of control groups.
    pub group: String,
    /// CPU time.
    pub runtime: Span,
    /// In every such time.
    pub period: Span,
}

impl Quota {
    /// Reads `cpu.max`, in microseconds; `None` where it sets no limit.
    pub fn parse(group: &str, text: &str) -> Option<Quota> {
        let (runtime, period) = text.trim().split_once(' ')?;
        let us = |text: &str| text.parse::<u64>().ok()?.checked_mul(1000).map(Span);
        let (runtime, period) = (us(runtime)?, us(period).filter(|p| *p > Span::ZERO)?);
        Some(Quota { group: group.to_owned(), runtime, period })
    }

    /// Whether a reservation stays within the limit.
    pub fn allows(&self, reservation: &Reservation) -> bool {
        let product = |a: Span, b: Span| u128::from(a.0) * u128::from(b.0);
        product(reservation.budget, self.period) <= product(self.runtime, reservation.period)
    }

    /// The largest runtime in a period that stays within the limit.
    pub fn max_runtime(&self, period: Span) -> Span {
        let runtime = u128::from(self.runtime.0) * u128::from(period.0) / u128::from(self.period.0);
        Span(u64::try_from(runtime).unwrap_or(u64::MAX).min(period.0))
    }

    /// The tighter of two limits.
    pub fn tighter(self, other: Quota) -> Quota {
        let share = |a: &Quota, b: &Quota| u128::from(a.runtime.0) * u128::from(b.period.0);
        if share(&other, &self) < share(&self, &other) { other } else { self }
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} in every {}", self.group, self.runtime, self.period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Span {
        Span::from_millis(n)
    }

    // Fails when a limit of several CPUs refuses one CPU, or the suggested runtime exceeds the limit.
    #[test]
    fn limits_are_read_and_compared() {
        let of = |text| Quota::parse("/a", text);
        assert_eq!((of("max 100000\n"), of("5"), of("1 0")), (None, None, None));
        let fifth = of("20000 100000\n").expect("a limit");
        assert_eq!(fifth.to_string(), "/a: 20 ms in every 100 ms");
        assert!(fifth.allows(&Reservation::new(ms(2), ms(10))));
        assert!(!fifth.allows(&Reservation::new(Span(2_000_001), ms(10))));
        assert_eq!(fifth.max_runtime(ms(10)), ms(2));
        let two = of("200000 100000").expect("a limit");
        assert!(two.allows(&Reservation::new(ms(10), ms(10))));
        assert_eq!(two.max_runtime(ms(10)), ms(10));
        assert_eq!(two.clone().tighter(fifth.clone()), fifth.clone().tighter(two));
    }
}
