//! Queue limits.

use laxity_link::buffer::{BufferLimits, Buffers};
use laxity_link::config::LinkConfig;

use super::shares::Limit;
use super::{Notice, PlanError};
use crate::layout::link::lx_limits;

/// Maximum number of best-effort packets queued in the kernel: 0.6 MB of slots.
pub const MOST_BEST_EFFORT_SLOTS: u64 = 16_384;
/// Maximum number of queued real-time packets beyond conforming ones.
pub const MOST_SHAPED_SLOTS: u64 = 4_096;
/// Maximum number of queued packets in all.
const MAX_SLOTS: u64 = 1 << 22;

/// All limits.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    total: u64,
    best_effort_bytes: u64,
    pub(super) realtime_slots: u64,
    best_effort_slots: u64,
    committed: u64,
    committed_packets: u64,
    /// Limits of real-time flows and of best-effort classes.
    pub(super) realtime: Vec<Limit>,
    pub(super) best_effort: Vec<Limit>,
    pub(super) slots: u32,
}

impl Queues {
    pub(super) fn new(link: &LinkConfig, notices: &mut Vec<Notice>) -> Result<Queues, PlanError> {
        let limits = BufferLimits::of(link)?;
        let buffers = Buffers::with_limits(&limits)?;
        let all: Vec<Limit> = limits.per_flow.iter().map(|l| Limit(*l)).collect();
        let (realtime, best_effort) = all.split_at(link.realtime.len());
        let committed = realtime.iter().map(|l| l.0.reserved.0).sum();
        let committed_packets: u64 = realtime.iter().map(Limit::reserved_packets).sum();
        let mut fewer = |given: usize, most: u64, best_effort| {
            let packets = (given as u64).min(most);
            if packets < given as u64 {
                notices.push(Notice::FewerSlots { best_effort, packets });
            }
            packets
        };
        let most = committed_packets.saturating_add(MOST_SHAPED_SLOTS);
        let realtime_slots = fewer(buffers.realtime_slots(), most, false);
        let best_effort_slots = fewer(buffers.best_effort_slots(), MOST_BEST_EFFORT_SLOTS, true);
        let slots = realtime_slots + best_effort_slots;
        if slots > MAX_SLOTS {
            return Err(PlanError::OutOfRange {
                what: format!("{slots} packets that may wait"),
                remedy: "lower link.buffer or raise min_packet of the flows".into(),
            });
        }
        Ok(Queues {
            total: limits.total.0,
            best_effort_bytes: limits.best_effort.0.min(limits.total.0),
            realtime_slots,
            best_effort_slots,
            committed,
            committed_packets,
            realtime: realtime.to_vec(),
            best_effort: best_effort.to_vec(),
            slots: slots as u32,
        })
    }

    /// Writes a `struct lx_limits`.
    pub(super) fn write_limits(&self, place: &mut [u8]) {
        lx_limits::TOTAL.set_u64(place, self.total);
        lx_limits::BEST_EFFORT.set_u64(place, self.best_effort_bytes);
        lx_limits::REALTIME_SLOTS.set_u64(place, self.realtime_slots);
        lx_limits::BEST_EFFORT_SLOTS.set_u64(place, self.best_effort_slots);
        lx_limits::COMMITTED.set_u64(place, self.committed);
        lx_limits::COMMITTED_PACKETS.set_u64(place, self.committed_packets);
    }
}
