//! Results of stream scenarios.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::Spread;

/// `laxity simulate --json` of a stream scenario for one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamSimulationResult {
    /// The scenario's name.
    pub scenario: String,
    /// Seed of the generators.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seed: Option<u64>,
    /// Simulated time.
    pub duration_ns: u64,
    /// By policy, in the requested order.
    pub policies: IndexMap<String, StreamPolicyResult>,
}

/// The results of one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamPolicyResult {
    /// How many streams there were.
    pub streams: u64,
    /// Busy time of the server over simulated time.
    pub utilisation: f64,
    /// By class name, in file order.
    pub classes: IndexMap<String, StreamClassResult>,
}

/// The counts of the streams of one class, summed.
///
/// A *slot* is a packet sent or a deadline missed; a packet that is not dropped and missed twice
/// before it was sent uses three. Windows are over slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamClassResult {
    /// How many streams there are in the class.
    pub streams: u64,
    /// At most x of y packets may be lost: `x/y`.
    pub tolerance: String,
    /// Time between deadlines; null for streams without.
    pub gap_ns: Option<u64>,
    /// Packets that came; of a source that is always backlogged, those that left.
    pub packets: u64,
    /// Packets sent.
    pub served: u64,
    /// Packets sent by their deadline.
    pub deadlines_met: u64,
    /// Deadlines missed.
    pub deadline_misses: u64,
    /// Packets dropped because they missed their deadline.
    pub dropped: u64,
    /// Packets sent after a deadline.
    pub sent_late: u64,
    /// Packets lost because the stream's queue was full; no slots.
    pub overflows: u64,
    /// Packets that still waited at the end; no slots.
    pub backlog: u64,
    /// Back-to-back windows of y slots with more than x misses.
    pub tumbling_violations: u64,
    /// Windows of y slots, begun at any slot, with more than x misses; null where too many streams
    /// make keeping their histories too dear.
    pub sliding_violations: Option<u64>,
    /// Misses that made more than x of the last y slots; null like `sliding_violations`.
    pub violations_at_miss: Option<u64>,
    /// Most deadlines missed in a row by one stream.
    pub max_consecutive_misses: u64,
    /// Streams with at least one back-to-back window violated.
    pub violated_streams: u64,
    /// Mean delay from arrival to the start of sending, over packets sent; null without any, and
    /// for sources that are always backlogged.
    pub mean_ms: Option<f64>,
    /// Median delay.
    pub p50_ms: Option<f64>,
    /// 99th percentile of delay.
    pub p99_ms: Option<f64>,
    /// Largest delay.
    pub max_ms: Option<f64>,
}

/// `laxity simulate --json` of a stream scenario for several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamSimulationRuns {
    /// One result a seed, in rising order of seed.
    pub runs: Vec<StreamSimulationResult>,
    /// By policy and class: mean over seeds and its spread.
    pub summary: IndexMap<String, StreamPolicySummary>,
}

/// One policy over several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamPolicySummary {
    /// By class name.
    pub classes: IndexMap<String, StreamClassSummary>,
}

/// One class over several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamClassSummary {
    /// Of deadlines missed.
    pub deadline_misses: Option<Spread>,
    /// Of back-to-back windows violated.
    pub tumbling_violations: Option<Spread>,
    /// Of the longest run of misses.
    pub max_consecutive_misses: Option<Spread>,
    /// Of the 99th percentile of delay.
    pub p99_ms: Option<Spread>,
}

/// `laxity check --json` of a stream scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamCheckResult {
    /// The policy that is judged.
    pub policy: String,
    /// Whether the shares of all streams fit the server together.
    pub admitted: bool,
    /// Whether that keeps every tolerance, in back-to-back windows.
    pub guaranteed: bool,
    /// Sum of the shares, rounded up.
    pub utilisation: f64,
    /// Obstacles to the promise, as text; empty when it holds.
    pub obstacles: Vec<String>,
    /// Classes whose queues may run empty, which voids the guarantee for a while: their names.
    pub intermittent: Vec<String>,
    /// By class name, in file order.
    pub classes: IndexMap<String, StreamClassCheck>,
}

/// One class in a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamClassCheck {
    /// How many streams there are in the class.
    pub streams: u64,
    /// At most x of y packets may be lost: `x/y`.
    pub tolerance: String,
    /// Time between deadlines; null for streams without.
    pub gap_ns: Option<u64>,
    /// Longest service time of one of their packets.
    pub service_ns: u64,
    /// Share of the server that the class needs, rounded up.
    pub utilisation: f64,
    /// How many such streams would fit, all else unchanged.
    pub max_streams: u64,
    /// The shortest gap with which all streams would fit, for the class, or for all where they
    /// share one; null without deadlines, and when none would do.
    pub min_gap_ns: Option<u64>,
}
