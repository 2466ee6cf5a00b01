//! Control of a run from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use laxity_core::Span;

/// Controls a run in another thread: stops it or reads its progress.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    reached: AtomicU64,
}

impl Control {
    /// Asks the run to end with what it has.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was requested.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// So much more of a run is done.
    pub fn advance(&self, done: Span) {
        self.reached.fetch_add(done.0, Ordering::Relaxed);
    }

    /// Simulated nanoseconds done so far, summed over all runs that share this.
    pub fn reached(&self) -> u64 {
        self.reached.load(Ordering::Relaxed)
    }
}
