//! NewReno (RFC 5681, RFC 6582): half the window at a congestion event, else a segment a round trip.

use laxity_core::Span;

use super::{Ack, Congestion, Signal, Window};

/// NewReno. Partial acknowledgements (RFC 6582) are the scoreboard's concern.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewReno;

impl Congestion for NewReno {
    fn name(&self) -> &'static str {
        "new-reno"
    }

    fn observe(&mut self, _: &mut Window, _: &Ack) {}

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        let mut acked = ack.delivered;
        if window.in_slow_start() {
            acked = window.slow_start(acked);
        }
        if acked > 0 {
            window.increase(window.cwnd, acked);
        }
    }

    // The window stands for RFC 5681's FlightSize, because it grows only when it is used.
    fn reduce(&mut self, window: &Window, _: Signal) -> u32 {
        (window.cwnd / 2).max(2)
    }

    fn resume(&mut self, _: Span) {}

    fn undo(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use laxity_core::Time;

    fn ack(delivered: u32) -> Ack {
        let (now, min_rtt) = (Time(0), Span(1));
        Ack { now, delivered, marked: 0, rtt: None, min_rtt, una: 0, next: 0, ..Ack::default() }
    }

    // Fails when slow start overshoots ssthresh, or avoidance adds more than a segment a window: tried
    // with `increase(1, ...)`.
    #[test]
    fn slow_start_ends_at_the_threshold_and_avoidance_adds_one_a_window() {
        let mut window = Window { cwnd: 10, ssthresh: 12, credit: 0 };
        NewReno.grow(&mut window, &ack(5));
        assert_eq!((window.cwnd, window.credit), (12, 3));
        NewReno.grow(&mut window, &ack(8));
        assert_eq!(window.cwnd, 12);
        NewReno.grow(&mut window, &ack(1));
        assert_eq!((window.cwnd, window.credit), (13, 0));
    }

    // Fails when the window falls below two segments (RFC 5681, equation 4): tried without `max`.
    #[test]
    fn a_loss_halves_the_window() {
        for (cwnd, ssthresh) in [(20, 10), (21, 10), (3, 2), (1, 2)] {
            let window = Window { cwnd, ssthresh: 100, credit: 0 };
            assert_eq!(NewReno.reduce(&window, Signal::Loss), ssthresh);
        }
    }
}
