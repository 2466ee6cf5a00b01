//! The model of a scenario: every quantity in its newtype, nothing left to parse.

use std::net::IpAddr;
use std::path::PathBuf;

use laxity_core::{Bytes, FlowId, Rate, Span, Weight};

pub use super::service_curve::{CurveForm, FlowCurve, Later};
pub use super::sharing::{ClassCurve, Group, Sharing};
pub use super::tcp::TcpSource;
pub use crate::value::Length;

/// A whole scenario file for a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The file's stem, used in results and titles.
    pub name: String,
    /// Where it was read from, for messages; empty for a scenario made in memory.
    pub path: PathBuf,
    /// The link.
    pub link: Link,
    /// The policy and its options.
    pub policy: PolicyChoice,
    /// Real-time flows in file order.
    pub realtime: Vec<RealtimeFlow>,
    /// Groups of best-effort classes in file order.
    pub groups: Vec<Group>,
    /// Best-effort classes in file order, always ending with the implicit class `other`.
    pub best_effort: Vec<BestEffortClass>,
}

/// `[link]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Rate of the wire.
    pub rate: Rate,
    /// Largest best-effort packet, without `overhead`.
    pub max_packet: Bytes,
    /// Bytes on the wire for each packet beyond its length.
    pub overhead: Bytes,
    /// Least bytes on the wire for a packet, overhead included; zero for none.
    pub min_frame: Bytes,
    /// Credit of a live shaper, as time at link rate; it lengthens blocking.
    pub credit: Span,
    /// Bytes already handed to the device below the scheduler; they lengthen blocking.
    pub in_flight: Bytes,
    /// Limits on waiting packets; derived from the flows when absent.
    pub buffer: Option<Buffer>,
}

/// `[policy]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyChoice {
    /// The policy of the link, by its one name.
    pub use_: String,
    /// Further policies that a simulation runs beside it.
    pub compare: Vec<String>,
    /// Order among best-effort classes.
    pub fair_queue: FairQueue,
    /// The size of the packet that counts as blocking.
    pub blocking: Blocking,
    /// The deadlines that the residual capacity protects.
    pub guarantee: Guarantee,
    /// The release time of a best-effort packet.
    pub release: Release,
    /// The options of the policies, by their own tables; `restart` is one for all.
    pub options: Options,
}

/// The defaults without the section.
impl Default for PolicyChoice {
    fn default() -> PolicyChoice {
        PolicyChoice {
            use_: crate::link::policies::DEFAULT_POLICY.into(),
            compare: Vec::new(),
            fair_queue: FairQueue::default(),
            blocking: Blocking::default(),
            guarantee: Guarantee::default(),
            release: Release::default(),
            options: Options::default(),
        }
    }
}

pub use laxity_curve::{Blocking, Guarantee, ShiftedLine, TwoSegment};
use laxity_link::config::Options;
pub use laxity_link::config::{
    Aqm, Buffer, Excess, FairQueue, FlowQueueing, FscOrder, Hosts, QueueBy, Release, Restart,
    Sojourn,
};

/// `[[realtime]]`
#[derive(Clone, Debug, PartialEq)]
pub struct RealtimeFlow {
    /// Unique over all flows.
    pub name: String,
    /// From conformance to the end of transmission. With a service curve, the delay bound of packets
    /// that conform to the envelope; see [`delay_bound`](Self::delay_bound).
    pub deadline: Span,
    /// The flow's envelope, enforced by its policer. A flow with a service curve may declare none;
    /// this then tells no more than the sizes of its packets and what buffer they have for certain.
    pub envelope: laxity_curve::Envelope,
    /// A service curve, from which the deadlines of its packets follow in place of `deadline`.
    pub service_curve: Option<FlowCurve>,
    /// The treatment of packets beyond the envelope.
    pub excess: Excess,
    /// Order of shedding when the rate falls: the least important flow loses its reservation first.
    pub importance: u32,
    /// Limit of this flow's waiting bytes, within the link's.
    pub buffer: Option<Bytes>,
    /// Its source in a simulation without a trace.
    pub source: Option<Source>,
    /// Which captured packets belong to it.
    pub matches: Option<Match>,
}

/// `[[best_effort]]`
#[derive(Clone, Debug, PartialEq)]
pub struct BestEffortClass {
    /// Unique over all flows.
    pub name: String,
    /// Share among best-effort classes.
    pub weight: Weight,
    /// Bounds the generator only.
    pub envelope: Option<laxity_curve::Envelope>,
    /// Limit of this class's waiting bytes, within the link's.
    pub buffer: Option<Bytes>,
    /// Queues for each of its flows; one FIFO when absent.
    pub flows: Option<FlowQueueing>,
    /// Active queue management.
    pub aqm: Aqm,
    /// Its curve, upper limit and group.
    pub sharing: Sharing,
    /// Its source in a simulation without a trace.
    pub source: Option<Source>,
    /// Which captured packets belong to it.
    pub matches: Option<Match>,
}

/// `source`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Bursts: on and off for uniformly drawn times, while on as fast as the envelope allows.
    OnOff {
        /// Lengths of its packets.
        length: Length,
        /// Least and most time on.
        on: (Span, Span),
        /// Least and most time off.
        off: (Span, Span),
    },
    /// Always as fast as the envelope allows.
    Greedy {
        /// Lengths of its packets.
        length: Length,
    },
    /// One packet each period, moved by a uniform jitter in `[0, jitter]`.
    Periodic {
        /// From packet to packet.
        period: Span,
        /// Lengths of its packets.
        length: Length,
        /// Largest jitter of a packet.
        jitter: Span,
    },
    /// Applications over TCP, of best-effort classes only.
    Tcp(TcpSource),
    /// Packets of this flow's name in a CSV trace.
    Trace {
        /// The file; absolute or relative to the working directory.
        path: PathBuf,
    },
}

/// `match`: every field given must agree; the first flow in file order that agrees takes the
/// packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Differentiated services code point, 0 to 63.
    pub dscp: Option<u8>,
    /// IP protocol number.
    pub protocol: Option<u8>,
    /// Source prefix.
    pub src: Option<Prefix>,
    /// Destination prefix.
    pub dst: Option<Prefix>,
    /// Source ports, both ends included.
    pub sport: Option<(u16, u16)>,
    /// Destination ports, both ends included.
    pub dport: Option<(u16, u16)>,
    /// Firewall mark (live only).
    pub mark: Option<u32>,
    /// Socket priority (live) or VLAN priority code point (captures).
    pub priority: Option<u32>,
}

/// An address prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// How many leading bits count.
    pub bits: u8,
}

impl Scenario {
    /// The names of all flows by [`FlowId`].
    pub fn flow_names(&self) -> impl Iterator<Item = &str> {
        let best_effort = self.best_effort.iter().map(|c| c.name.as_str());
        self.realtime.iter().map(|f| f.name.as_str()).chain(best_effort)
    }

    /// How many flows there are, `other` included.
    pub fn flow_count(&self) -> usize {
        self.realtime.len() + self.best_effort.len()
    }

    /// Whether a flow is real-time.
    pub fn is_realtime(&self, flow: FlowId) -> bool {
        flow.index() < self.realtime.len()
    }

    /// The implicit class of unmatched packets.
    pub fn other(&self) -> FlowId {
        FlowId(self.flow_count() as u32 - 1)
    }
}
