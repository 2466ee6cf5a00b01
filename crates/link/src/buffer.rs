//! Buffer management: limits in bytes, and push-out when they are reached.
//!
//! - Real time never loses a packet to best effort: when the whole buffer is full, best-effort
//!   packets are pushed out for it.
//! - A real-time flow never loses a conforming packet to another flow. While deadlines are kept,
//!   the conforming packets of flow `k` that wait arrived within its deadline `d_k`, so they are
//!   at most `A_k(d_k)` bytes. That much is reserved for each flow; only the rest of the
//!   total is shared by packets in the shaper (`excess = "delay"`).
//! - Best effort has its own limit, and each class may have one.
//!
//! A packet counts with its length, but at least with the smallest packet of its flow. Thus a
//! limit in bytes is a limit in packets too, and the queues can be allocated once.

use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use laxity_core::{Bytes, NANOBITS_PER_BYTE};
use laxity_curve::{CurveError, DEFAULT_MIN_PACKET, Envelope};

use crate::config::{LinkConfig, LinkConfigError};

/// Room for packets beyond the reserved bytes, and the limit for best effort, where the config
/// names none.
pub const DEFAULT_SHARED_BUFFER: Bytes = Bytes(8 << 20);

/// Packets of best effort, and real-time packets beyond the reserved ones, are never given more
/// slots than this, whatever the limits in bytes (a slot takes about 100 B of memory).
pub const MAX_SLOTS: usize = 1 << 20;

/// Conforming real-time packets that may have to wait at once are at most so many: queues for them
/// then take less than 2 GiB even when all of them do.
pub const MAX_RESERVED_PACKETS: u64 = 1 << 24;

/// Slots come in multiples of this.
const SLOT_GRAIN: u64 = 64;

/// Reason for which a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// All bytes of the buffer are used or reserved.
    BufferTotal,
    /// Best effort has reached its limit.
    BufferBestEffort,
    /// The flow or class has reached its own limit.
    BufferFlow,
    /// All packet slots are used: many small packets.
    BufferSlots,
    /// The packet is larger than its flow's largest, or than the largest best-effort packet.
    Oversize,
    /// The packet is beyond its flow's envelope, which says to drop such packets.
    Excess,
    /// A best-effort packet pushed out by a later arrival.
    PushedOut,
    /// A best-effort packet dropped by the AQM of its class as a signal of congestion.
    Aqm,
}

impl DropReason {
    /// Every reason, in the order of their numbers.
    pub const ALL: [DropReason; 8] = [
        DropReason::BufferTotal,
        DropReason::BufferBestEffort,
        DropReason::BufferFlow,
        DropReason::BufferSlots,
        DropReason::Oversize,
        DropReason::Excess,
        DropReason::PushedOut,
        DropReason::Aqm,
    ];

    /// The name in results and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::BufferTotal => "buffer-total",
            DropReason::BufferBestEffort => "buffer-best-effort",
            DropReason::BufferFlow => "buffer-flow",
            DropReason::BufferSlots => "buffer-slots",
            DropReason::Oversize => "oversize",
            DropReason::Excess => "excess",
            DropReason::PushedOut => "pushed-out",
            DropReason::Aqm => "aqm",
        }
    }

    /// Its index in [`ALL`](Self::ALL), for counters.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether pushing out a best-effort packet of another class may make room.
    pub const fn is_shared(self) -> bool {
        matches!(
            self,
            DropReason::BufferTotal | DropReason::BufferBestEffort | DropReason::BufferSlots
        )
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Answer to a request for buffer space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is accepted and charged.
    Accept,
    /// There is no space for it.
    Reject(DropReason),
    /// There is space once a best-effort packet has been pushed out and
    /// [released](Buffers::release); the caller then asks again. Only real-time packets get this
    /// answer, and only while best effort is queued.
    PushOut,
}

/// Limits of one flow or class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimit {
    /// Limit on queued bytes, if any.
    pub limit: Option<Bytes>,
    /// Bytes reserved for this flow: zero for best effort.
    pub reserved: Bytes,
    /// Length at which the smallest packets count; at least 1.
    pub smallest: Bytes,
}

impl FlowLimit {
    /// A best-effort class.
    pub fn best_effort(limit: Option<Bytes>) -> FlowLimit {
        FlowLimit { limit, reserved: Bytes(0), smallest: DEFAULT_MIN_PACKET }
    }
}

/// All limits on queued bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferLimits {
    /// Over all packets.
    pub total: Bytes,
    /// Over best-effort packets.
    pub best_effort: Bytes,
    /// Real-time flows first, best-effort classes after them.
    pub per_flow: Vec<FlowLimit>,
    /// How many of `per_flow` are real-time flows.
    pub realtime: usize,
}

