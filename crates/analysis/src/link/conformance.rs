//! Envelopes as a record shows them: when a packet conforms, and which one was sent although it did not.

use laxity_core::NANOBITS_PER_BYTE;
use laxity_curve::Envelope;

/// What a flow has sent of its envelope, in nanobits and ns.
#[derive(Clone, Debug)]
pub(super) struct Conformance<'a> {
    envelope: &'a Envelope,
    /// For each bucket what was sent beyond its rate by `last`.
    used: Vec<i128>,
    /// Of a periodic flow the nominal release of the next packet.
    nominal: i128,
    /// The last release; the least number before the first.
    last: i128,
}

impl<'a> Conformance<'a> {
    /// Of a flow that has sent nothing.
    pub(super) fn new(envelope: &'a Envelope) -> Conformance<'a> {
        let buckets = envelope.lines().map_or(0, <[_]>::len);
        Conformance { envelope, used: vec![0; buckets], nominal: i128::MIN, last: i128::MIN }
    }

    fn cost(&self, wire: u64) -> i128 {
        let least = match self.envelope {
            Envelope::Buckets { min_packet, .. } => min_packet.0,
            Envelope::Periodic { .. } => 0,
        };
        i128::from(wire.max(least)) * NANOBITS_PER_BYTE
    }

    /// The earliest instant at which a packet of `wire` bytes conforms after those taken; the least number for
    /// any instant, `None` for never.
    pub(super) fn conforms(&self, wire: u64) -> Option<i128> {
        let mut earliest = self.last;
        match self.envelope {
            Envelope::Buckets { buckets, .. } => {
                let cost = self.cost(wire);
                for (used, bucket) in self.used.iter().zip(buckets) {
                    let burst = i128::from(bucket.burst.0) * NANOBITS_PER_BYTE;
                    let missing = used + cost - burst;
                    let rate = i128::from(bucket.rate.0);
                    if cost > burst || (missing > 0 && rate == 0) {
                        return None;
                    }
                    if missing > 0 {
                        earliest = earliest.max(self.last + (missing + rate - 1) / rate);
                    }
                }
            }
            Envelope::Periodic { size, jitter, .. } => {
                if wire > size.0 {
                    return None;
                }
                earliest = earliest.max(self.nominal.saturating_sub(jitter.0.into()));
            }
        }
        Some(earliest)
    }

    /// Counts a packet that was released at `at`.
    pub(super) fn take(&mut self, at: i128, wire: u64) {
        let at = at.max(self.last);
        let passed = at.saturating_sub(self.last);
        match self.envelope {
            Envelope::Buckets { buckets, .. } => {
                let cost = self.cost(wire);
                for (used, bucket) in self.used.iter_mut().zip(buckets) {
                    let regained = i128::from(bucket.rate.0).saturating_mul(passed);
                    *used = used.saturating_sub(regained).max(0) + cost;
                }
            }
            Envelope::Periodic { period, .. } => {
                self.nominal = at.max(self.nominal) + i128::from(period.0);
            }
        }
        self.last = at;
    }
}
