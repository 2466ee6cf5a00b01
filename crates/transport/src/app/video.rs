//! Adaptive video (DASH): segments of a few seconds, each in the best quality that recent throughput
//! allows, while a buffer has room.

use alloc::vec::Vec;

use laxity_core::{Bytes, Rate, Span, Time};

use super::requests::Exchange;
use super::{Completion, Pairs, Workload};

/// The size of a request with its headers.
const REQUEST: Bytes = Bytes(300);

/// Segments over which throughput is averaged.
const HISTORY: usize = 5;

/// Qualities, and when which is chosen.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// The rates of the qualities, ascending.
    pub rates: Vec<Rate>,
    /// The length of a segment.
    pub segment: Span,
    /// How much video is buffered.
    pub buffer: Span,
    /// The part of the mean throughput that a quality may need, in percent.
    pub percent: u64,
}

impl Default for Ladder {
    /// Segments of 4 s at 0.4, 1, 2.5, 5 and 8 Mbit/s, a buffer of 20 s, 80 %.
    fn default() -> Ladder {
        let rates = [400, 1_000, 2_500, 5_000, 8_000].map(|kbit| Rate(kbit * 1_000)).to_vec();
        let (segment, buffer) = (Span::from_millis(4_000), Span::from_millis(20_000));
        Ladder { rates, segment, buffer, percent: 80 }
    }
}

/// A video without end over one connection; each segment is a completion.
#[derive(Clone, Debug)]
pub struct Video {
    ladder: Ladder,
    exchange: Exchange,
    /// Nanoseconds for a megabit of the last segments.
    pace: [u64; HISTORY],
    segments: usize,
    /// Video buffered at `updated`.
    level: Span,
    updated: Time,
    stalled: Span,
    next: Option<Time>,
}

impl Video {
    /// Starts in the lowest quality.
    pub fn new(ladder: Ladder) -> Video {
        Video {
            ladder,
            exchange: Exchange::default(),
            pace: [0; HISTORY],
            segments: 0,
            level: Span::ZERO,
            updated: Time::ZERO,
            stalled: Span::ZERO,
            next: Some(Time::ZERO),
        }
    }

    /// How long playback has stood still since the first segment.
    pub fn stalled(&self) -> Span {
        self.stalled
    }

    /// The rate of the next segment: the best below the harmonic mean of recent throughput.
    pub fn quality(&self) -> Rate {
        let samples = self.segments.min(HISTORY);
        let sum: u64 = self.pace[..samples].iter().sum();
        let mean = (samples as u64 * 1_000_000_000_000_000).checked_div(sum).unwrap_or(0);
        let budget = u128::from(mean) * u128::from(self.ladder.percent) / 100;
        let fits = |rate: &&Rate| u128::from(rate.0) <= budget;
        let lowest = self.ladder.rates.first().copied().unwrap_or_default();
        self.ladder.rates.iter().rev().find(fits).copied().unwrap_or(lowest)
    }

    /// Plays until `now`.
    fn play(&mut self, now: Time) {
        let elapsed = now.since(self.updated).0;
        self.updated = now;
        if self.segments > 0 {
            self.stalled = Span(self.stalled.0 + elapsed.saturating_sub(self.level.0));
            self.level = Span(self.level.0.saturating_sub(elapsed));
        }
    }
}

impl Workload for Video {
    fn advance(&mut self, now: Time, pairs: &mut Pairs) -> Option<Completion> {
        let ends = &mut pairs.open()[0];
        if self.next.is_some_and(|at| at <= now) {
            self.next = None;
            let nanobits = u128::from(self.quality().0) * u128::from(self.ladder.segment.0);
            let bytes = Bytes((nanobits / laxity_core::NANOBITS_PER_BYTE as u128) as u64);
            self.exchange.request(now, ends, REQUEST, bytes);
        }
        let completion = self.exchange.advance(now, ends)?;
        self.play(now);
        let pace = u128::from(completion.duration().0) * 1_000_000
            / u128::from(completion.bytes.0 * 8).max(1);
        self.pace[self.segments % HISTORY] = (pace as u64).max(1);
        self.segments += 1;
        self.level = self.level + self.ladder.segment;
        let full = self.ladder.buffer.0.saturating_sub(self.ladder.segment.0);
        self.next = Some(now + Span(self.level.0.saturating_sub(full)));
        Some(completion)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    // Fails when time before the first segment counts as a stall, or time with video in the buffer does.
    #[test]
    fn playback_stalls_only_with_an_empty_buffer() {
        let mut video = Video::new(Ladder::default());
        video.play(Time(10 * S));
        assert_eq!(video.stalled(), Span::ZERO);
        (video.segments, video.level) = (1, Span(4 * S));
        video.play(Time(13 * S));
        assert_eq!((video.level, video.stalled()), (Span(S), Span::ZERO));
        video.play(Time(16 * S));
        assert_eq!((video.level, video.stalled()), (Span::ZERO, Span(2 * S)));
    }

    // Fails when the mean is the arithmetic one, 2.5 Mbit/s of which 80 % are 2, or other than of five.
    #[test]
    fn the_quality_follows_the_harmonic_mean_of_five() {
        let mut video = Video::new(Ladder::default());
        assert_eq!(video.quality(), Rate(400_000));
        // 1, 1, 1, 1 and 8.5 Mbit/s: 1.21.
        video.pace = [S, S, S, S, S * 2 / 17];
        video.segments = 5;
        assert_eq!(video.quality(), Rate(400_000));
        // Four times as fast.
        video.pace = video.pace.map(|pace| pace / 4);
        assert_eq!(video.quality(), Rate(2_500_000));
        video.segments = 4;
        video.pace[4] = S * 1000;
        assert_eq!(video.quality(), Rate(2_500_000));
        video.segments = 5;
        assert_eq!(video.quality(), Rate(400_000));
    }
}
