//! Traffic generators (Tables 3 and 4 of the paper, Appendix B).

use laxity_core::{Bytes, FlowId, Time};
use laxity_link::police::Policer;
use laxity_scenario::link::model::{Length, Source};
use laxity_traffic::{Arrival, FlowHasher};

use crate::Random;

/// The smallest packet of the paper's generators.
const LEAST: u64 = 40;

/// Generates one flow's packets up to an end, forever the same for one seed.
#[derive(Clone, Debug)]
pub struct Generator {
    flow: FlowId,
    /// All its packets are one flow.
    key: u64,
    random: Random,
    /// The bound of a bursty or greedy source; a periodic one needs none.
    policer: Option<Policer>,
    pattern: Pattern,
    length: Length,
    largest: u64,
    now: Time,
    end: Time,
    /// Whether a packet that waits when a burst ends is sent all the same.
    finishes: bool,
}

#[derive(Clone, Debug)]
enum Pattern {
    /// On until `until`; then off for a drawn time.
    Bursts {
        on: (u64, u64),
        off: (u64, u64),
        until: Time,
    },
    Greedy,
    Grid {
        period: u64,
        jitter: u64,
        next: Time,
    },
}

impl Generator {
    /// The generator of `flow`, whose packets conform to `policer` and have at most `largest`
    /// bytes; `None` for a source that replays a trace, or that would be unbounded.
    pub fn new(
        source: &Source,
        flow: FlowId,
        seed: u64,
        policer: Option<Policer>,
        largest: Bytes,
        end: Time,
    ) -> Option<Generator> {
        let bounded = policer.is_some() || matches!(source, Source::Periodic { .. });
        if !bounded {
            return None;
        }
        let mut random = Random::new(seed, flow.0);
        let mut now = Time::ZERO;
        let (pattern, length) = match *source {
            Source::OnOff { length, on, off } => {
                let (on, off) = ((on.0.0, on.1.0), (off.0.0, off.1.0));
                // A run begins in a pause, so that bursts of different flows start apart.
                now = Time(random.uniform(off.0, off.1));
                let until = Time(now.0.saturating_add(random.uniform(on.0, on.1)));
                (Pattern::Bursts { on, off, until }, length)
            }
            Source::Greedy { length } => (Pattern::Greedy, length),
            Source::Periodic { period, length, jitter } => {
                let pattern = Pattern::Grid { period: period.0, jitter: jitter.0, next: now };
                (pattern, length)
            }
            Source::Trace { .. } | Source::Tcp(_) => return None,
        };
        let largest = largest.0.min(u64::from(u32::MAX));
        Some(Generator {
            flow,
            key: FlowHasher::fixed().key_of_number(flow.0),
            random,
            policer,
            pattern,
            length,
            largest,
            now,
            end,
            finishes: false,
        })
    }

    /// The same generator; a burst ends with the packet that waits when its time is over: it is
    /// sent as soon as it conforms, and the pause begins then. Without this it opens the next
    /// burst.
    pub fn finishing(self) -> Generator {
        Generator { finishes: true, ..self }
    }

    fn draw_length(&mut self) -> u32 {
        let drawn = match self.length {
            Length::Fixed(bytes) => return bytes.0.min(self.largest) as u32,
            Length::Normal { mean, deviation } => self.random.normal(mean, deviation),
            Length::Uniform { least, most } => self.random.uniform(least.0, most.0),
        };
        drawn.clamp(LEAST.min(self.largest), self.largest) as u32
    }

