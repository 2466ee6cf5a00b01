//! Configuration of a link scheduler, with all defaults resolved.

use alloc::vec::Vec;
use core::fmt;

use laxity_core::{Bytes, Rate, Span, Weight};
use laxity_curve::service::{self, LinkFlow, ServiceCurve, ServiceSpec};
use laxity_curve::{
    Blocking, CurveError, DEFAULT_MIN_PACKET, Envelope, FlowSpec, Guarantee, LinkSpec, Residual,
    ShiftedLine, TwoSegment,
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
    /// Seed of the draws of `pie` and `l4s`, a generator a class.
    pub aqm_seed: u64,
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
    /// A service curve, from which the deadlines of its packets follow in place of `deadline`.
    /// That is then the delay bound of conforming packets; see [`served`](Self::served).
    pub service: Option<Service>,
}

/// The service curve of a real-time flow (SCED); see [`laxity_curve::service`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The curve, counted on the wire.
    pub curve: ServiceCurve,
    /// Whether the envelope is enforced, so that admission may rely on it. If not, all packets are
    /// accepted: excess makes only this flow's packets wait, and the envelope only tells their
    /// sizes and what buffer they have for certain.
    pub policed: bool,
}

/// A best-effort class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestEffortClass {
    /// Share of the best-effort service.
    pub weight: Weight,
    /// Limit on its queued bytes.
    pub buffer: Option<Bytes>,
    /// Queues for each of its flows (RFC 8290); one FIFO when absent. `fifo` and
    /// `proportional-share` ignore it.
    pub flows: Option<FlowQueueing>,
    /// Active queue management. `fifo` and `proportional-share` ignore it.
    pub aqm: Aqm,
}

impl BestEffortClass {
    /// A FIFO without AQM.
    pub const fn new(weight: Weight, buffer: Option<Bytes>) -> BestEffortClass {
        BestEffortClass { weight, buffer, flows: None, aqm: Aqm::None }
    }

    /// Whether its packet is chosen at each decision instead of being committed in advance.
    pub fn is_managed(&self) -> bool {
        self.flows.is_some() || self.aqm != Aqm::None
    }
}

/// The fields that make packets of a class one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueBy {
    /// Addresses, protocol and ports: `5-tuple`.
    #[default]
    FiveTuple,
    /// The source address: `source`.
    Source,
    /// The destination address: `destination`.
    Destination,
    /// The 5-tuple, with the flows of a host sharing what one host gets: `host-and-flow`.
    HostAndFlow,
}

/// Which ends count as hosts under [`QueueBy::HostAndFlow`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    /// Sources: `source`.
    Source,
    /// Destinations: `destination`.
    Destination,
    /// Both, the one with more flows deciding, as CAKE's `triple-isolate`: `both`.
    #[default]
    Both,
}

/// Flow queues of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowQueueing {
    /// The fields that make packets one flow. The caller hashes them into [`Packet::key`](crate::Packet::key).
    pub by: QueueBy,
    /// Which ends are isolated under [`QueueBy::HostAndFlow`].
    pub hosts: Hosts,
    /// Number of queues: a power of two of [`MIN_QUEUES`](Self::MIN_QUEUES) to
    /// [`MAX_QUEUES`](Self::MAX_QUEUES).
    pub queues: u32,
}

impl FlowQueueing {
    /// Default of [`queues`](Self::queues), as of RFC 8290, section 5.2.3.
    pub const QUEUES: u32 = 1024;
    /// Fewest queues.
    pub const MIN_QUEUES: u32 = 64;
    /// Most queues.
    pub const MAX_QUEUES: u32 = 4096;
}

impl Default for FlowQueueing {
    fn default() -> FlowQueueing {
        let queues = FlowQueueing::QUEUES;
        FlowQueueing { by: QueueBy::default(), hosts: Hosts::default(), queues }
    }
}

/// How long a packet counts as having waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sojourn {
    /// Since its arrival: `raw`.
    Raw,
    /// Since its arrival, without the time in which real-time packets were sent: `link`.
    Link,
}

