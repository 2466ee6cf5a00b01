//! Configuration of a link scheduler, with all defaults resolved.

use alloc::vec::Vec;
use core::fmt;

use laxity_core::{Bytes, Rate, Span, Weight};
use laxity_curve::{
    Blocking, CurveError, Envelope, FlowSpec, Guarantee, LinkSpec, Residual, ShiftedLine,
    TwoSegment,
};

use crate::Wire;

/// Link, flows, classes and options from which a policy is built.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Rate of the wire.
    pub rate: Rate,
    /// Largest best-effort packet, without overhead. Larger ones are dropped at entry.
    pub max_packet: Bytes,
    /// Framing overhead of a packet on the wire.
    pub wire: Wire,
    /// Work downstream of the scheduler (shaping credit and bytes in flight), which lengthens
    /// blocking.
    pub downstream_backlog: Bytes,
    /// Real-time flows by [`FlowId`](laxity_core::FlowId).
    pub realtime: Vec<RealtimeFlow>,
    /// Best-effort classes; their ids follow the real-time flows'. The last one also takes
    /// demoted packets.
    pub best_effort: Vec<BestEffortClass>,
    /// Limits on queued bytes; derived from the flows when absent.
    pub buffer: Option<Buffer>,
    /// Order among best-effort classes.
    pub fair_queue: FairQueue,
    /// How blocking by a packet already on the wire is counted.
    pub blocking: Blocking,
    /// Set of flows whose deadlines the residual capacity protects.
    pub guarantee: Guarantee,
    /// When a best-effort packet counts as released.
    pub release: Release,
    /// Policy-specific parameters.
    pub options: Options,
}

/// A real-time flow.
#[derive(Clone, Debug, PartialEq)]
pub struct RealtimeFlow {
    /// Arrival curve of the flow, in packet lengths.
    pub envelope: Envelope,
    /// Relative deadline: from conformance to the end of transmission.
    pub deadline: Span,
    /// Treatment of packets beyond the envelope.
    pub excess: Excess,
    /// Limit on its queued bytes.
    pub buffer: Option<Bytes>,
}

/// A best-effort class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestEffortClass {
    /// Share of the best-effort service.
    pub weight: Weight,
    /// Limit on its queued bytes.
    pub buffer: Option<Bytes>,
}

/// Limits on queued bytes, in packet lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Limit over all packets.
    pub total: Bytes,
    /// Limit over best-effort packets.
    pub best_effort: Bytes,
}

/// Policy-specific parameters; absent ones are fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// `tbs`: slope.
    pub tbs: Option<Rate>,
    /// `shifted-line`.
    pub shifted_line: Option<ShiftedLine>,
    /// `two-segment`, `algorithm-3`, `algorithm-3-printed`.
    pub two_segment: Option<TwoSegment>,
    /// Condition under which best-effort deadlines restart.
    pub restart: Restart,
    /// `slack`: check also while no real-time packet waits.
    pub always_check: bool,
    /// `slack` with `always_check`: silence after which a flow lends its reserved capacity to best
    /// effort, so that its next packets are held back until the end of the best-effort packet; 0
    /// for never.
    pub release_idle: Span,
    /// `slack`: a smaller packet of another class may pass a refused head.
    pub pass_refused: bool,
}

impl Options {
    /// Default of [`release_idle`](Self::release_idle): 1 s.
    pub const RELEASE_IDLE: Span = Span(1_000_000_000);
}

impl Default for Options {
    fn default() -> Options {
        Options {
            tbs: None,
            shifted_line: None,
            two_segment: None,
            restart: Restart::default(),
            always_check: false,
            release_idle: Options::RELEASE_IDLE,
            pass_refused: false,
        }
    }
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

/// Condition under which the history behind best-effort deadlines restarts; see
/// [`assign`](crate::assign).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// As soon as the policy allows it.
    #[default]
    Sooner,
    /// When the queues are empty and the link idles.
    Idle,
}

/// Treatment of real-time packets beyond their envelope.
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

/// Why a scheduler could not be set up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkConfigError {
    /// There is no best-effort class, so packets that match no rule would have no class.
    NoBestEffortClass,
    /// A class has weight zero and would never be served.
    ZeroWeight {
        /// Index of the class.
        class: usize,
    },
    /// The buffer is smaller than the backlog bound of conforming real-time packets.
    BufferTooSmall {
        /// The limit over all packets.
        total: Bytes,
        /// Backlog bound of the real-time flows.
        needed: Bytes,
    },
    /// A flow's own limit is below its backlog bound.
    FlowBufferTooSmall {
        /// Index of the flow.
        flow: usize,
        /// Its limit.
        limit: Bytes,
        /// Its backlog bound.
        needed: Bytes,
    },
    /// The backlog bound of conforming real-time packets exceeds the number of packet slots.
    TooManyWaiting {
        /// Index of the flow with the largest bound.
        flow: usize,
        /// Its backlog bound in packets.
        packets: u64,
        /// The backlog bound of all flows.
        needed: u64,
    },
    /// Curves could not be computed.
    Curve(CurveError),
    /// Proportional share: no rate below the link's keeps this flow's deadline.
    NoSufficientRate {
        /// Index of the flow.
        flow: usize,
    },
    /// Proportional share: the sufficient rates of all flows exceed the link's.
    RatesExceedLink {
        /// Their sum.
        sum: Rate,
        /// The link's rate.
        link: Rate,
    },
}

