//! HyStart (Ha and Rhee, "Taming the elephants: New TCP slow start", 2011): leaves slow start before
//! the queue overflows, by a rise of the round trip or by the length of a train of acknowledgements.

use laxity_core::{Span, Time};

use super::{Ack, Window};

/// Windows below this many segments stay in slow start.
const LOW_WINDOW: u32 = 16;

/// Samples of a round before its least round trip counts.
const SAMPLES: u32 = 8;

/// Acknowledgements closer than this form a train.
const TRAIN_GAP: Span = Span::from_millis(2);

/// The state of the present round.
#[derive(Clone, Copy, Debug, Default)]
pub struct HyStart {
    /// The round ends when this offset is acknowledged.
    end: u64,
    start: Time,
    last: Time,
    samples: u32,
    least: Option<Span>,
    started: bool,
}

impl HyStart {
    /// Looks at an acknowledgement in slow start; sets `ssthresh` to the window when the path is full.
    pub fn observe(&mut self, window: &mut Window, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        if !window.in_slow_start() || window.cwnd < LOW_WINDOW {
            return;
        }
        if !self.started || ack.una > self.end {
            let (end, now) = (ack.next, ack.now);
            *self = HyStart { end, start: now, last: now, samples: 0, least: None, started: true };
        }
        let train = self.is_long_train(ack);
        if train || self.is_delayed(rtt, ack.min_rtt) {
            window.ssthresh = window.cwnd;
        }
    }

    /// Acknowledgements without gap for longer than half the least round trip: what is in flight
    /// occupies the path. Linux too takes half for a sender that does not pace.
    fn is_long_train(&mut self, ack: &Ack) -> bool {
        if ack.now.since(self.last) > TRAIN_GAP {
            return false;
        }
        self.last = ack.now;
        ack.now.since(self.start) > Span(ack.min_rtt.0 / 2)
    }

    /// The round's least round trip exceeds the connection's by more than an eighth of it, within
    /// 4 and 16 ms.
    fn is_delayed(&mut self, rtt: Span, min_rtt: Span) -> bool {
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let margin = Span(min_rtt.0 / 8).clamp(Span::from_millis(4), Span::from_millis(16));
        least > min_rtt + margin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn ack(now: u64, rtt: u64, una: u64, next: u64) -> Ack {
        let rtt = Some(Span(rtt));
        Ack {
            now: Time(now),
            delivered: 1,
            marked: 0,
            rtt,
            min_rtt: Span(40 * MS),
            una,
            next,
            ..Ack::default()
        }
    }

    fn window(cwnd: u32) -> Window {
        Window { cwnd, ssthresh: u32::MAX, credit: 0 }
    }

    /// How many acknowledgements, `gap` apart, with `rtt`, are seen until slow start ends.
    fn until_exit(cwnd: u32, gap: u64, rtt: u64) -> Option<u64> {
        let (mut hystart, mut window) = (HyStart::default(), window(cwnd));
        (0..100).find(|i| {
            hystart.observe(&mut window, &ack(i * gap, rtt, 1, 1000));
            !window.in_slow_start()
        })
    }

    // Fails when the margin is another, or the eight samples are not waited for: tried with a quarter and
    // with seven samples.
    #[test]
    fn a_round_trip_above_the_margin_ends_slow_start_at_the_ninth_sample() {
        assert_eq!(until_exit(16, 3 * MS, 45 * MS + 1), Some(8));
        assert_eq!(until_exit(16, 3 * MS, 45 * MS), None);
        assert_eq!(until_exit(15, 3 * MS, 90 * MS), None);
    }

    // Fails when the margin is not limited to 4 and 16 ms: tried without limits.
    #[test]
    fn the_margin_has_limits() {
        let mut state = HyStart { samples: SAMPLES, ..HyStart::default() };
        for (min_rtt, margin) in [(8, 4), (40, 5), (400, 16)] {
            let (min, most) = (Span(min_rtt * MS), Span((min_rtt + margin) * MS));
            state.least = None;
            assert!(!state.is_delayed(most, min), "{min_rtt} ms");
            state.least = None;
            assert!(state.is_delayed(most + Span(1), min), "{min_rtt} ms");
        }
    }

    // Fails when a train may be interrupted, or another part of the round trip counts: tried with the
    // whole round trip.
    #[test]
    fn a_train_of_half_the_round_trip_ends_slow_start() {
        assert_eq!(until_exit(16, 2 * MS, 40 * MS), Some(11));
        assert_eq!(until_exit(16, 2 * MS + 1, 40 * MS), None);
    }

    // Fails when samples of an earlier round are kept: tried without the reset.
    #[test]
    fn each_round_has_its_own_least_round_trip() {
        let (mut hystart, mut window) = (HyStart::default(), window(20));
        for i in 0..20 {
            hystart.observe(&mut window, &ack(i * 3 * MS, 41 * MS, 10, 1000));
        }
        for i in 20..28 {
            hystart.observe(&mut window, &ack(i * 3 * MS, 60 * MS, 1001, 2000));
        }
        assert!(window.in_slow_start());
        hystart.observe(&mut window, &ack(28 * 3 * MS, 60 * MS, 1500, 2000));
        assert!(!window.in_slow_start());
    }
}
