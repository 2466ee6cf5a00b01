//! Results of link scenarios.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::Spread;

/// `laxity simulate --json` of a link for one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulationResult {
    /// The scenario's name.
    pub scenario: String,
    /// Seed of the generators; absent when a trace was replayed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seed: Option<u64>,
    /// Simulated time.
    pub duration_ns: u64,
    /// By policy, in the requested order.
    pub policies: IndexMap<String, PolicyResult>,
}

/// The results of one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyResult {
    /// Busy time of the link over simulated time.
    pub utilisation: f64,
    /// Mean delay over all best-effort packets sent; absent when none was.
    pub best_effort_mean_ms: Option<f64>,
    /// Real-time packets that ended after their deadline.
    pub realtime_deadline_misses: u64,
    /// By flow name, real-time first.
    pub flows: IndexMap<String, FlowResult>,
}

/// The results of one flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// Real-time or best effort.
    pub kind: FlowKind,
    /// Packets that arrived.
    pub packets: u64,
    /// Bytes that arrived, wire overhead not counted.
    pub bytes: u64,
    /// Mean delay from arrival to the end of transmission, over packets sent.
    pub mean_ms: Option<f64>,
    /// Median delay.
    pub p50_ms: Option<f64>,
    /// 99th percentile of delay.
    pub p99_ms: Option<f64>,
    /// Largest delay.
    pub max_ms: Option<f64>,
    /// The flow's deadline, for real-time flows; of one with a service curve the delay bound of its
    /// envelope, left out where it has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deadline_ms: Option<f64>,
    /// Largest lateness after the deadline; negative is the least margin left. Real-time only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_lateness_ms: Option<f64>,
    /// Packets that ended after their deadline.
    pub deadline_misses: u64,
    /// Packets not sent.
    pub dropped: u64,
    /// Packets sent as best effort because they exceeded the envelope.
    pub demoted: u64,
    /// Mean delay of those, which the delays above leave out; left out when there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demoted_mean_ms: Option<f64>,
    /// Largest delay of those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demoted_max_ms: Option<f64>,
    /// Packets dropped by the AQM; left out of flows and classes without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aqm_drops: Option<u64>,
    /// Packets that the AQM marked with "congestion experienced"; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn_marks: Option<u64>,
    /// The results of the flow's TCP source; left out of flows with another source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpResult>,
    /// Why packets were not sent, by reason.
    pub drop_reasons: IndexMap<String, u64>,
}

/// The results of the applications of a TCP source.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcpResult {
    /// Payload received in order, over the time of the run.
    pub goodput_mbit_s: f64,
    /// Pages, or segments of video, that were received completely.
    pub completed: u64,
    /// Mean time from the start of one to its last byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_mean_ms: Option<f64>,
    /// The longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_max_ms: Option<f64>,
}

/// Real-time or best effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowKind {
    /// Has a deadline.
    Realtime,
    /// Has none.
    BestEffort,
}

/// `laxity simulate --json` of a link for several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulationRuns {
    /// One result a seed, in rising order of seed.
    pub runs: Vec<SimulationResult>,
    /// By policy and flow: mean over seeds and its spread.
    pub summary: IndexMap<String, PolicySummary>,
}

/// One policy over several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicySummary {
    /// Over seeds, of the mean over packets.
    pub best_effort_mean_ms: Option<Spread>,
    /// Summed over seeds.
    pub realtime_deadline_misses: u64,
    /// By flow name.
    pub flows: IndexMap<String, FlowSummary>,
}

/// One flow over several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    /// Of the mean delay.
    pub mean_ms: Option<Spread>,
    /// Of the largest delay.
    pub max_ms: Option<Spread>,
}

