//! The dual queue coupled AQM (RFC 9332) of a class without flow queues.

use laxity_core::{Span, Time};

use super::pi2::{ONE, Pi2};
use super::{Signal, classic};
use crate::flow_queue::pool::Fifo;

/// Index of the queue for ECT(1) and CE; classic traffic has the other.
pub(crate) const LOW_LATENCY: usize = 1;
/// Index of the queue for the rest.
pub(crate) const CLASSIC: usize = 0;

/// How much more often the low-latency queue is marked than the root of the classic signal has it
/// (RFC 9332, section 2.1): `k`.
const COUPLING: u64 = 2;

/// Marks that the low-latency queue may owe beyond its packets: it is often empty, and what has left it is to be
/// signalled all the same.
pub(crate) const SPARE_MARKS: u32 = 8;

/// Tenths of what is sent that the classic queue gets at least while it waits.
const CLASSIC_SHARE: i64 = 1;

/// Which of the two queues is next: low latency, unless the classic queue has had less than its
/// share. What is sent of one is credit for the other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DualOrder {
    /// Bytes times 10 that the classic queue lacks, while both wait.
    lacking: i64,
}

impl DualOrder {
    /// The queue whose packet is next.
    #[inline]
    pub(crate) fn select(&self, fifos: &[Fifo]) -> Option<usize> {
        let waits = |queue: usize| fifos[queue].packets > 0;
        match (waits(LOW_LATENCY), waits(CLASSIC)) {
            (true, true) if self.lacking > 0 => Some(CLASSIC),
            (true, _) => Some(LOW_LATENCY),
            (false, true) => Some(CLASSIC),
            (false, false) => None,
        }
    }

    /// `wire` bytes of a queue are sent, after which the other one has `other` packets.
    #[inline]
    pub(crate) fn charge(&mut self, queue: usize, wire: u32, other: u32) {
        if other == 0 {
            self.lacking = 0;
        } else if queue == LOW_LATENCY {
            self.lacking += CLASSIC_SHARE * i64::from(wire);
        } else {
            self.lacking -= (10 - CLASSIC_SHARE) * i64::from(wire);
        }
    }
}

/// Signals of the dual queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DualAqm {
    pub(super) pi2: Pi2,
    /// Delay above which the low-latency queue is marked, in ns.
    pub(super) step: u64,
}

impl DualAqm {
    /// The signal for a packet of `queue` that leaves at `now` after `sojourn`; `delay` is the
    /// longer of the delays at the heads of the two queues.
    pub(crate) fn signal(
        &mut self,
        now: Time,
        queue: usize,
        sojourn: Span,
        delay: Span,
        few: bool,
    ) -> Signal {
        let probability = self.pi2.probability(now, delay);
        let rolls = self.pi2.rolls();
        let coupled = COUPLING * probability;
        if few {
            return Signal::None;
        }
        // Overload: marks no longer suffice, and both queues lose as many.
        if coupled >= ONE && rolls.0 < probability && rolls.1 < probability {
            return Signal::Drop;
        }
        if queue == CLASSIC {
            return classic(probability, rolls);
        }
        if sojourn.0 > self.step || rolls.0 < coupled { Signal::Mark } else { Signal::None }
    }
}
