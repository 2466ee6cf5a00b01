//! Where every packet went.

use std::sync::atomic::{AtomicU64, Ordering};

use laxity_core::Histogram;
use laxity_dwcs::{Measures, Window};
use serde::Serialize;

/// A number with one writer and any readers.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds; one thread only.
    #[inline]
    pub fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }

    /// Replaces; one thread only.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Reads.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters of the producing end of a stream's ring.
#[derive(Debug, Default)]
pub struct Made {
    /// Packets put into the ring.
    pub packets: Counter,
    /// Packets offered to a full ring, which are not made.
    pub overflows: Counter,
    /// Access units or packets too large to be sent.
    pub oversize: Counter,
}

/// Packets popped from a stream's ring, by outcome: their sum is all that were popped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Given to the kernel.
    pub sent: u64,
    /// Bytes of those, UDP payload.
    pub sent_bytes: u64,
    /// Dropped by DWCS: the deadline had passed.
    pub expired: u64,
    /// Dropped because another packet of the frame was.
    pub incomplete_frame: u64,
    /// Dropped because the socket's buffer stayed full.
    pub socket_full: u64,
    /// Refused by the kernel: longer than the path or a datagram allows.
    pub too_long: u64,
    /// Refused by the kernel for another reason.
    pub send_error: u64,
    /// Dropped when the stream or the server ended.
    pub discarded: u64,
}

impl Counts {
    /// Packets popped from the ring.
    pub fn popped(&self) -> u64 {
        self.sent + self.not_sent().iter().map(|(_, n)| n).sum::<u64>()
    }

    /// Packets not sent, by reason.
    pub fn not_sent(&self) -> [(&'static str, u64); 6] {
        [
            ("expired", self.expired),
            ("incomplete-frame", self.incomplete_frame),
            ("socket-full", self.socket_full),
            ("too-long", self.too_long),
            ("send-error", self.send_error),
            ("discarded", self.discarded),
        ]
    }

    /// Adds those of another stream.
    pub fn merge(&mut self, other: &Counts) {
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.expired += other.expired;
        self.incomplete_frame += other.incomplete_frame;
        self.socket_full += other.socket_full;
        self.too_long += other.too_long;
        self.send_error += other.send_error;
        self.discarded += other.discarded;
    }
}

/// The scheduler thread's counts of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Where its packets went.
    pub counts: Counts,
    /// Deadlines and windows.
    pub measures: Measures,
    /// The rest of its current window.
    pub window: Window,
    /// Packets that wait in its ring.
    pub waiting: usize,
    /// Its producer has ended.
    pub ended: bool,
    /// Its shared ring was damaged by the process that writes to it.
    pub broken: bool,
}

/// How precisely packets leave.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// From the instant at which a packet could go to the system call that sends it, ns.
    pub send_lateness: Histogram,
    /// From that instant to the return of the system call, ns.
    pub left: Histogram,
    /// System calls that sent something.
    pub calls: u64,
    /// Flushes that a full socket buffer cut short.
    pub full: u64,
    /// Flushes that a full device queue cut short.
    pub busy: u64,
    /// Sleeps.
    pub sleeps: u64,
    /// CPU time of the scheduler's thread, kernel time included, ns.
    pub cpu: u64,
}
