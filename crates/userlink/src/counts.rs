//! The counts of a direction, by class and by reason.

use laxity_core::{Histogram, Span};
use laxity_link::buffer::DropReason;

/// One class: a real-time flow or a best-effort class.
#[derive(Clone, Debug, Default)]
pub struct ClassCounts {
    /// Frames that arrived.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// From arrival at the interface to the end of transmission on a wire of the scenario's rate,
    /// in ns; over frames sent, but for those that were demoted.
    pub delay: Histogram,
    /// The same over frames that were sent as best effort, being beyond the envelope: they have no
    /// deadline, and would hide how those that have one fare.
    pub demoted_delay: Histogram,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Sent after their deadline.
    pub deadline_misses: u64,
    /// The greatest lateness of these, in ns.
    pub max_lateness_ns: u64,
    /// Dropped by the policy; see [`DropReason::index`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Marked with "congestion experienced" by the AQM.
    pub ecn_marks: u64,
    /// Longer than the interface sends.
    pub too_long: u64,
    /// With no way to where it is addressed.
    pub unroutable: u64,
    /// Bytes of what was dropped, for whatever reason.
    pub dropped_bytes: u64,
}

/// Frames that the interface would not take for their length.
pub const TOO_LONG: &str = "too-long";

/// Packets that no route of the interface leads to their destination.
pub const UNROUTABLE: &str = "unroutable";

impl ClassCounts {
    /// How many were dropped and why; reasons that did not occur are left out.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let policy = DropReason::ALL.iter().map(|r| (r.name(), self.dropped[r.index()]));
        let own = [(TOO_LONG, self.too_long), (UNROUTABLE, self.unroutable)];
        policy.chain(own).filter(|(_, n)| *n > 0)
    }

    /// How many were sent, demoted ones included.
    pub fn sent(&self) -> u64 {
        self.delay.count() + self.demoted()
    }

    /// How many were sent as best effort, being beyond the envelope.
    pub fn demoted(&self) -> u64 {
        self.demoted_delay.count()
    }

    /// How many wait: neither sent nor dropped.
    pub fn waiting(&self) -> u64 {
        let dropped: u64 = self.drops().map(|(_, n)| n).sum();
        self.packets.saturating_sub(self.sent() + dropped)
    }

    /// Their bytes.
    pub fn waiting_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.sent_bytes + self.dropped_bytes)
    }

    pub(crate) fn drop_one(&mut self, reason: DropReason, bytes: u32) {
        self.dropped[reason.index()] += 1;
        self.dropped_bytes += u64::from(bytes);
    }
}

/// One direction.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// By flow.
    pub classes: Vec<ClassCounts>,
    /// How often the link began later than its credit makes good, with frames waiting.
    pub stalls: u64,
    /// Time by which the link began later than its credit makes good, with frames waiting.
    pub stalled: Span,
    /// The longest of these times.
    pub longest_stall: Span,
    /// How long after its start a frame was handed over, in ns. Deadlines are kept as long as this
    /// stays below the credit.
    pub lag: Histogram,
    /// How often the thread has looked for something to do.
    pub rounds: u64,
    /// Wake-up latency of the thread after the requested instant, in ns.
    pub wakes: Histogram,
    /// How often the interface had no room and frames waited for it.
    pub blocked: u64,
    /// How often a frame could not be sent because the interface was down.
    pub down: u64,
    /// Frames lost before they could be read: the socket's buffer was full.
    pub overflow: u64,
    /// Frames that carried several packets and were cut into them, as interfaces do.
    pub segmented: u64,
    /// Checksums that were completed, as interfaces do.
    pub checksums: u64,
    /// Frames that could not be segmented: their headers contradict the kernel's metadata.
    pub malformed: u64,
}

impl Counts {
    /// By how much a frame may have been later than the policy meant it, in ns: what admission
    /// promises holds up to this. Zero where every frame was handed over within the credit.
    pub fn excuse(&self, credit: Span) -> u64 {
        let lag = self.lag.max().unwrap_or(0);
        if lag <= credit.0 { self.stalled.0 } else { self.stalled.0 + lag }
    }

    /// Nothing yet, for so many flows.
    pub fn new(flows: usize) -> Counts {
        Counts { classes: vec![ClassCounts::default(); flows], ..Counts::default() }
    }
}
