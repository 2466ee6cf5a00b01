//! Stream sources, with a state of a few bytes each: there may be millions.
//!
//! Randomness is drawn by the number of the event, not from a running generator, so a stream needs
//! none of its own.

use laxity_core::{Bytes, Span};
use laxity_scenario::stream::model::{Length, StreamClass, StreamSource};

use crate::random::{Lane, Random};

/// The pattern of a class.
#[derive(Clone, Copy, Debug)]
pub enum Pattern {
    /// A packet always waits: nothing ever arrives by the clock.
    Backlogged,
    /// One packet each period.
    Periodic {
        /// In ns.
        period: u64,
        /// In ns.
        jitter: u64,
        /// In ns; drawn when absent.
        phase: Option<u64>,
    },
    /// Several packets at once.
    Bursts {
        /// Least and most packets.
        packets: (u64, u64),
        /// From burst to burst, in ns.
        every: u64,
        /// In ns; drawn when absent.
        phase: Option<u64>,
    },
    /// Periodic while on.
    OnOff {
        /// In ns.
        period: u64,
        /// Least and most, in ns.
        on: (u64, u64),
        /// Least and most, in ns.
        off: (u64, u64),
    },
}

impl Pattern {
    /// The pattern of a class; `None` for a class without a gap and with
    /// packets known only to a live server.
    pub fn of(class: &StreamClass) -> Option<Pattern> {
        let span = |(least, most): (Span, Span)| (least.0, most.0);
        Some(match class.source {
            StreamSource::Backlogged => Pattern::Backlogged,
            StreamSource::Periodic { period, jitter, phase } => {
                Pattern::Periodic { period: period.0, jitter: jitter.0, phase: phase.map(|p| p.0) }
            }
            StreamSource::Bursts { burst, spread, every, phase } => Pattern::Bursts {
                packets: (u64::from(burst - spread), u64::from(burst) + u64::from(spread)),
                every: every.0,
                phase: phase.map(|p| p.0),
            },
            StreamSource::OnOff { period, on, off } => {
                Pattern::OnOff { period: period.0, on: span(on), off: span(off) }
            }
            StreamSource::File { .. } | StreamSource::External => {
                let period = class.attributes.gap?.0;
                Pattern::Periodic { period, jitter: 0, phase: None }
            }
        })
    }
}

/// Where one stream is in its pattern.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source {
    /// Nominal time of the next packet.
    nominal: u64,
    /// Time of the last packet: jitter must not reorder packets.
    last: u64,
    /// Packets still to come in a burst, or until when a source is on.
    left: u64,
    /// Events drawn so far.
    event: u64,
}

impl Source {
    /// A stream at the start of a run.
    pub fn new(pattern: &Pattern, stream: u32, random: &Random) -> Source {
        let mut source = Source::default();
        source.nominal = match *pattern {
            Pattern::Periodic { period: within, phase, .. }
            | Pattern::Bursts { every: within, phase, .. } => {
                phase.unwrap_or_else(|| source.draw(stream, random).uniform(0, within - 1))
            }
            Pattern::Backlogged | Pattern::OnOff { .. } => 0,
        };
        source
    }

    fn draw(&mut self, stream: u32, random: &Random) -> Random {
        self.event += 1;
        random.event(stream, Lane::Times, self.event - 1)
    }

    /// When the next packet comes; `None` for a source that is always backlogged.
    pub fn next(&mut self, pattern: &Pattern, stream: u32, random: &Random) -> Option<u64> {
        let time = match *pattern {
            Pattern::Backlogged => return None,
            Pattern::Periodic { period, jitter, .. } => {
                let late =
                    if jitter == 0 { 0 } else { self.draw(stream, random).uniform(0, jitter) };
                let time = self.nominal.saturating_add(late);
                self.nominal = self.nominal.saturating_add(period);
                time
            }
            Pattern::Bursts { packets: (least, most), every, .. } => {
                if self.left == 0 {
                    self.left = match least == most {
                        true => least,
                        false => self.draw(stream, random).uniform(least, most),
                    };
                }
                let time = self.nominal;
                self.left -= 1;
                if self.left == 0 {
                    self.nominal = self.nominal.saturating_add(every);
                }
                time
            }
            Pattern::OnOff { period, on, off } => {
                while self.nominal >= self.left {
                    // A run begins in a pause, so that streams start apart.
                    let mut random = self.draw(stream, random);
                    let begin = self.left.saturating_add(random.uniform(off.0, off.1));
                    self.left = begin.saturating_add(random.uniform(on.0, on.1));
                    self.nominal = begin;
                    if begin == u64::MAX {
                        return None;
                    }
                }
                let time = self.nominal;
                self.nominal = self.nominal.saturating_add(period);
                time
            }
        };
        self.last = self.last.max(time);
        Some(self.last)
    }
}