/// Active queue management of a class.
///
/// `sojourn` is [`Sojourn::Raw`] when absent, but [`Sojourn::Link`] for `pie` and `l4s` under a
/// policy under which best effort never goes before real time (`background`): raw time would cost
/// half its throughput there. With `ecn` the AQM marks ECN-capable packets instead of dropping
/// them. With `ingress` a packet that it drops occupies the link as if it had been sent, which
/// keeps a queue ahead of this link short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aqm {
    /// None: `none`.
    #[default]
    None,
    /// CoDel (RFC 8289): `codel`. One controller for each flow queue.
    Codel {
        /// Round-trip time of the flows, from which the others follow.
        rtt: Span,
        /// Standing delay that is acceptable; at least `rtt / 20` and 4 packet times when absent.
        target: Option<Span>,
        /// How long the delay may exceed the target; `rtt` when absent, never below 2 targets.
        interval: Option<Span>,
        /// Whether packets are marked.
        ecn: bool,
        /// Measure of the delay.
        sojourn: Option<Sojourn>,
        /// Whether dropped packets are charged.
        ingress: bool,
    },
    /// PI2 (RFC 8033 with the square of RFC 9332): `pie`. One controller for the class.
    Pie {
        /// Delay that is aimed at; 15 ms when absent.
        target: Option<Span>,
        /// Whether packets are marked.
        ecn: bool,
        /// Measure of the delay.
        sojourn: Option<Sojourn>,
        /// Whether dropped packets are charged.
        ingress: bool,
    },
    /// The coupled dual queue (RFC 9332), or with flow queues a step for ECT(1) beside CoDel:
    /// `l4s`.
    L4s {
        /// Delay that is aimed at for classic traffic; 15 ms when absent, with flow queues
        /// CoDel's.
        target: Option<Span>,
        /// Round-trip time of classic flows, for CoDel in flow queues.
        rtt: Span,
        /// Delay above which ECT(1) is marked; the greater of 1 ms and 2 packet times when absent.
        step: Option<Span>,
        /// Whether classic packets are marked.
        ecn: bool,
        /// Measure of the delay.
        sojourn: Option<Sojourn>,
        /// Whether dropped packets are charged.
        ingress: bool,
    },
}

impl Aqm {
    /// Default round-trip time (RFC 8289, section 4.4): 100 ms.
    pub const RTT: Span = Span(100_000_000);
    /// Default target of `pie` and `l4s` (RFC 9332, appendix A.1): 15 ms.
    pub const PI2_TARGET: Span = Span(15_000_000);
    /// Least default step of `l4s`: 1 ms.
    pub const STEP: Span = Span(1_000_000);

    /// CoDel with its defaults.
    pub const CODEL: Aqm = Aqm::Codel {
        rtt: Aqm::RTT,
        target: None,
        interval: None,
        ecn: true,
        sojourn: None,
        ingress: false,
    };
    /// PI2 with its defaults.
    pub const PIE: Aqm = Aqm::Pie { target: None, ecn: true, sojourn: None, ingress: false };
    /// L4S with its defaults.
    pub const L4S: Aqm = Aqm::L4s {
        target: None,
        rtt: Aqm::RTT,
        step: None,
        ecn: true,
        sojourn: None,
        ingress: false,
    };
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
    pub allow_overtaking: bool,
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
            allow_overtaking: false,
        }
    }
}

