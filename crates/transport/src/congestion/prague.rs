//! A scalable control for L4S (RFC 9330, RFC 9331), as TCP Prague's core: DCTCP's reduction with
//! ECT(1), a window with a fraction, and a steady increase that marks do not suspend.

use laxity_core::Span;

use super::marking::{Marking, ONE};
use super::{Ack, Congestion, NewReno, Signal, Window};
use crate::Ecn;

/// Prague without its compensation for round trips.
#[derive(Clone, Copy, Debug)]
pub struct Prague {
    marking: Marking,
    /// The part of a segment that the window lacks, in 2^-20.
    fraction: u32,
}

impl Default for Prague {
    fn default() -> Prague {
        Prague { marking: Marking::new(), fraction: 0 }
    }
}

impl Congestion for Prague {
    fn name(&self) -> &'static str {
        "prague"
    }

    fn scalable(&self) -> Option<Ecn> {
        Some(Ecn::Ect1)
    }

    // RFC 9331 section 4.3, as a burst would be marked.
    fn paces(&self) -> bool {
        true
    }

    fn observe(&mut self, _: &mut Window, ack: &Ack) {
        self.marking.observe(ack);
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        NewReno.grow(window, ack);
    }

    // The round trip of the reduction adds its segment too, less the marked share.
    fn reduce(&mut self, window: &Window, signal: Signal) -> u32 {
        if signal != Signal::Ecn {
            self.fraction = 0;
            return NewReno.reduce(window, signal);
        }
        let (one, alpha) = (u64::from(ONE), u64::from(self.marking.alpha()));
        let exact = u64::from(window.cwnd) * one + u64::from(self.fraction);
        let reduced = exact - exact * alpha / (2 * one) + one - alpha;
        self.fraction = (reduced % one) as u32;
        ((reduced / one) as u32).max(2)
    }

    fn resume(&mut self, _: Span) {}

    fn undo(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a fraction of a segment is lost: at a share of marks of an eighth a window of 20 falls by
    // 0.4, 0.3, 0.3 and 0.3 segments. Tried without `fraction`: to 16.
    #[test]
    fn reductions_below_a_segment_add_up() {
        let mut prague = Prague::default();
        for i in 0..2000u64 {
            let (now, min_rtt) = (laxity_core::Time(i), Span(1));
            let (marked, una, next) = (u32::from(i % 8 == 0), i * 10, i * 10 + 70);
            let ack =
                Ack { now, delivered: 1, marked, rtt: None, min_rtt, una, next, ..Ack::default() };
            prague.marking.observe(&ack);
        }
        let mut window = Window { cwnd: 20, ssthresh: 20, credit: 0 };
        for expected in [19, 19, 18, 18] {
            window.cwnd = prague.reduce(&window, Signal::Ecn);
            assert_eq!(window.cwnd, expected);
        }
    }
}
