//! The delivery rate (draft-cheng-iccrg-delivery-rate-estimation-00).

use laxity_core::Time;

use super::scoreboard::Sent;
use crate::congestion::RateSample;

/// The connection's state when a segment was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    app_limited: bool,
}

/// Counts what arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryRate {
    /// Segments delivered so far, and when the last was.
    delivered: u64,
    delivered_at: Time,
    /// When the first segment of the present sample was sent.
    first_sent: Time,
    /// The application lacks data until so many are delivered.
    limited_until: u64,
    /// The latest stamp of the segments that an acknowledgement reports, and when it was sent.
    latest: Option<(Stamp, Time)>,
}

impl DeliveryRate {
    /// A segment leaves; `idle`: nothing else is in flight.
    pub fn stamp(&mut self, now: Time, idle: bool) -> Stamp {
        if idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.delivered < self.limited_until,
        }
    }

    /// The window has room and the application no data.
    pub fn limit(&mut self, in_flight: u32) {
        self.limited_until = self.delivered + u64::from(in_flight.max(1));
    }

    /// A segment arrived.
    pub fn deliver(&mut self, now: Time, sent: &Sent) {
        self.delivered += 1;
        self.delivered_at = now;
        if self.latest.is_none_or(|(stamp, _)| sent.stamp.delivered >= stamp.delivered) {
            self.latest = Some((sent.stamp, sent.sent));
        }
    }

    /// The rate that an acknowledgement shows, after its segments were counted.
    pub fn sample(&mut self) -> Option<RateSample> {
        let (stamp, sent) = self.latest.take()?;
        self.first_sent = sent;
        let interval =
            sent.since(stamp.first_sent).max(self.delivered_at.since(stamp.delivered_at));
        Some(RateSample {
            delivered: (self.delivered - stamp.delivered) as u32,
            interval,
            prior: stamp.delivered,
            total: self.delivered,
            app_limited: stamp.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Range;
    use crate::sender::scoreboard::State;
    use laxity_core::Span;

    const MS: u64 = 1_000_000;

    // Fails when a pause counts as time of delivery, or a sample without data as one of the path: tried
    // without the reset of `first_sent`.
    #[test]
    fn a_pause_does_not_lower_the_rate() {
        let mut rate = DeliveryRate::default();
        let mut round = |at: u64| {
            let stamps = [rate.stamp(Time(at * MS), true), rate.stamp(Time(at * MS), false)];
            for stamp in stamps {
                let (range, sent) = (Range::default(), Time(at * MS));
                let state = State::InFlight;
                rate.deliver(
                    Time((at + 40) * MS),
                    &Sent { range, sent, retransmitted: false, state, stamp },
                );
            }
            let sample = rate.sample().expect("two segments arrived");
            rate.limit(0);
            (sample.delivered, sample.interval, sample.total, sample.app_limited)
        };
        assert_eq!(round(0), (2, Span(40 * MS), 2, false));
        assert_eq!(round(5_000), (2, Span(40 * MS), 4, true));
        assert_eq!(rate.sample(), None);
    }
}
