//! Pacing: segments leave evenly over a round trip, for controls that a burst would have marked.

use laxity_core::{Span, Time};

use crate::congestion::Window;

/// Rates relative to a window each round trip, in percent, in slow start and after it, as in Linux.
const SLOW_START: u64 = 200;
const AVOIDANCE: u64 = 120;

/// When the next segment may leave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacing {
    next: Time,
}

impl Pacing {
    /// Whether a segment may leave now.
    pub fn allows(&self, now: Time) -> bool {
        now >= self.next
    }

    /// When one may.
    pub fn next(&self) -> Time {
        self.next
    }

    /// A segment leaves; the next may after `gap`, or a part of `srtt`. Neither is known before the first
    /// round trip, which is not paced.
    pub fn sent(&mut self, now: Time, window: &Window, srtt: Option<Span>, gap: Option<Span>) {
        let Some(gap) = gap.or_else(|| Pacing::share(window, srtt?)) else { return };
        self.next = self.next.max(now) + gap;
    }

    /// A segment's part of the round trip.
    fn share(window: &Window, srtt: Span) -> Option<Span> {
        let percent = if window.in_slow_start() { SLOW_START } else { AVOIDANCE };
        let gap = u128::from(srtt.0) * 100 / (u128::from(window.cwnd.max(1)) * u128::from(percent));
        Some(Span(gap as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a window takes another part of the round trip: tried with the percentages exchanged.
    #[test]
    fn a_window_leaves_within_five_sixths_of_a_round_trip() {
        for (ssthresh, expected) in [(10, 33_333_330), (100, 20_000_000)] {
            let window = Window { cwnd: 10, ssthresh, credit: 0 };
            let mut pacing = Pacing::default();
            for _ in 0..10 {
                pacing.sent(Time(0), &window, Some(Span(40_000_000)), None);
            }
            assert_eq!(pacing.next(), Time(expected));
        }
    }
}
