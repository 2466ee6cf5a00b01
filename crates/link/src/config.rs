//! What a link's scheduler is built from, with every choice made.

use alloc::vec::Vec;
use core::fmt;

use laxity_core::{Bytes, Rate, Span, Weight};
use laxity_curve::{
    Blocking, CurveError, Envelope, FlowSpec, Guarantee, LinkSpec, Residual, ShiftedLine,
    TwoSegment,
};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// `tbs`: slope.
    pub tbs: Option<Rate>,
    /// `shifted-line`.
    pub shifted_line: Option<ShiftedLine>,
    /// `two-segment`, `algorithm-3`, `algorithm-3-printed`.
    pub two_segment: Option<TwoSegment>,
    /// When deadlines restart.
    pub restart: Restart,
    /// `slack`: check also while no real-time packet waits.
    pub always_check: bool,
    /// `slack` with `always_check`: how long a flow must be silent before best effort may go although
    /// the flow's next packets are then held back until its end; 0 for never.
    pub release_idle: Span,
    /// `slack`: a smaller packet of another class may pass a refused head.
    pub pass_refused: bool,
}

impl Options {
    /// What [`release_idle`](Self::release_idle) is where nothing else is said: 1 s.
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

/// When the history from which best-effort deadlines follow begins again; see
/// [`assign`](crate::assign).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// As soon as the policy has it.
    #[default]
    Sooner,
    /// When nothing waits and the link idles.
    Idle,
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

/// Why a scheduler could not be set up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupError {
    /// There must be a class for what matches nothing.
    NoBestEffortClass,
    /// A weight of zero would never be served.
    ZeroWeight {
        /// Index of the class.
        class: usize,
    },
    /// The buffer cannot hold what conforming real-time packets may need at once.
    BufferTooSmall {
        /// The limit over all packets.
        total: Bytes,
        /// What the real-time flows alone may need.
        needed: Bytes,
    },
    /// A flow's own limit is below what it may need while it conforms.
    FlowBufferTooSmall {
        /// Index of the flow.
        flow: usize,
        /// Its limit.
        limit: Bytes,
        /// What it may need.
        needed: Bytes,
    },
    /// Within their deadlines more conforming real-time packets may wait than there is room for.
    TooManyWaiting {
        /// Index of the flow that may have the most.
        flow: usize,
        /// How many of its packets may wait.
        packets: u64,
        /// How many of all flows may.
        needed: u64,
    },
    /// Curves could not be computed.
    Curve(CurveError),
    /// Proportional share: no rate below the link's is enough for this flow's deadline.
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

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::NoBestEffortClass => {
                write!(f, "there is no best-effort class; add one for what matches nothing")
            }
            SetupError::ZeroWeight { class } => write!(
                f,
                "best-effort class {class} has weight 0 and would never be served; raise it"
            ),
            SetupError::BufferTooSmall { total, needed } => write!(
                f,
                "the buffer of {total} is smaller than the {needed} that conforming real-time \
                 packets may need; raise link.buffer.total"
            ),
            SetupError::FlowBufferTooSmall { flow, limit, needed } => write!(
                f,
                "real-time flow {flow} may need {needed} while it conforms, more than its \
                 buffer of {limit}; raise or remove it"
            ),
            SetupError::TooManyWaiting { flow, packets, needed } => write!(
                f,
                "{packets} packets of real-time flow {flow} may wait within its deadline, {needed} \
                 of all flows, and {} can; shorten its `deadline`, lower `burst` or `rate` of its \
                 envelope, or raise the envelope's `min_packet`",
                crate::buffer::MOST_RESERVED
            ),
            SetupError::Curve(e) => e.fmt(f),
            SetupError::NoSufficientRate { flow } => write!(
                f,
                "proportional share cannot keep the deadline of real-time flow {flow} at any \
                 rate of this link; lengthen the deadline or use EDF"
            ),
            SetupError::RatesExceedLink { sum, link } => write!(
                f,
                "proportional share needs {sum} for the deadlines, the link has {link}; lengthen \
                 deadlines or use EDF"
            ),
        }
    }
}

impl core::error::Error for SetupError {}

impl SetupError {
    /// The real-time flow that it is about, if it is about one.
    pub fn flow(&self) -> Option<usize> {
        match self {
            SetupError::FlowBufferTooSmall { flow, .. }
            | SetupError::TooManyWaiting { flow, .. }
            | SetupError::NoSufficientRate { flow } => Some(*flow),
            _ => None,
        }
    }
}

impl From<CurveError> for SetupError {
    fn from(e: CurveError) -> Self {
        SetupError::Curve(e)
    }
}

impl RealtimeFlow {
    /// What its smallest packets count as with its policer.
    pub fn smallest_counted(&self) -> Bytes {
        match &self.envelope {
            Envelope::Buckets { min_packet, .. } => *min_packet,
            // One packet a period whatever its size, so each counts as the largest.
            Envelope::Periodic { size, .. } => *size,
        }
    }
}

impl Setup {
    /// The link as admission sees it. `slack` with `always-check` never lets a best-effort packet
    /// block, so admission may then leave it out: pass zero for `best_effort_packet`.
    pub fn link_spec(&self) -> LinkSpec {
        LinkSpec {
            rate: self.rate,
            best_effort_packet: self.wire.of_bytes(self.max_packet),
            below: self.below,
            blocking: self.blocking,
        }
    }

    /// The flows as admission sees them: counted on the wire.
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

    /// What the real-time flows leave of the link.
    ///
    /// # Errors
    /// When the flows ask for more than the link in the long run, or a curve overflows.
    pub fn residual(&self) -> Result<Residual, CurveError> {
        Residual::new(&self.link_spec(), &self.flow_specs()?)
    }
}