impl fmt::Display for LinkConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkConfigError::NoBestEffortClass => {
                write!(f, "there is no best-effort class; add one for what matches nothing")
            }
            LinkConfigError::ZeroWeight { class } => write!(
                f,
                "best-effort class {class} has weight 0 and would never be served; raise it"
            ),
            LinkConfigError::BufferTooSmall { total, needed } => write!(
                f,
                "the buffer of {total} is smaller than the {needed} that conforming real-time \
                 packets may need; raise link.buffer.total"
            ),
            LinkConfigError::FlowBufferTooSmall { flow, limit, needed } => write!(
                f,
                "real-time flow {flow} may need {needed} while it conforms, more than its \
                 buffer of {limit}; raise or remove it"
            ),
            LinkConfigError::TooManyWaiting { flow, packets, needed } => write!(
                f,
                "{packets} packets of real-time flow {flow} may wait within its deadline, {needed} \
                 of all flows, and {} can; shorten its `deadline`, lower `burst` or `rate` of its \
                 envelope, or raise the envelope's `min_packet`",
                crate::buffer::MAX_RESERVED_PACKETS
            ),
            LinkConfigError::Curve(e) => e.fmt(f),
            LinkConfigError::NoSufficientRate { flow } => write!(
                f,
                "proportional share cannot keep the deadline of real-time flow {flow} at any \
                 rate of this link; lengthen the deadline or use EDF"
            ),
            LinkConfigError::RatesExceedLink { sum, link } => write!(
                f,
                "proportional share needs {sum} for the deadlines, the link has {link}; lengthen \
                 deadlines or use EDF"
            ),
        }
    }
}

impl core::error::Error for LinkConfigError {}

impl LinkConfigError {
    /// The real-time flow that the error concerns, if any.
    pub fn flow(&self) -> Option<usize> {
        match self {
            LinkConfigError::FlowBufferTooSmall { flow, .. }
            | LinkConfigError::TooManyWaiting { flow, .. }
            | LinkConfigError::NoSufficientRate { flow } => Some(*flow),
            _ => None,
        }
    }
}

impl From<CurveError> for LinkConfigError {
    fn from(e: CurveError) -> Self {
        LinkConfigError::Curve(e)
    }
}

impl RealtimeFlow {
    /// Length at which the policer counts the flow's smallest packets.
    pub fn smallest_counted(&self) -> Bytes {
        match &self.envelope {
            Envelope::Buckets { min_packet, .. } => *min_packet,
            // One packet per period whatever its size, so each counts as the largest.
            Envelope::Periodic { size, .. } => *size,
        }
    }
}

impl LinkConfig {
    /// The link as the admission test sees it. Under `slack` with `always-check` best effort never
    /// blocks, so admission may leave its blocking out: set `best_effort_packet` to zero.
    pub fn link_spec(&self) -> LinkSpec {
        LinkSpec {
            rate: self.rate,
            best_effort_packet: self.wire.of_bytes(self.max_packet),
            downstream_backlog: self.downstream_backlog,
            blocking: self.blocking,
        }
    }

    /// The flows as the admission test sees them: counted on the wire.
    ///
    /// # Errors
    /// When an envelope on the wire leaves the range of its type.
    pub fn flow_specs(&self) -> Result<Vec<FlowSpec>, CurveError> {
        let overhead = Bytes(u64::from(self.wire.overhead));
        let min_frame = Bytes(u64::from(self.wire.min_frame));
        let flow = |f: &RealtimeFlow| {
            let envelope = f.envelope.on_wire(overhead, min_frame)?;
            Ok(FlowSpec { envelope, deadline: f.deadline })
        };
        self.realtime.iter().map(flow).collect()
    }

    /// Residual capacity of the link beside the real-time flows.
    ///
    /// # Errors
    /// When the flows ask for more than the link in the long run, or a curve overflows.
    pub fn residual(&self) -> Result<Residual, CurveError> {
        Residual::new(&self.link_spec(), &self.flow_specs()?)
    }
}
