//! The configuration of a device, in base units: bit/s, bytes, ns.

use crate::{Handle, Place};

/// The configuration of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Its disciplines, the root first.
    pub qdiscs: Vec<Qdisc>,
    /// Its classes, those that a discipline makes for its flows included.
    pub classes: Vec<Class>,
    /// Its filters that lead to a class.
    pub filters: Vec<Filter>,
    /// The device, where the dump names it.
    pub device: Option<String>,
    /// Whether values come from the text form, which has three or four digits.
    pub rounded: bool,
}

/// A discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Its handle; `0:` where the kernel made it.
    pub handle: Handle,
    /// The class it is attached to; `None` at the root.
    pub parent: Option<Handle>,
    /// Its kind and options.
    pub options: QdiscOptions,
    /// How it counts sizes, where not as queued (`stab`).
    pub size_table: Option<SizeTable>,
    /// Packets that it dropped.
    pub drops: u64,
    /// Where it was read.
    pub place: Place,
}

/// How a discipline counts the size of packets (tc-stab(8)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeTable {
    /// Bytes added to each packet.
    pub overhead: i64,
    /// Each packet counts at least as this many bytes.
    pub mpu: u64,
    /// Whether packets count in cells of ATM.
    pub cells: bool,
}

/// Packets or bytes of a FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(u64),
}

/// Transmit queues of a traffic class: the first and how many.
pub type Queues = (u64, u64);

/// Token buckets of TBF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tbf {
    /// Rate in bit/s.
    pub rate: u64,
    /// Burst in bytes.
    pub burst: u64,
    /// Peak rate in bit/s and its burst in bytes.
    pub peak: Option<(u64, u64)>,
    /// Bytes added to each packet.
    pub overhead: i64,
    /// Each packet counts at least as this many bytes.
    pub mpu: u64,
}

/// Options of a discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QdiscOptions {
    /// HFSC.
    Hfsc {
        /// Minor number of the class for unclassified packets.
        default: u16,
    },
    /// HTB.
    Htb {
        /// Minor number of the class for unclassified packets.
        default: u16,
        /// Packets sent past all classes.
        direct_packets: u64,
    },
    /// Strict priority.
    Prio {
        /// How many bands.
        bands: u64,
        /// Band of each priority.
        priomap: Vec<u64>,
    },
    /// Token bucket filter.
    Tbf(Tbf),
    /// Credit-based shaper (IEEE 802.1Q): slopes in bit/s, credits in bytes.
    Cbs {
        /// Idle slope.
        idle: i64,
        /// Send slope, negative.
        send: i64,
        /// Largest credit.
        hicredit: i64,
        /// Whether the device shapes.
        offload: bool,
    },
    /// Earliest TxTime first.
    Etf,
    /// Gates (IEEE 802.1Qbv).
    Taprio {
        /// Queues of each traffic class.
        queues: Vec<Queues>,
        /// Gate mask and duration in ns.
        gates: Vec<(u64, u64)>,
        /// Cycle in ns.
        cycle: u64,
        /// Flags: 1 is transmission times, 2 is full offload.
        flags: u64,
    },
    /// Traffic classes on queues of the device.
    Mqprio {
        /// Queues of each traffic class.
        queues: Vec<Queues>,
    },
    /// Fair queueing of sockets with pacing.
    Fq,
    /// Flow queues with CoDel.
    FqCodel,
    /// CAKE.
    Cake {
        /// Shaper in bit/s.
        bandwidth: Option<u64>,
    },
    /// Deficit round robin.
    Drr,
    /// Enhanced transmission selection (IEEE 802.1Qaz).
    Ets {
        /// Bands.
        bands: u64,
        /// How many of them are strict.
        strict: u64,
        /// Quanta in bytes of the others.
        quanta: Vec<u64>,
        /// Band of each priority.
        priomap: Vec<u64>,
    },
    /// Quick fair queueing.
    Qfq,
    /// A FIFO.
    Fifo(Limit),
    /// Three FIFOs by priority.
    PfifoFast,
    /// No queue.
    Noqueue,
    /// A kind whose options are not read.
    Other(String),
}

impl QdiscOptions {
    /// The kind as `tc` names it.
    pub fn kind(&self) -> &str {
        match self {
            QdiscOptions::Hfsc { .. } => "hfsc",
            QdiscOptions::Htb { .. } => "htb",
            QdiscOptions::Prio { .. } => "prio",
            QdiscOptions::Tbf(_) => "tbf",
            QdiscOptions::Cbs { .. } => "cbs",
            QdiscOptions::Etf => "etf",
            QdiscOptions::Taprio { .. } => "taprio",
            QdiscOptions::Mqprio { .. } => "mqprio",
            QdiscOptions::Fq => "fq",
            QdiscOptions::FqCodel => "fq_codel",
            QdiscOptions::Cake { .. } => "cake",
            QdiscOptions::Drr => "drr",
            QdiscOptions::Ets { .. } => "ets",
            QdiscOptions::Qfq => "qfq",
            QdiscOptions::Fifo(Limit::Packets(_)) => "pfifo",
            QdiscOptions::Fifo(Limit::Bytes(_)) => "bfifo",
            QdiscOptions::PfifoFast => "pfifo_fast",
            QdiscOptions::Noqueue => "noqueue",
            QdiscOptions::Other(kind) => kind,
        }
    }
}

/// A curve of HFSC: slope `m1` for `d`, then `m2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoPiece {
    /// First slope in bit/s.
    pub m1: u64,
    /// Time between the slopes in ns.
    pub d: u64,
    /// Second slope in bit/s.
    pub m2: u64,
}

/// Options of a class of HTB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbClass {
    /// Priority; smaller goes first. Inner classes have none.
    pub prio: Option<u64>,
    /// Rate in bit/s.
    pub rate: u64,
    /// Ceiling in bit/s.
    pub ceil: u64,
    /// Burst of the rate in bytes.
    pub burst: u64,
    /// Burst of the ceiling in bytes.
    pub cburst: u64,
    /// Bytes added to each packet.
    pub overhead: i64,
    /// Each packet counts at least as this many bytes.
    pub mpu: u64,
    /// Whether packets count in cells of ATM.
    pub cells: bool,
}

/// Options of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClassOptions {
    /// HFSC: real-time, link-sharing and upper-limit curve.
    Hfsc {
        /// Real-time curve.
        rt: Option<TwoPiece>,
        /// Link-sharing curve.
        ls: Option<TwoPiece>,
        /// Upper limit.
        ul: Option<TwoPiece>,
    },
    /// HTB.
    Htb(HtbClass),
    /// DRR: the quantum in bytes.
    Drr {
        /// The quantum.
        quantum: u64,
    },
    /// Nothing that a guarantee needs.
    Plain,
}

/// A class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// The kind of its discipline.
    pub kind: String,
    /// Its handle.
    pub handle: Handle,
    /// Its parent class; `None` directly below the discipline.
    pub parent: Option<Handle>,
    /// Its options.
    pub options: ClassOptions,
    /// Whether other classes are below it.
    pub inner: bool,
    /// Where it was read.
    pub place: Place,
}

/// A filter that leads to a class. What it matches is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Its kind.
    pub kind: String,
    /// The class.
    pub class: Handle,
    /// Where it was read.
    pub place: Place,
}