impl BufferLimits {
    /// The limits of a config, with the rest derived from its envelopes and deadlines.
    ///
    /// # Errors
    /// When an envelope cannot be evaluated.
    pub fn of(config: &LinkConfig) -> Result<BufferLimits, CurveError> {
        let mut per_flow = Vec::with_capacity(config.realtime.len() + config.best_effort.len());
        let mut needed = 0u64;
        for f in &config.realtime {
            let nanobits = f.envelope.value(f.deadline.0.into())?.ceil();
            let bytes = nanobits.unsigned_abs().div_ceil(NANOBITS_PER_BYTE.unsigned_abs());
            let reserved = Bytes(u64::try_from(bytes).unwrap_or(u64::MAX));
            needed = needed.saturating_add(reserved.0);
            let smallest = match &f.envelope {
                Envelope::Buckets { min_packet, .. } => *min_packet,
                // One packet a period whatever its size, so each counts as the largest.
                Envelope::Periodic { size, .. } => *size,
            };
            per_flow.push(FlowLimit { limit: f.buffer, reserved, smallest });
        }
        per_flow.extend(config.best_effort.iter().map(|c| FlowLimit::best_effort(c.buffer)));
        let (total, best_effort) = match config.buffer {
            Some(buffer) => (buffer.total, buffer.best_effort),
            None => {
                (Bytes(needed.saturating_add(2 * DEFAULT_SHARED_BUFFER.0)), DEFAULT_SHARED_BUFFER)
            }
        };
        Ok(BufferLimits { total, best_effort, per_flow, realtime: config.realtime.len() })
    }
}

/// One flow or class.
#[derive(Clone, Debug)]
struct Account {
    limit: u64,
    reserved: u64,
    smallest: u64,
    used: u64,
    packets: u64,
    /// Packets for which the reserved bytes suffice.
    reserved_packets: u64,
}

/// Accounts of queued bytes and packets against the limits.
#[derive(Clone, Debug)]
pub struct Buffers {
    accounts: Box<[Account]>,
    realtime: usize,
    total: u64,
    best_effort: u64,
    /// Bytes of queued real-time packets.
    realtime_used: u64,
    /// Bytes used by or reserved for real time: the sum of `max(used, reserved)`.
    committed: u64,
    /// The same in packets.
    committed_packets: u64,
    best_effort_used: u64,
    best_effort_packets: u64,
    realtime_slots: u64,
    best_effort_slots: u64,
}

impl Buffers {
    /// Empty buffers with the limits of a config.
    ///
    /// # Errors
    /// When real time does not fit; see [`with_limits`](Self::with_limits).
    pub fn new(config: &LinkConfig) -> Result<Buffers, LinkConfigError> {
        Buffers::with_limits(&BufferLimits::of(config)?)
    }

    /// Empty buffers.
    ///
    /// # Errors
    /// When a flow's limit, or the total, is less than what is reserved, or when more than
    /// [`MAX_RESERVED_PACKETS`] packets may have to wait.
    pub fn with_limits(limits: &BufferLimits) -> Result<Buffers, LinkConfigError> {
        let realtime = limits.realtime.min(limits.per_flow.len());
        let mut accounts = Vec::with_capacity(limits.per_flow.len());
        let (mut committed, mut committed_packets, mut smallest) = (0u64, 0u64, u64::MAX);
        for (flow, f) in limits.per_flow.iter().enumerate() {
            let account = Account {
                limit: f.limit.map_or(u64::MAX, |b| b.0),
                reserved: f.reserved.0,
                smallest: f.smallest.0.max(1),
                used: 0,
                packets: 0,
                reserved_packets: f.reserved.0 / f.smallest.0.max(1),
            };
            if flow < realtime {
                if account.limit < account.reserved {
                    let (needed, limit) = (f.reserved, Bytes(account.limit));
                    return Err(LinkConfigError::FlowBufferTooSmall { flow, limit, needed });
                }
                committed = committed.saturating_add(account.reserved);
                committed_packets = committed_packets.saturating_add(account.reserved_packets);
                smallest = smallest.min(account.smallest);
            }
            accounts.push(account);
        }
        if committed_packets > MAX_RESERVED_PACKETS {
            let of = |flow: &usize| accounts[*flow].reserved_packets;
            let flow = (0..realtime).max_by_key(of).unwrap_or(0);
            let (packets, needed) = (of(&flow), committed_packets);
            return Err(LinkConfigError::TooManyWaiting { flow, packets, needed });
        }
        if committed > limits.total.0 {
            let (total, needed) = (limits.total, Bytes(committed));
            return Err(LinkConfigError::BufferTooSmall { total, needed });
        }
        let slots = |bytes: u64, smallest: u64| {
            let slots = bytes.div_ceil(smallest).min(MAX_SLOTS as u64);
            slots.next_multiple_of(SLOT_GRAIN)
        };
        let shared = if realtime == 0 { 0 } else { slots(limits.total.0 - committed, smallest) };
        let best_effort = limits.best_effort.0.min(limits.total.0);
        Ok(Buffers {
            accounts: accounts.into_boxed_slice(),
            realtime,
            total: limits.total.0,
            best_effort,
            realtime_used: 0,
            committed,
            committed_packets,
            best_effort_used: 0,
            best_effort_packets: 0,
            realtime_slots: committed_packets.saturating_add(shared),
            best_effort_slots: slots(best_effort, DEFAULT_MIN_PACKET.0),
        })
    }