    /// When the next packet leaves; `None` when it never conforms.
    fn next_time(&mut self, bytes: u32) -> Option<Time> {
        match &mut self.pattern {
            Pattern::Greedy => self.policer.as_ref()?.conforms_at(self.now, bytes),
            Pattern::Bursts { on, off, until } => loop {
                let time = self.policer.as_ref()?.conforms_at(self.now, bytes)?;
                // A packet that was drawn after the end of a burst does not wait in it.
                if time < *until || (self.finishes && self.now < *until) {
                    return Some(time);
                }
                let pause = self.random.uniform(off.0, off.1);
                let ended = if self.finishes { self.now } else { *until };
                self.now = Time(ended.0.saturating_add(pause));
                *until = Time(self.now.0.saturating_add(self.random.uniform(on.0, on.1)));
                if self.now >= self.end {
                    return None;
                }
            },
            Pattern::Grid { period, jitter, next } => {
                let late = self.random.uniform(0, *jitter);
                // Jitter beyond a period must not reorder the flow's packets.
                let time = Time(next.0.saturating_add(late)).max(self.now);
                *next = Time(next.0.saturating_add(*period));
                Some(time)
            }
        }
    }
}

impl Iterator for Generator {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let bytes = self.draw_length();
        let time = self.next_time(bytes)?;
        if time >= self.end {
            return None;
        }
        // A periodic source may lie about its envelope; policing it is the link's business.
        if let (Some(policer), false) =
            (&mut self.policer, matches!(self.pattern, Pattern::Grid { .. }))
        {
            policer.take(time, bytes);
        }
        self.now = time;
        Some(Arrival { key: self.key, ..Arrival::new(time, self.flow, bytes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laxity_core::{Rate, Span};
    use laxity_curve::Envelope;

    fn ftp(seed: u64) -> Vec<Arrival> {
        generator(seed, (10, 700)).collect()
    }

    /// With bursts of so many ms.
    fn generator(seed: u64, on: (u64, u64)) -> Generator {
        let kb = Rate::bytes_per_second;
        let envelope =
            Envelope::tspec(Bytes(1536), kb(250_000), Bytes(30_720), kb(150_000)).unwrap();
        let source = Source::OnOff {
            length: Length::Normal { mean: Bytes(1700), deviation: Bytes(200) },
            on: (Span::from_millis(on.0), Span::from_millis(on.1)),
            off: (Span::from_millis(100), Span::from_millis(300)),
        };
        let end = Time(60_000_000_000);
        let policer = Some(Policer::new(&envelope));
        Generator::new(&source, FlowId(3), seed, policer, Bytes(1536), end).unwrap()
    }

    #[test]
    fn bursts_conform_to_their_envelope_and_repeat() {
        conform(&ftp(1));
        assert!(ftp(1).len() > 1000);
        assert_eq!(ftp(1), ftp(1));
        assert_ne!(ftp(1), ftp(2));
    }

    // Bursts of 10 to 20 ms have two or three packets 6 ms apart, and then one more. Fails when it
    // opens the next burst all the same (no more packets than without), when it does not end its
    // burst, or when the pause begins before it is sent (pauses are then shorter than 100 ms).
    #[test]
    fn bursts_that_finish_end_with_the_packet_that_waits() {
        let short = (10, 20);
        let packets: Vec<_> = generator(1, short).finishing().collect();
        conform(&packets);
        let gaps = packets.windows(2).map(|p| p[1].time.0 - p[0].time.0);
        let pauses: Vec<_> = gaps.filter(|gap| *gap > 15_000_000).collect();
        assert!(pauses.iter().all(|gap| *gap >= 100_000_000), "{pauses:?}");
        let without = generator(1, short).count();
        assert!(packets.len() * 5 > without * 6, "{} and {without}", packets.len());
    }

    fn conform(packets: &[Arrival]) {
        assert!(packets.len() > 500);
        assert!(packets.is_sorted_by_key(|p| p.time));
        assert!(packets.iter().all(|p| (40..=1536).contains(&p.bytes)));
        for (i, first) in packets.iter().enumerate() {
            let mut sum = 0u128;
            for p in &packets[i..(i + 200).min(packets.len())] {
                sum += u128::from(p.bytes) * 8_000_000_000;
                let t = u128::from(p.time.0 - first.time.0);
                let peak = 1536 * 8_000_000_000 + 2_000_000 * t;
                let rate = 30_720 * 8_000_000_000 + 1_200_000 * t;
                assert!(sum <= peak.min(rate));
            }
        }
    }
}
