//! How long a tick should be, and how many of them a window has.

use crate::Record;

/// An estimate of ticks from the gaps of the streams.
///
/// Streams with short gaps move often and those with long ones hardly ever, so it is the harmonic
/// mean of the gaps that counts: a wheel turns once while each of its streams moves once, on
/// average.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge {
    /// Sum of 2^64 / gap over streams with deadlines.
    rate: u128,
    /// How many those are.
    timed: u64,
    /// Joins since the wheels were last rebuilt.
    joins: usize,
}

/// Streams for each list of a window, as a power of two.
const SHARE: u32 = 6;

/// A block should last twice the mean gap, the window four times: streams of up to twice the mean
/// then never lie beyond it.
const WINDOW_IN_GAPS: u128 = 4;

/// How many lists a window has for `room` streams, as a power of two.
pub(crate) fn lists(room: usize) -> u32 {
    room.ilog2().saturating_sub(SHARE).max(room.ilog2().saturating_sub(3).min(11)).max(6)
}

impl Gauge {
    /// A stream's record changes.
    #[cold]
    pub(crate) fn replace(&mut self, old: &Record, new: &Record) {
        if old.occupied() && old.has_deadlines() {
            self.rate -= u128::from(u64::MAX / old.gap.0);
            self.timed -= 1;
        }
        if new.occupied() && new.has_deadlines() {
            self.rate += u128::from(u64::MAX / new.gap.0);
            self.timed += 1;
        }
    }

    /// The best tick, as a power of two of nanoseconds, for wheels for `room` streams.
    pub(crate) fn tick(&self, room: usize) -> u32 {
        if self.rate == 0 {
            return 0;
        }
        let mean = u128::from(self.timed) * u128::from(u64::MAX) / self.rate;
        let tick = ((mean * WINDOW_IN_GAPS) >> lists(room)).max(1).next_power_of_two();
        tick.ilog2().min(u64::BITS - 8)
    }

    /// A stream joined wheels with that tick for `room` streams; answers a better tick, but not
    /// so often that rebuilding would be felt.
    pub(crate) fn joined(&mut self, tick: u32, room: usize) -> Option<u32> {
        self.joins += 1;
        if self.joins < room / 2 {
            return None;
        }
        self.joins = 0;
        let better = self.tick(room);
        (better != tick).then_some(better)
    }

    pub(crate) fn rebuilt(&mut self) {
        self.joins = 0;
    }
}