/// Order among best-effort classes.
///
/// Where packets are chosen at each decision (a class has `flows` or `aqm`), `wfq` is `wf2q+`: the
/// fluid server of PGPS needs the order of the packets in advance.
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
    /// The number of flow queues is no power of two, or out of range.
    FlowQueues {
        /// Index of the class.
        class: usize,
        /// The number.
        queues: u32,
    },
    /// Curves could not be computed.
    Curve(CurveError),
    /// The policy serves no flows with service curves.
    ServiceCurve {
        /// Index of the first such flow.
        flow: usize,
    },
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
            LinkConfigError::FlowQueues { class, queues } => write!(
                f,
                "best-effort class {class} cannot have {queues} flow queues; give a power of two \
                 from {} to {}",
                FlowQueueing::MIN_QUEUES,
                FlowQueueing::MAX_QUEUES
            ),
            LinkConfigError::Curve(e) => e.fmt(f),
            LinkConfigError::ServiceCurve { flow } => write!(
                f,
                "this policy cannot keep the service curve of real-time flow {flow}; choose \
                 `exact`, `slack` or another policy by EDF, or give the flow a deadline"
            ),
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
            | LinkConfigError::ServiceCurve { flow }
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
    /// A flow with a service curve. Its `deadline` is the delay bound of packets that conform to
    /// the envelope, the horizontal deviation `h(A, S)` on the wire, rounded up.
    ///
    /// # Errors
    /// [`CurveError::Shape`] when the delay has no bound, since the envelope's rate exceeds the
    /// curve's, or numbers beyond 128 bits.
    pub fn served(
        envelope: Envelope,
        service: Service,
        wire: Wire,
        excess: Excess,
        buffer: Option<Bytes>,
    ) -> Result<RealtimeFlow, CurveError> {
        let on_wire = wire.envelope(&envelope)?.curve()?;
        let Some(delay) = on_wire.delay(service.curve.curve())? else {
            return Err(CurveError::Shape { needs: "at least as fast as the envelope's rate" });
        };
        let out_of_range = CurveError::OutOfRange { what: "the delay bound, at most 2^64 ns" };
        let deadline = Span(u64::try_from(delay.ceil()).map_err(|_| out_of_range)?);
        Ok(RealtimeFlow { envelope, deadline, excess, buffer, service: Some(service) })
    }

    /// The flow as the admission test of a link with this framing sees it.
    ///
    /// # Errors
    /// When its envelope on the wire leaves the range of its type, or as [`ServiceSpec::new`].
    pub fn link_flow(&self, wire: Wire) -> Result<LinkFlow, CurveError> {
        let envelope = wire.envelope(&self.envelope)?;
        let Some(service) = &self.service else {
            return Ok(LinkFlow::Deadline(FlowSpec { envelope, deadline: self.deadline }));
        };
        let smallest = wire.of_bytes(self.smallest_served());
        let largest = wire.of_bytes(self.envelope.max_packet());
        let spec = ServiceSpec::new(service.curve.clone(), smallest, largest)?;
        Ok(LinkFlow::Service(match service.policed {
            true => spec.with_envelope(envelope),
            false => spec,
        }))
    }

    /// The length at which its smallest packets count under a service curve.
    pub(crate) fn smallest_served(&self) -> Bytes {
        match &self.envelope {
            Envelope::Buckets { min_packet, .. } => *min_packet,
            Envelope::Periodic { size, .. } => DEFAULT_MIN_PACKET.min(*size),
        }
    }

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

    /// The flows as the admission test sees them: counted on the wire. Of a flow with a service
    /// curve envelope and delay bound; its curve is in [`link_flows`](Self::link_flows).
    ///
    /// # Errors
    /// When an envelope on the wire leaves the range of its type.
    pub fn flow_specs(&self) -> Result<Vec<FlowSpec>, CurveError> {
        let flow = |f: &RealtimeFlow| {
            let envelope = self.wire.envelope(&f.envelope)?;
            Ok(FlowSpec { envelope, deadline: f.deadline })
        };
        self.realtime.iter().map(flow).collect()
    }

    /// The same with service curves as such, for
    /// [`check_flows`](laxity_curve::service::check_flows).
    ///
    /// # Errors
    /// When an envelope on the wire leaves the range of its type.
    pub fn link_flows(&self) -> Result<Vec<LinkFlow>, CurveError> {
        self.realtime.iter().map(|f| f.link_flow(self.wire)).collect()
    }

    /// Residual capacity of the link beside the real-time flows.
    ///
    /// # Errors
    /// When the flows ask for more than the link in the long run, or a curve overflows.
    pub fn residual(&self) -> Result<Residual, CurveError> {
        service::residual(&self.link_spec(), &self.link_flows()?)
    }
}
