//! The share of marked segments, smoothed (RFC 8257 section 3.3).

use super::Ack;

/// One, in the unit of [`Marking::alpha`].
pub const ONE: u32 = 1 << 20;

/// The weight of a new window is 2^-4: g = 1/16.
const GAIN_SHIFT: u32 = 4;

/// Counts a window's segments and those that were marked.
#[derive(Clone, Copy, Debug)]
pub struct Marking {
    alpha: u32,
    /// The window ends when this offset is acknowledged.
    end: u64,
    delivered: u32,
    marked: u32,
}

impl Marking {
    /// All are taken for marked until the first window is known, so that the first mark halves the
    /// window (section 3.3 sets alpha to 1).
    pub fn new() -> Marking {
        Marking { alpha: ONE, end: 0, delivered: 0, marked: 0 }
    }

    /// The smoothed share, in 2^-20.
    pub fn alpha(&self) -> u32 {
        self.alpha
    }

    /// An acknowledgement.
    pub fn observe(&mut self, ack: &Ack) {
        self.delivered += ack.delivered;
        self.marked += ack.marked;
        if ack.una <= self.end || self.delivered == 0 {
            return;
        }
        // Feedback may run ahead of the segments that it counts.
        let marked = u64::from(self.marked.min(self.delivered));
        let share = (marked * u64::from(ONE) / u64::from(self.delivered)) as u32;
        self.alpha = self.alpha - (self.alpha >> GAIN_SHIFT) + (share >> GAIN_SHIFT);
        *self = Marking { alpha: self.alpha, end: ack.next, delivered: 0, marked: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laxity_core::{Span, Time};

    // Fails when the gain is another, or marks count in another window: tried with 2^-3.
    #[test]
    fn alpha_is_the_smoothed_share_of_each_window() {
        let mut marking = Marking::new();
        let mut expected = 1.0;
        for window in 0..60u64 {
            // A fifth is marked from the 20th window on.
            let marked = u32::from(window >= 20);
            for i in 1..=5 {
                let una = 1 + window * 5 + i;
                let ack = Ack {
                    now: Time(0),
                    delivered: 1,
                    marked: if i == 3 { marked } else { 0 },
                    rtt: None,
                    min_rtt: Span(1),
                    una,
                    next: una + 4,
                    ..Ack::default()
                };
                marking.observe(&ack);
            }
            let share = f64::from(marked) / 5.0;
            if window > 0 {
                expected += (share - expected) / 16.0;
            }
            let alpha = f64::from(marking.alpha()) / f64::from(ONE);
            assert!((alpha - expected).abs() < 0.07, "window {window}: {alpha}, not {expected}");
        }
        assert!((180_000..220_000).contains(&marking.alpha()), "{}", marking.alpha());
    }
}
