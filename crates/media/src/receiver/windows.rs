//! Loss counted as tolerances are stated: x of y, back to back and sliding.

use laxity_dwcs::Tolerance;
use serde::Serialize;

/// Counts losses in windows of the packets of one stream.
#[derive(Clone, Debug)]
pub struct Windows {
    tolerance: Tolerance,
    /// Whether each of the last `y` packets was lost, oldest at `place`.
    last: Box<[bool]>,
    place: usize,
    seen: u64,
    /// Losses among the last `y`.
    sliding_losses: u64,
    /// Packets and losses of the current back-to-back window.
    slots: u64,
    losses: u64,
    run: u64,
    report: WindowsReport,
}

/// The counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WindowsReport {
    /// Whole back-to-back windows of `y` packets.
    pub tumbling_windows: u64,
    /// Those with more than `x` losses, the current one too when it has them already.
    pub tumbling_violations: u64,
    /// Windows of `y` packets begun at any packet.
    pub sliding_windows: u64,
    /// Those with more than `x` losses.
    pub sliding_violations: u64,
    /// Most losses in a row.
    pub max_consecutive_losses: u64,
    /// Most losses in a window begun at any packet.
    pub max_window_losses: u64,
}

impl Windows {
    /// Counts against a tolerance. One without a window counts runs only.
    pub fn new(tolerance: Tolerance) -> Windows {
        Windows {
            tolerance,
            last: vec![false; usize::from(tolerance.y())].into(),
            place: 0,
            seen: 0,
            sliding_losses: 0,
            slots: 0,
            losses: 0,
            run: 0,
            report: WindowsReport::default(),
        }
    }

    /// The next packet in the order of sequence numbers.
    pub fn count(&mut self, lost: bool) {
        self.run = if lost { self.run + 1 } else { 0 };
        self.report.max_consecutive_losses = self.report.max_consecutive_losses.max(self.run);
        let (x, y) = (u64::from(self.tolerance.x()), u64::from(self.tolerance.y()));
        if y == 0 {
            return;
        }
        self.seen += 1;
        let old = std::mem::replace(&mut self.last[self.place], lost);
        self.place = (self.place + 1) % self.last.len();
        self.sliding_losses += u64::from(lost);
        self.sliding_losses -= u64::from(old);
        if self.seen >= y {
            self.report.sliding_windows += 1;
            self.report.sliding_violations += u64::from(self.sliding_losses > x);
            self.report.max_window_losses = self.report.max_window_losses.max(self.sliding_losses);
        }
        self.slots += 1;
        self.losses += u64::from(lost);
        // At once, so that the last window counts too.
        self.report.tumbling_violations += u64::from(lost && self.losses == x + 1);
        if self.slots == y {
            self.report.tumbling_windows += 1;
            (self.slots, self.losses) = (0, 0);
        }
    }

    /// The counts so far.
    pub fn report(&self) -> WindowsReport {
        self.report
    }
}
