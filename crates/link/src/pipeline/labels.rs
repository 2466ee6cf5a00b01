//! Releases and deadlines of the best-effort aggregate.

use laxity_core::Time;
use laxity_curve::Blocking;

use super::Discipline;
use crate::config::{LinkConfig, Release, Restart};

/// The discipline, with what it needs to know of the aggregate.
#[derive(Debug)]
pub struct Labels<D> {
    pub(crate) discipline: D,
    release: Release,
    /// Latest release of the aggregate so far.
    released: Time,
    /// Whether deadlines may restart before the link idles.
    pub(super) restarts: bool,
    /// The residual capacity leaves no room for blocking by a best-effort packet, so the packet in
    /// flight counts when deadlines restart.
    counts_in_flight: bool,
    /// Best effort yields to real time after a stall.
    pub(super) yields_to_realtime: bool,
}

impl<D: Discipline> Labels<D> {
    pub(super) fn new(config: &LinkConfig, discipline: D) -> Labels<D> {
        Labels {
            release: config.release,
            released: Time::ZERO,
            restarts: config.options.restart == Restart::Sooner,
            counts_in_flight: config.blocking == Blocking::Exact,
            yields_to_realtime: false,
            discipline,
        }
    }

    /// The release of the packet that becomes the head of the aggregate at `now`.
    #[inline]
    pub(crate) fn release(&mut self, now: Time, arrival: Time) -> Time {
        self.released = match self.release {
            Release::Arrival => self.released.max(arrival),
            Release::HeadOfLine => now,
        };
        self.released
    }

    /// All that waits counts as released at `now` or later.
    #[inline]
    pub(crate) fn release_all(&mut self, now: Time) -> Time {
        self.released = self.released.max(now);
        self.released
    }

    /// Bytes that deadlines count when they restart while a packet of `wire` bytes starts.
    #[inline]
    pub(super) fn in_flight(&self, wire: u32) -> u32 {
        if self.counts_in_flight { wire } else { 0 }
    }
}