    /// Maximum number of queued real-time packets.
    pub fn realtime_slots(&self) -> usize {
        usize::try_from(self.realtime_slots).unwrap_or(usize::MAX)
    }

    /// Maximum number of queued best-effort packets.
    pub fn best_effort_slots(&self) -> usize {
        usize::try_from(self.best_effort_slots).unwrap_or(usize::MAX)
    }

    /// Queued bytes of real-time packets and of best-effort packets.
    pub fn used(&self) -> (Bytes, Bytes) {
        (Bytes(self.realtime_used), Bytes(self.best_effort_used))
    }

    /// Queued bytes of one flow or class.
    pub fn flow_used(&self, flow: usize) -> Bytes {
        Bytes(self.accounts.get(flow).map_or(0, |a| a.used))
    }

    /// Requests space for a packet of `bytes` bytes of real-time flow `flow`.
    #[inline]
    pub fn realtime(&mut self, flow: usize, bytes: u32) -> Verdict {
        let Some(account) = self.accounts[..self.realtime].get_mut(flow) else {
            return Verdict::Reject(DropReason::BufferFlow);
        };
        let size = u64::from(bytes).max(account.smallest);
        let used = account.used.saturating_add(size);
        if used > account.limit {
            return Verdict::Reject(DropReason::BufferFlow);
        }
        // Only bytes beyond the flow's reservation are charged to the shared total.
        let committed =
            self.committed + (used.max(account.reserved) - account.used.max(account.reserved));
        if committed > self.total {
            return Verdict::Reject(DropReason::BufferTotal);
        }
        let beyond = u64::from(account.packets >= account.reserved_packets);
        if self.committed_packets + beyond > self.realtime_slots {
            return Verdict::Reject(DropReason::BufferSlots);
        }
        // Real time alone is within the total now, so best effort can always make room.
        if self.realtime_used + size + self.best_effort_used > self.total {
            return Verdict::PushOut;
        }
        account.used = used;
        account.packets += 1;
        self.realtime_used += size;
        self.committed = committed;
        self.committed_packets += beyond;
        Verdict::Accept
    }

    /// Requests space for a packet of `bytes` bytes that is sent as best effort. `flow` is its flow
    /// or class; a demoted packet, whose flow is a real-time flow, counts with the last class.
    #[inline]
    pub fn best_effort(&mut self, flow: usize, bytes: u32) -> Verdict {
        let Some(class) = self.best_effort_account(flow) else {
            return Verdict::Reject(DropReason::BufferFlow);
        };
        let account = &mut self.accounts[class];
        let size = u64::from(bytes).max(account.smallest);
        let used = account.used.saturating_add(size);
        if used > account.limit {
            return Verdict::Reject(DropReason::BufferFlow);
        }
        let all = self.best_effort_used + size;
        if all > self.best_effort {
            return Verdict::Reject(DropReason::BufferBestEffort);
        }
        if self.realtime_used + all > self.total {
            return Verdict::Reject(DropReason::BufferTotal);
        }
        if self.best_effort_packets >= self.best_effort_slots {
            return Verdict::Reject(DropReason::BufferSlots);
        }
        account.used = used;
        account.packets += 1;
        self.best_effort_used = all;
        self.best_effort_packets += 1;
        Verdict::Accept
    }

    /// Releases the space of an accepted packet that was sent or dropped. `realtime` tells whether
    /// it was accepted as real time.
    #[inline]
    pub fn release(&mut self, flow: usize, bytes: u32, realtime: bool) {
        let at = if realtime { Some(flow) } else { self.best_effort_account(flow) };
        let Some(account) = at.and_then(|at| self.accounts.get_mut(at)) else { return };
        let size = u64::from(bytes).max(account.smallest);
        debug_assert!(account.packets > 0 && account.used >= size, "released but never accepted");
        let before = account.used;
        account.used = before.saturating_sub(size);
        account.packets = account.packets.saturating_sub(1);
        if realtime {
            self.realtime_used = self.realtime_used.saturating_sub(size);
            self.committed -= before.max(account.reserved) - account.used.max(account.reserved);
            self.committed_packets -= u64::from(account.packets >= account.reserved_packets);
        } else {
            self.best_effort_used = self.best_effort_used.saturating_sub(size);
            self.best_effort_packets = self.best_effort_packets.saturating_sub(1);
        }
    }

    #[inline]
    fn best_effort_account(&self, flow: usize) -> Option<usize> {
        let last = self.accounts.len().checked_sub(1)?;
        let class = if flow < self.realtime { last } else { flow.min(last) };
        (class >= self.realtime).then_some(class)
    }
}

#[cfg(test)]
mod tests;
