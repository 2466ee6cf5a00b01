//! Whether the window was used: it grows only if it was (RFC 9438 section 5.8, RFC 7661 section 4).

use crate::congestion::Window;

/// How much of the window the last round trip used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    limited: bool,
    /// The most segments unacknowledged.
    most: u32,
    /// The measurement is replaced when this offset is acknowledged.
    until: u64,
    unrecorded: bool,
}

impl Usage {
    /// A new segment left.
    pub fn sent(&mut self) {
        self.unrecorded = true;
    }

    /// Nothing more leaves now; `limited` if because of the window.
    pub fn record(&mut self, una: u64, next: u64, outstanding: u32, limited: bool) {
        if !core::mem::take(&mut self.unrecorded) && !limited {
            return;
        }
        if una >= self.until || limited || !self.limited && outstanding > self.most {
            *self = Usage { limited, most: outstanding, until: next, unrecorded: false };
        }
    }

    /// In slow start a window that is half used may grow, as the next round trip may use it.
    pub fn is_limited(&self, window: &Window) -> bool {
        self.limited || window.in_slow_start() && window.cwnd < 2 * self.most
    }
}
