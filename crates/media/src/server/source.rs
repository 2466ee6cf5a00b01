//! Sources, which fill rings: media, constant rate, frames of given sizes.
//!
//! A source works ahead as far as its ring reaches. Packets carry the instant from which they may
//! go, and the scheduler alone keeps time, so a source that wakes late does no harm while its ring
//! holds out.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use laxity_core::{Span, Time};
use laxity_ring::spsc;

use super::config::{Source, StreamConfig};
use super::counts::Made;
use super::table::{Feed, Packet};
use crate::media::{Codec, FrameRate, Media, VIDEO_CLOCK};
use crate::receiver::Stamp;
use crate::rtp::{self, Numbering, Payload, Payloader};

/// Bounds of the time to a source's next turn.
const SOONEST: Span = Span(1_000_000);
const LATEST: Span = Span(500_000_000);

/// A source and the ring that it fills.
#[derive(Debug)]
pub struct Feeder {
    feed: Feed,
    made: Arc<Made>,
    numbering: Numbering,
    kind: Kind,
    /// Made, but not yet in the ring.
    pending: VecDeque<Packet>,
    gap: Span,
}

#[derive(Debug)]
enum Kind {
    Constant { payload: Vec<u8>, stamp: u16, ticks: Ratio, count: u64, start: Time },
    Units { units: Units, payloader: Payloader, start: Time, frame: u32 },
}

/// Bodies that have been sent.
pub type Pool = spsc::Consumer<Vec<u8>>;

/// When to come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextFill {
    At(Time),
    /// The source has ended, or its stream has left.
    Never,
}

impl Feeder {
    /// The feeder of a stream with generated packets, to start at `start`. The configuration
    /// has been checked.
    pub fn new(config: &StreamConfig, feed: Feed, made: Arc<Made>, start: Time) -> Option<Feeder> {
        let numbering = Numbering::new(config.ssrc, config.payload_type).ok()?;
        let gap = config.attributes.gap?;
        let units = |units| Kind::Units {
            units,
            payloader: Payloader::new(config.largest - rtp::HEADER),
            start,
            frame: 0,
        };
        let kind = match &config.source {
            Source::Constant { bytes } => {
                let payload = vec![0; bytes - rtp::HEADER];
                let fits = payload.len() >= Stamp::BYTES;
                let stamp = if fits { rtp::HEADER as u16 } else { 0 };
                // A packet each gap, on the clock of video.
                let ticks = Ratio::new(u64::from(VIDEO_CLOCK), 1_000_000_000);
                Kind::Constant { payload, stamp, ticks, count: 0, start }
            }
            Source::Media { media, repeat } => {
                units(Units::Media { media: Arc::clone(media), repeat: *repeat, next: 0, base: 0 })
            }
            Source::Frames { sizes, rate } => {
                units(Units::Frames { sizes: Arc::clone(sizes), rate: *rate, next: 0 })
            }
            Source::Inlet | Source::Shared => return None,
        };
        Some(Feeder { feed, made, numbering, kind, pending: VecDeque::new(), gap })
    }

    /// Fills the ring with packets in bodies from `pool`.
    pub fn fill(&mut self, now: Time, pool: &mut Pool) -> NextFill {
        if self.feed.is_closed() {
            return NextFill::Never;
        }
        match &mut self.kind {
            Kind::Constant { payload, stamp, ticks, count, start } => {
                let arrival = now.max(*start);
                let mut pushed = 0;
                while !self.feed.is_full() {
                    let mut body = pool.pop().unwrap_or_default();
                    let after = ticks.of(u128::from(*count) * u128::from(self.gap.0));
                    let payload = Payload { prefix: &[], body: payload, marker: false };
                    self.numbering.write(&mut body, after, &payload);
                    let packet = Packet { body, arrival, frame: 0, stamp: *stamp };
                    if self.feed.push(packet).is_err() {
                        break;
                    }
                    *count += 1;
                    pushed += 1;
                }
                self.made.packets.add(pushed);
                self.next_fill(now)
            }
            Kind::Units { .. } => self.fill_units(now, pool),
        }
    }

    /// Half of what the ring holds, at the gap.
    fn next_fill(&self, now: Time) -> NextFill {
        let half = self.gap.0.saturating_mul(self.feed.capacity() as u64 / 2);
        NextFill::At(now + Span(half.clamp(SOONEST.0, LATEST.0)))
    }

