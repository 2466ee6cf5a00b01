//! Clock ticks at whole multiples of the tick length, while a task runs.

use laxity_core::{Span, Time};

/// The ticks handled so far.
#[derive(Clone, Debug)]
pub(crate) struct Ticks {
    length: u64,
    /// The number of the last tick.
    seen: u64,
    on: bool,
}

impl Ticks {
    pub(crate) fn new(length: Span) -> Ticks {
        Ticks { length: length.0.max(1), seen: 0, on: false }
    }

    /// Turns ticks on or off from now on. The tick of this instant has passed.
    pub(crate) fn run(&mut self, now: Time, on: bool) {
        if on && !self.on {
            self.seen = now.0 / self.length;
        }
        self.on = on;
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.on.then(|| Time((self.seen + 1).saturating_mul(self.length)))
    }

    /// The number of the due tick, or of the last one if several are due.
    pub(crate) fn due(&mut self, now: Time) -> Option<u64> {
        let current = now.0 / self.length;
        let due = self.on && current > self.seen;
        self.seen = self.seen.max(current);
        due.then_some(current)
    }
}
