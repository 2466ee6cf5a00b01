//! What a certificate is about, and its proof.

use crate::Line;

/// What a certificate is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Facts {
    /// A link.
    Link(LinkFacts),
    /// A CPU.
    Cpu(CpuFacts),
    /// CPUs that share a queue.
    Cluster(ClusterFacts),
}

/// The proof in a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Of a link.
    Link(LinkProof),
    /// Of a CPU.
    Cpu(CpuProof),
    /// Of CPUs that share a queue.
    Cluster(ClusterProof),
}

/// A link and its real-time flows, all bytes on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFacts {
    /// Rate in bit/s.
    pub rate: u64,
    /// The largest best-effort packet in bytes.
    pub best_effort: u64,
    /// The most bytes below the scheduler.
    pub backlog: u64,
    /// Whether the largest packet of all blocks in every interval (`blocking = "paper"`).
    pub paper: bool,
    /// The real-time flows.
    pub flows: Vec<Flow>,
}

/// A real-time flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its name, without line breaks; only for messages.
    pub name: String,
    /// The largest packet in bytes.
    pub packet: u64,
    /// What it is promised.
    pub promise: Promise,
}

/// What a flow is promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Promise {
    /// A deadline for traffic within an envelope.
    Deadline {
        /// Relative deadline in ns.
        deadline: u64,
        /// Its envelope.
        envelope: Envelope,
    },
    /// Service, whatever it sends.
    Service(Service),
}

/// A service curve, and the envelope of the flow if it is policed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The smallest packet in bytes.
    pub smallest: u64,
    /// The lines of the curve, from 0 on.
    pub pieces: Vec<Piece>,
    /// Token buckets (burst in bytes, rate in bit/s), in the order in which they bind; none where the flow is
    /// not policed.
    pub buckets: Vec<(u64, u64)>,
}

/// From `from` on the line `(level + rise * t) / over`, in nanobits after `t` ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Begin in ns: numerator and denominator.
    pub from: (i128, i128),
    /// Nanobits at 0, times `over`.
    pub level: i128,
    /// bit/s, times `over`.
    pub rise: i128,
    /// Denominator.
    pub over: i128,
}

/// An upper bound on the bytes of a flow in an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// The minimum of token buckets (burst in bytes, rate in bit/s), in the order in which they bind.
    Buckets(Vec<(u64, u64)>),
    /// A packet each period, each up to the jitter late.
    Periodic {
        /// Bytes.
        size: u64,
        /// Nanoseconds.
        period: u64,
        /// Nanoseconds.
        jitter: u64,
    },
}

/// The proof that a link admits its flows. Ticks are the times in which the link sends a nanobit: a
/// nanosecond has as many as the rate is in bit/s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkProof {
    /// For each flow.
    pub flows: Vec<FlowProof>,
    /// The tick after the last step that is followed, or 0.
    pub horizon: i128,
    /// The largest packet in bytes that may block the shortest interval.
    pub blocks: i128,
    /// Until when in ns a packet may block, and the largest in bytes that may from then on.
    pub then_blocks: Vec<(i128, i128)>,
    /// The residual curve `E` for best effort: nanobits times the rate, over ticks.
    pub curve: Vec<Line>,
    /// The tick at which the residual is least.
    pub binding: i128,
    /// The residual there in nanobits times the rate.
    pub residual: i128,
}

/// What a proof says about the demand of a flow, on links, or of a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowProof {
    /// The ticks from which the next bucket binds.
    Corners(Vec<i128>),
    /// The number of steps that are followed.
    Steps(i128),
    /// Of a service curve.
    Service {
        /// The first tick at which the curve reaches the smallest packet.
        first: i128,
        /// The number of lines of the demand in whole packets that are followed.
        steps: i128,
    },
}

/// A CPU with a queue of its own, and its hard reservations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuFacts {
    /// Its number, where the scenario has several.
    pub number: Option<u32>,
    /// Since when the reservations are in force, in ns.
    pub from: u64,
    /// A whole CPU, in the units in which shares are given.
    pub unit: u64,
    /// The share that best effort keeps, in these units.
    pub best_effort: u64,
    /// The reservations.
    pub reservations: Vec<Reservation>,
}

/// A reservation, in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Name of its task, without line breaks.
    pub name: String,
    /// CPU time.
    pub budget: u64,
    /// Least distance between releases.
    pub period: u64,
    /// Relative deadline, at most the period.
    pub deadline: u64,
}

/// The proof that a CPU admits its reservations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuProof {
    /// Parts of a CPU in which shares are counted: a multiple of the unit.
    pub parts: i128,
    /// The share that reservations with deadlines shorter than periods have together, in parts.
    pub short: i128,
    /// For each of these the number of jobs that are followed after the first.
    pub steps: Vec<i128>,
    /// The ns after the last job that is followed is due, or 0.
    pub horizon: i128,
}

/// CPUs that share a queue, and their hard reservations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterFacts {
    /// Its number, where the scenario has several.
    pub number: Option<u32>,
    /// How many CPUs it has.
    pub cpus: u32,
    /// Since when the reservations are in force, in ns.
    pub from: u64,
    /// A whole CPU, in the units in which shares are given.
    pub unit: u64,
    /// The share of each CPU that best effort keeps, in these units.
    pub best_effort: u64,
    /// The reservations.
    pub reservations: Vec<Reservation>,
}

/// The proof that a cluster admits its reservations: the numbers of the GFB test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterProof {
    /// Parts of a CPU in which densities are counted: a multiple of the unit.
    pub parts: i128,
    /// The sum of densities, in parts.
    pub sum: i128,
    /// The greatest density, in parts.
    pub largest: i128,
}

/// A name without line breaks, as it is printed.
pub(crate) fn printed(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    name.trim().to_owned()
}