    fn fill_units(&mut self, now: Time, pool: &mut Pool) -> NextFill {
        loop {
            while let Some(packet) = self.pending.pop_front() {
                if let Err(back) = self.feed.push(packet) {
                    self.pending.push_front(back);
                    return self.next_fill(now);
                }
                self.made.packets.add(1);
            }
            let Feeder { numbering, pending, kind, .. } = &mut *self;
            let Kind::Units { units, payloader, start, frame } = kind else {
                return NextFill::Never;
            };
            let Some(unit) = units.next() else { return NextFill::Never };
            *frame = frame.wrapping_add(1);
            let arrival = *start + units.instant(unit.at);
            let emit = |payload: Payload<'_>| {
                let mut body = pool.pop().unwrap_or_default();
                numbering.write(&mut body, unit.at, &payload);
                pending.push_back(Packet { body, arrival, frame: *frame, stamp: 0 });
            };
            if units.cut(&unit, payloader, emit).is_err() {
                // The receiver shall see that something is missing.
                numbering.skip();
                self.made.oversize.add(1);
            }
        }
    }

    /// Whether the scheduler must be notified of new packets.
    pub fn must_ring(&self) -> bool {
        self.feed.must_ring()
    }
}

/// An exact factor, rounded down on use.
#[derive(Clone, Copy, Debug)]
struct Ratio {
    over: u64,
    under: u64,
}

impl Ratio {
    fn new(over: u64, under: u64) -> Ratio {
        Ratio { over, under }
    }

    fn of(self, value: u128) -> u64 {
        // Wraps after centuries; timestamps wrap anyway.
        (value.saturating_mul(self.over.into()) / u128::from(self.under)) as u64
    }
}

/// Access units with their times in ticks from the start of the stream.
#[derive(Debug)]
enum Units {
    Media { media: Arc<Media>, repeat: bool, next: usize, base: u64 },
    Frames { sizes: Arc<[usize]>, rate: FrameRate, next: u64 },
}

#[derive(Clone, Copy, Debug)]
struct Unit {
    at: u64,
    index: usize,
}

impl Units {
    fn next(&mut self) -> Option<Unit> {
        match self {
            Units::Media { media, repeat, next, base } => {
                if *next == media.units().len() {
                    if !*repeat {
                        return None;
                    }
                    *base = base.saturating_add(media.ticks().max(1));
                    *next = 0;
                }
                let index = *next;
                *next += 1;
                Some(Unit { at: base.saturating_add(media.units().get(index)?.at), index })
            }
            Units::Frames { sizes, rate, next } => {
                let pictures = u128::from(*next);
                let per_picture = u64::from(VIDEO_CLOCK) * u64::from(rate.seconds);
                let at = Ratio::new(per_picture, rate.pictures.into()).of(pictures);
                let index = (*next % sizes.len() as u64) as usize;
                *next += 1;
                Some(Unit { at, index })
            }
        }
    }

    /// Ticks as time.
    fn instant(&self, ticks: u64) -> Span {
        let clock = match self {
            Units::Media { media, .. } => media.codec().clock(),
            Units::Frames { .. } => VIDEO_CLOCK,
        };
        Span(Ratio::new(1_000_000_000, clock.into()).of(ticks.into()))
    }

    fn cut(
        &self,
        unit: &Unit,
        payloader: &mut Payloader,
        mut emit: impl FnMut(Payload<'_>),
    ) -> Result<usize, rtp::TooLarge> {
        match self {
            Units::Media { media, .. } => {
                let parts = media.parts(&media.units()[unit.index]);
                payloader.cut(media.codec(), parts, emit)
            }
            // Frames without meaning are cut at will.
            Units::Frames { sizes, .. } => {
                // As data they would be 64 kB of the command.
                static ZEROS: LazyLock<Vec<u8>> = LazyLock::new(|| vec![0; rtp::LARGEST_DATAGRAM]);
                let most = payloader.most();
                let pieces = sizes[unit.index].div_ceil(most);
                for piece in 0..pieces {
                    let bytes = (sizes[unit.index] - piece * most).min(most);
                    let body = &ZEROS[..bytes];
                    let part = [body].into_iter();
                    let mark = |p: Payload<'_>| emit(Payload { marker: piece + 1 == pieces, ..p });
                    payloader.cut(&Codec::Synthetic, part, mark)?;
                }
                Ok(pieces)
            }
        }
    }
}
