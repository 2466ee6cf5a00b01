//! What a link's scheduler is built from, with every choice made.

use alloc::vec::Vec;

use laxity_core::{Bytes, Rate, Span, Weight};
use laxity_curve::{Blocking, Envelope, Guarantee, ShiftedLine, TwoSegment};

use crate::Wire;

/// Everything a policy is built from.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Rate of the wire.
    pub rate: Rate,
    /// Largest best-effort packet, without overhead. Larger ones are dropped at entry.
    pub max_packet: Bytes,
    /// Bytes on the wire beyond a packet's length.
    pub wire: Wire,
    /// Work below the scheduler that lengthens blocking: shaping credit and bytes in flight.
    pub below: Bytes,
    /// Real-time flows by [`FlowId`](laxity_core::FlowId).
    pub realtime: Vec<RealtimeFlow>,
    /// Best-effort classes; their ids follow the real-time flows'. The last one also takes
    /// demoted packets.
    pub best_effort: Vec<BestEffortClass>,
    /// Limits on waiting bytes; derived from the flows when absent.
    pub buffer: Option<Buffer>,
    /// Order among best-effort classes.
    pub fair_queue: FairQueue,
    /// How blocking by a packet already on the wire is counted.
    pub blocking: Blocking,
    /// Whose deadlines the residual capacity protects.
    pub guarantee: Guarantee,
    /// When a best-effort packet counts as released.
    pub release: Release,
    /// Parameters of single policies.
    pub options: Options,
}

/// A real-time flow.
#[derive(Clone, Debug, PartialEq)]
pub struct RealtimeFlow {
    /// What it may send, in packet lengths.
    pub envelope: Envelope,
    /// From conformance to the end of transmission.
    pub deadline: Span,
    /// What becomes of packets beyond the envelope.
    pub excess: Excess,
    /// Limit of its waiting bytes.
    pub buffer: Option<Bytes>,
}

/// A best-effort class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestEffortClass {
    /// Share of what best effort gets.
    pub weight: Weight,
    /// Limit of its waiting bytes.
    pub buffer: Option<Bytes>,
}

/// How much may wait, in bytes of packet length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Limit over all packets.
    pub total: Bytes,
    /// Limit over best-effort packets.
    pub best_effort: Bytes,
}

/// Parameters of single policies; what is absent is fitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `tbs`: slope.
    pub tbs: Option<Rate>,
    /// `shifted-line`.
    pub shifted_line: Option<ShiftedLine>,
    /// `two-segment`, `algorithm-3`, `algorithm-3-printed`.
    pub two_segment: Option<TwoSegment>,
    /// `slack`: check also while no real-time packet waits.
    pub always_check: bool,
    /// `slack`: a smaller packet of another class may pass a refused head.
    pub pass_refused: bool,
}

/// Order among best-effort classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FairQueue {
    /// Packetised GPS.
    #[default]
    Wfq,
    /// Self-clocked fair queueing.
    Scfq,
    /// Worst-case fair weighted fair queueing.
    Wf2qPlus,
}

/// When a best-effort packet counts as released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// The running maximum of arrival times in served order.
    #[default]
    Arrival,
    /// The instant at which the packet became the head of the aggregate.
    HeadOfLine,
}

/// What becomes of real-time packets beyond their envelope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Excess {
    /// Held back until they conform; the deadline counts from then.
    #[default]
    Delay,
    /// Sent as best effort, in the last class.
    Demote,
    /// Dropped.
    Drop,
}
