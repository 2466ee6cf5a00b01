//! Why a scheduler could not be set up.

use core::fmt;

use laxity_core::{Bytes, Rate};
use laxity_curve::CurveError;

use super::{FlowQueueing, Group};

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
    /// A class or group is in a group that does not exist.
    UnknownGroup {
        /// The index that it names.
        group: usize,
    },
    /// A group is inside itself.
    GroupCycle {
        /// Index of the group.
        group: usize,
    },
    /// Groups are nested too deep.
    GroupDepth {
        /// Index of the group that is too far up.
        group: usize,
    },
    /// The packets of Fair Service Curve are chosen at each decision, not in advance.
    ChosenLate,
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
            LinkConfigError::UnknownGroup { group } => {
                write!(f, "there is no group {group}; name one that exists")
            }
            LinkConfigError::GroupCycle { group } => {
                write!(f, "group {group} is inside itself; take it out of one of its groups")
            }
            LinkConfigError::GroupDepth { group } => write!(
                f,
                "below group {group} more than {} groups are nested; take some out",
                Group::MAX_DEPTH
            ),
            LinkConfigError::ChosenLate => write!(
                f,
                "fair service curves cannot commit a packet in advance; use `Pipeline::managed`"
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