/// `laxity check --json` of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Whether every real-time deadline is kept under any conforming traffic.
    pub admitted: bool,
    /// Long-term real-time rate over link rate.
    pub utilisation: f64,
    /// Length of the interval in which least capacity is left (or most is missing).
    pub binding_interval_ns: Option<u64>,
    /// The capacity left there; negative when refused. Rounded down.
    pub slack_bytes: Option<i64>,
    /// By flow name.
    pub flows: IndexMap<String, FlowCheck>,
    /// Corners of the effective residual capacity: time, bytes, slope in B/s from there on.
    pub residual: Vec<(u64, f64, f64)>,
    /// Bounds of the delay of best-effort classes with envelopes, while they conform; left out of
    /// refused sets.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub best_effort: IndexMap<String, BestEffortCheck>,
    /// Shares of best effort by curves (`fair_queue = "fsc"`); left out under other orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<SharesCheck>,
    /// What `later = "auto"` would do for all service curves of a refused set; left out elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later_auto: Option<LaterAuto>,
    /// Best effort that waits while real time is silent, under `slack` with `always-check`; left
    /// out where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_realtime: Option<IdleRealtime>,
}

/// Shares of best effort under Fair Service Curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharesCheck {
    /// What best effort gets in the long run while real time uses all of its envelopes.
    pub rate_bit_s: u64,
    /// What the curves directly below the link ask for in the long run.
    pub asked_bit_s: u64,
    /// By class.
    pub classes: IndexMap<String, ShareCheck>,
}

/// The share of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareCheck {
    /// Its part of best effort in the long run while all classes wait, of 1.
    pub part: f64,
    /// Corners of its curve, or of the line of its weight.
    pub curve: Vec<(u64, f64, f64)>,
    /// The least long-term rate among its upper limit and those of its groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bit_s: Option<u64>,
}

/// Bounds of the delay of a best-effort class, from arrival to the end of transmission; each left out
/// where there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestEffortCheck {
    /// While no other class sends: under `exact` with `guarantee = "all"`, `blocking = "exact"` and
    /// `release = "arrival"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone_delay_ns: Option<u64>,
    /// Whatever the other classes send, by the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_delay_ns: Option<u64>,
    /// Whatever the others send, if the class is a real-time flow with `flow_curve` instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_delay_ns: Option<u64>,
    /// The class's share of what admission leaves: corners of a service curve on the wire.
    pub flow_curve: Vec<(u64, f64, f64)>,
}

/// A refused set with `later = "auto"` in all service curves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaterAuto {
    /// By how much the curves would begin later.
    pub later_ns: u64,
    /// Whether the set would be admitted.
    pub admitted: bool,
}

/// Which best-effort packets wait while real time is silent, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleRealtime {
    /// Packets of up to so many bytes on the wire go whenever nothing waits.
    pub max_immediate_bytes: u64,
    /// Larger ones just after real-time packets, or when all flows have been silent for so long;
    /// null for never.
    pub idle_timeout_ns: Option<u64>,
}

/// One flow in a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowCheck {
    /// Demand of the flow within the binding interval, rounded up.
    pub demand_bytes: u64,
    /// Smallest deadline that would be admitted, all else unchanged; null when none is, and for flows
    /// with service curves, as the next two.
    pub min_deadline_ns: Option<u64>,
    /// Largest long-term rate that would be admitted, as a quantity; null when none is.
    pub max_rate: Option<String>,
    /// Largest burst that would be admitted, as a quantity; null when none is.
    pub max_burst: Option<String>,
    /// `max_rate` is the flow's peak: a rate beyond it means nothing, so none was tried. Left out
    /// when false, as are the next two.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rate_is_peak: bool,
    /// `max_burst` is the largest that a scenario can say, so none beyond it was tried.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub burst_is_limit: bool,
    /// The flow could go further than the three say: upper bounds stand for steps of periodic
    /// flows that are too many to follow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conservative: bool,
    /// Of a flow with a service curve; left out of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceCheck>,
}

/// A flow with a service curve in a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceCheck {
    /// Corners of the curve on the wire: time, bytes, slope in B/s from there on.
    pub curve: Vec<(u64, f64, f64)>,
    /// Largest delay of packets that conform to the envelope; left out of flows without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_bound_ns: Option<u64>,
    /// Most bytes of such packets on the wire that wait or are being sent; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog_bound_bytes: Option<u64>,
    /// Least time by which the curve would have to begin later for the set to be admitted, all else
    /// unchanged: 0 when it is admitted, null when none would do.
    pub min_later_ns: Option<u64>,
}
