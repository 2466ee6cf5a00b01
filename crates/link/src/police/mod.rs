//! Policing: keeps a real-time flow within its envelope, so that a nonconforming flow hurts only
//! itself.
//!
//! A policer is the exact state of the envelope that admission counted with. It answers when a
//! packet would conform, takes the packets that were let in, and bounds what the flow can still
//! send, on which [`slack`](crate::slack) bases its decisions.

mod buckets;
mod gate;
mod periodic;

pub use buckets::TokenBuckets;
pub(crate) use gate::{Gate, ServedGate};
pub use periodic::PeriodicPolicer;

use laxity_core::Time;
use laxity_curve::Envelope;

/// The policer of one flow.
#[derive(Clone, Debug)]
pub enum Policer {
    /// Any minimum of token buckets.
    Buckets(TokenBuckets),
    /// Periodic with jitter.
    Periodic(PeriodicPolicer),
}

/// An upper bound on what a flow can still send from an instant `t` on: the minimum of `lines` at
/// the time since `t`, and nothing while that is less than its smallest packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remaining {
    /// Length at which the smallest packet counts, in nanobits.
    pub least: i128,
    /// `(nanobits at now, rate in bit/s)`; the first `count` hold.
    pub lines: [(i128, u64); Remaining::LINES],
    /// Number of lines.
    pub count: usize,
}

impl Remaining {
    /// Lines kept; further buckets are left out, which is safe since each one only bounds more.
    pub const LINES: usize = 4;

    /// The bound for an interval of `y` nanoseconds from now.
    #[inline]
    pub fn at(&self, y: u64) -> i128 {
        let lines = &self.lines[..self.count];
        let bound = lines.iter().map(|&(b, r)| b + i128::from(r) * i128::from(y)).min();
        bound.filter(|bound| *bound >= self.least).unwrap_or(0)
    }
}

impl Policer {
    /// A policer with full buckets.
    pub fn new(envelope: &Envelope) -> Policer {
        match envelope {
            Envelope::Buckets { buckets, min_packet, .. } => {
                Policer::Buckets(TokenBuckets::new(buckets, *min_packet))
            }
            Envelope::Periodic { period, jitter, size, .. } => {
                Policer::Periodic(PeriodicPolicer::new(*period, *jitter, *size))
            }
        }
    }

    /// The earliest instant, not before `now`, at which a packet of `bytes` conforms; `None` when
    /// it never does. The packets before it must have been taken already.
    #[inline]
    pub fn conforms_at(&self, now: Time, bytes: u32) -> Option<Time> {
        match self {
            Policer::Buckets(p) => p.conforms_at(now, bytes),
            Policer::Periodic(p) => p.conforms_at(now, bytes),
        }
    }

    /// Charges a packet of `bytes` admitted at `at`, a result of
    /// [`conforms_at`](Self::conforms_at).
    #[inline]
    pub fn take(&mut self, at: Time, bytes: u32) {
        match self {
            Policer::Buckets(p) => p.take(at, bytes),
            Policer::Periodic(p) => p.take(at),
        }
    }

    /// Bound on the flow's future work from `now` on, in nanobits of counted length.
    #[inline]
    pub fn remaining(&self, now: Time) -> Remaining {
        match self {
            Policer::Buckets(p) => p.remaining(now),
            Policer::Periodic(p) => p.remaining(now),
        }
    }
}