/// The length of the `index`-th packet of a stream, in bytes, `largest` at most.
pub fn length(of: &Length, largest: Bytes, stream: u32, index: u64, random: &Random) -> u32 {
    let drawn = || random.event(stream, Lane::Lengths, index);
    let bytes = match *of {
        Length::Fixed(bytes) => bytes.0,
        Length::Normal { mean, deviation } => drawn().normal(mean, deviation),
        Length::Uniform { least, most } => drawn().uniform(least.0, most.0),
    };
    bytes.clamp(1, largest.0.min(u64::from(u32::MAX))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(pattern: Pattern, stream: u32, seed: u64, n: usize) -> Vec<u64> {
        let random = Random::new(seed, 0);
        let mut source = Source::new(&pattern, stream, &random);
        std::iter::from_fn(|| source.next(&pattern, stream, &random)).take(n).collect()
    }

    // Fails when a stream's draws depend on how many others drew before.
    #[test]
    fn random_streams_are_independent_and_repeatable() {
        let pattern = Pattern::Periodic { period: 100, jitter: 30, phase: None };
        assert_eq!(times(pattern, 7, 1, 50), times(pattern, 7, 1, 50));
        assert_ne!(times(pattern, 7, 1, 50), times(pattern, 8, 1, 50));
        assert_ne!(times(pattern, 7, 1, 50), times(pattern, 7, 2, 50));
    }

    // Fails when jitter accumulates or reorders, or when a phase is drawn beyond a period.
    #[test]
    fn periodic_packets_keep_to_their_grid() {
        for stream in 0..50 {
            let t =
                times(Pattern::Periodic { period: 100, jitter: 30, phase: None }, stream, 1, 90);
            let late: Vec<u64> = t.iter().zip(0..).map(|(t, k)| t - 100 * k).collect();
            assert!(late.iter().all(|l| *l < 100 + 30), "{late:?}");
            assert!(late.iter().max().unwrap() - late.iter().min().unwrap() <= 30);
        }
        let wild = times(Pattern::Periodic { period: 10, jitter: 500, phase: Some(0) }, 0, 1, 200);
        assert!(wild.is_sorted());
        let plain = Pattern::Periodic { period: 10, jitter: 0, phase: Some(3) };
        assert_eq!(times(plain, 5, 9, 4), [3, 13, 23, 33]);
    }

    #[test]
    fn bursts_have_their_sizes() {
        let pattern = Pattern::Bursts { packets: (3, 7), every: 1000, phase: Some(5) };
        let mut sizes = [0; 101];
        for t in times(pattern, 0, 1, 400) {
            assert_eq!(t % 1000, 5);
            sizes[t as usize / 1000] += 1;
        }
        let whole = &sizes[..sizes.iter().position(|n| *n == 0).unwrap() - 1];
        assert!(whole.iter().all(|n| (3..=7).contains(n)), "{whole:?}");
        assert!((3..=7).all(|n| whole.contains(&n)));
    }

    #[test]
    fn talk_and_silence_alternate() {
        let pattern = Pattern::OnOff { period: 10, on: (100, 200), off: (1000, 2000) };
        let t = times(pattern, 3, 1, 300);
        assert!(t[0] >= 1000);
        let mut talk = 1;
        for pair in t.windows(2) {
            match pair[1] - pair[0] {
                10 => talk += 1,
                pause => {
                    assert!((10..=20).contains(&talk), "{talk}");
                    assert!((1000..=2010).contains(&pause), "{pause}");
                    talk = 1;
                }
            }
        }
    }

    #[test]
    fn lengths_stay_within_a_datagram() {
        let random = Random::new(1, 0);
        let wide = Length::Normal { mean: Bytes(60_000), deviation: Bytes(60_000) };
        let most = Bytes(65_507);
        let drawn: Vec<u32> = (0..500).map(|k| length(&wide, most, 4, k, &random)).collect();
        assert!(drawn.contains(&1) && drawn.iter().max() == Some(&65_507));
        let fair = Length::Uniform { least: Bytes(10), most: Bytes(12) };
        let drawn: Vec<u32> = (0..99).map(|k| length(&fair, most, 4, k, &random)).collect();
        assert!((10..=12).all(|n| drawn.contains(&n)));
        assert_eq!(length(&fair, most, 4, 17, &random), drawn[17]);
    }
}
