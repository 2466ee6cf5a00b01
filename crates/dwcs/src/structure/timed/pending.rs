//! Streams whose heads may not be sent yet, by release.

use laxity_core::Time;

use super::chunks::List;
use super::overflow::{IN_OVERFLOW, Member};
use super::queue::Queue;
use super::{Size, Streams};
use crate::Rank;

/// A timing wheel. It never looks back: all releases lie ahead.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    queue: Queue,
    now: u64,
    /// No release lies before.
    soon: u64,
    /// One lies there.
    exact: bool,
    /// No release in the queue's lists lies before.
    listed: u64,
}

impl Pending {
    pub(crate) fn new(rank: Rank) -> Pending {
        let queue = Queue::new(rank);
        Pending { queue, now: 0, soon: u64::MAX, exact: false, listed: u64::MAX }
    }

    pub(crate) fn grow(&mut self, size: Size) {
        self.queue.grow(size);
    }

    pub(crate) fn clear(&mut self, tick: u32, now: Time) {
        self.queue.clear(tick, now.0);
        (self.soon, self.exact, self.listed) = (u64::MAX, false, u64::MAX);
    }

    #[inline]
    pub(crate) fn insert(&mut self, streams: &mut Streams, slot: u32, release: u64) {
        let entry = streams.entry(slot, release);
        self.soon = self.soon.min(release);
        let calendar = &self.queue.calendar;
        let current = calendar.tick_of(release) == calendar.tick_of(self.now);
        if current && self.queue.run.is_empty() || self.queue.continues(release) {
            self.queue.run.insert(entry, |_| Some(true));
        } else {
            self.queue.calendar.insert(&mut streams.chunks, entry);
            self.listed = self.listed.min(release);
        }
    }

    pub(crate) fn remove(&mut self, streams: &mut Streams, slot: u32, release: u64) {
        self.exact &= release != self.soon;
        if streams.at(slot).link & IN_OVERFLOW == 0 {
            streams.stale_entries += 1;
        } else {
            self.queue.overflow.remove(&mut streams.records, slot);
        }
    }

    /// Returns all with a release at `now` or before.
    #[inline]
    pub(crate) fn release(
        &mut self,
        streams: &mut Streams,
        now: u64,
        admit: &mut impl FnMut(&mut Streams, u32),
    ) {
        self.now = now;
        if self.soon <= now {
            self.drain(streams, admit);
        }
        let block = self.queue.calendar.block_of(now);
        if self.queue.calendar.last() <= block {
            self.roll(streams, block + 1, admit);
        }
    }

    /// Hands over what the window, the run and the heap have up to now.
    #[inline]
    fn drain(&mut self, streams: &mut Streams, admit: &mut impl FnMut(&mut Streams, u32)) {
        self.exact = false;
        let run = loop {
            let Some(entry) = self.queue.run.first().copied() else { break u64::MAX };
            if entry.key > self.now {
                break entry.key;
            }
            self.queue.pop(streams);
            if streams.is_live(&entry) {
                admit(streams, entry.slot);
            } else {
                streams.stale_entries -= 1;
            }
        };
        let overflow = self.queue.overflow.top().map_or(u64::MAX, |member| member.key);
        self.soon = self.listed.min(run).min(overflow);
        // At the last instant `soon` is no later even if nothing is left.
        if self.soon <= self.now && self.has_lists() {
            self.drain_lists(streams, admit);
        }
    }

    /// Whether anything is in the heap or in a list of the window.
    fn has_lists(&mut self) -> bool {
        self.queue.overflow.top().is_some() || self.queue.calendar.first().is_some()
    }

    /// The rest of [`drain`](Self::drain): once for each tick that has a list, unless streams
    /// crowd it.
    #[cold]
    fn drain_lists(&mut self, streams: &mut Streams, admit: &mut impl FnMut(&mut Streams, u32)) {
        let now = self.now;
        while let Some(Member { slot, .. }) = self.queue.overflow.top().filter(|m| m.key <= now) {
            let slot = *slot;
            self.queue.overflow.remove(&mut streams.records, slot);
            streams.renew(slot);
            admit(streams, slot);
        }
        let current = self.queue.calendar.tick_of(now);
        self.listed = loop {
            let Some(tick) = self.queue.calendar.first() else { break u64::MAX };
            if tick > current {
                break self.queue.calendar.start_of(tick);
            }
            if tick == current && self.queue.run.is_empty() {
                self.queue.load(streams, tick);
                continue;
            }
            let list = self.queue.calendar.take(tick);
            if tick < current {
                hand_over(streams, list, admit);
            } else {
                self.queue.pour(streams, list);
            }
        };
        self.drain(streams, admit);
    }

    /// Moves the window on to end with block `target`.
    #[cold]
    fn roll(
        &mut self,
        streams: &mut Streams,
        target: u64,
        admit: &mut impl FnMut(&mut Streams, u32),
    ) {
        self.drain_lists(streams, admit);
        while self.queue.calendar.last() < target {
            self.queue.advance(streams, target);
            // Streams dealt out may be due before the window moves on.
            self.drain_lists(streams, admit);
        }
    }

    /// The least release.
    pub(crate) fn next(&mut self, streams: &mut Streams) -> Option<u64> {
        if !self.exact {
            self.soon = self.find(streams)?;
            self.exact = true;
        }
        Some(self.soon)
    }

    fn find(&mut self, streams: &mut Streams) -> Option<u64> {
        while let Some(entry) = self.queue.run.first() {
            if streams.is_live(entry) {
                break;
            }
            self.queue.run.pop();
            streams.stale_entries -= 1;
        }
        let run = self.queue.run.first().map(|entry| entry.key);
        let overflow = self.queue.overflow.top().map(|member| member.key);
        let ordered = run.into_iter().chain(overflow).min();
        loop {
            let first = self.queue.calendar.first();
            let beyond = self.queue.calendar.first_coarse();
            let list = match (first, &beyond) {
                (Some(tick), _) => self.queue.calendar.list(tick),
                (None, Some(beyond)) => self.queue.calendar.list_coarse(beyond),
                (None, None) => return ordered,
            };
            let entries = streams.chunks.iter(list).filter(|entry| streams.is_live(entry));
            if let Some(least) = entries.map(|entry| entry.key).min() {
                return Some(ordered.map_or(least, |ordered| ordered.min(least)));
            }
            // Nothing but stale entries.
            streams.bury(match (first, &beyond) {
                (Some(tick), _) => self.queue.calendar.take(tick),
                (None, Some(beyond)) => self.queue.calendar.take_coarse(beyond),
                (None, None) => return ordered,
            });
        }
    }
}

fn hand_over(streams: &mut Streams, mut list: List, admit: &mut impl FnMut(&mut Streams, u32)) {
    while let Some(entry) = streams.chunks.pop(&mut list) {
        if streams.is_live(&entry) {
            admit(streams, entry.slot);
        } else {
            streams.stale_entries -= 1;
        }
    }
}
