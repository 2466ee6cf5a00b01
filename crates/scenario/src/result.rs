//! Results as they are printed and stored: stable names, units in the names.
//!
//! An example of each stands in `tests/results` of this crate, where a test holds it to the types.
//!
//! ```
//! use laxity_scenario::result::{BenchResult, BenchRow};
//!
//! let text = r#"{ "results": [
//!     { "name": "edf/64-classes/10k", "unit": "ns", "value": 20.0,
//!       "baseline": "edf/binary-heap/10k", "ratio": 3.5 }
//! ] }"#;
//! let result: BenchResult = serde_json::from_str(text)?;
//! assert_eq!(result.results[0].ratio, Some(3.5));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod cpus;
mod streams;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub use cpus::*;
pub use streams::*;

/// `laxity simulate --json` for one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulationResult {
    /// The scenario's name.
    pub scenario: String,
    /// Seed of the generators; absent when a trace was replayed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seed: Option<u64>,
    /// Simulated time.
    pub duration_ns: u64,
    /// By policy, in the order in which they were asked for.
    pub policies: IndexMap<String, PolicyResult>,
}

/// What one policy did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyResult {
    /// Busy time of the link over simulated time.
    pub utilisation: f64,
    /// Mean delay over all best-effort packets sent; absent when none was.
    pub best_effort_mean_ms: Option<f64>,
    /// Real-time packets that ended after their deadline.
    pub realtime_missed: u64,
    /// By flow name, real-time first.
    pub flows: IndexMap<String, FlowResult>,
}

/// What one flow saw.
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
    /// The flow's deadline, for real-time flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deadline_ms: Option<f64>,
    /// Largest lateness after the deadline; negative is the least margin left. Real-time only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_lateness_ms: Option<f64>,
    /// Packets that ended after their deadline.
    pub missed: u64,
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
    /// Why packets were not sent, by reason.
    pub drop_reasons: IndexMap<String, u64>,
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

/// `laxity simulate --json` for several seeds.
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
    pub realtime_missed: u64,
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

/// A figure over several seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Mean over seeds.
    pub mean: f64,
    /// Least over seeds.
    pub min: f64,
    /// Greatest over seeds.
    pub max: f64,
}

/// `laxity check --json`, of a scenario of any kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Verdict {
    /// Of a link.
    Link(CheckResult),
    /// Of a media server.
    Stream(StreamCheckResult),
    /// Of CPUs.
    Cpu(CpuCheckResult),
}

impl Verdict {
    /// Whether everything that is asked for fits.
    pub fn admitted(&self) -> bool {
        match self {
            Verdict::Link(check) => check.admitted,
            Verdict::Stream(check) => check.admitted,
            Verdict::Cpu(check) => check.admitted,
        }
    }
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
    /// What is left there; negative when refused. Rounded down.
    pub slack_bytes: Option<i64>,
    /// By flow name.
    pub flows: IndexMap<String, FlowCheck>,
    /// Corners of the effective residual capacity: time, bytes, slope in B/s from there on.
    pub residual: Vec<(u64, f64, f64)>,
    /// Best effort that waits while real time is silent, under `slack` with `always-check`; left
    /// out where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Silence>,
}

/// Which best-effort packets wait while real time is silent, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Silence {
    /// Packets of up to so many bytes on the wire go whenever nothing waits.
    pub at_once_bytes: u64,
    /// Larger ones just after real-time packets, or when all flows have been silent for so long;
    /// null for never.
    pub release_idle_ns: Option<u64>,
}

/// One flow in a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowCheck {
    /// What the flow asks within the binding interval, rounded up.
    pub demand_bytes: u64,
    /// Smallest deadline that would be admitted, all else unchanged; null when none is.
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
    pub strict: bool,
}

/// `laxity reproduce PAPER --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// The paper's short name, as on the command line.
    pub paper: String,
    /// Whether runs were shorter and fewer than the sheet asks for (`--quick`).
    #[serde(default)]
    pub quick: bool,
    /// Simulated length of a run, as a quantity.
    #[serde(default)]
    pub duration: String,
    /// What is claimed, each claim once however many rows bear on it.
    #[serde(default)]
    pub claims: Vec<ClaimResult>,
    /// One for each table and figure that holds a result.
    pub experiments: Vec<Experiment>,
}

/// A number or sentence, judged by all the rows that bear on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// As in [`ReproductionRow::claim`].
    pub claim: String,
    /// Whose it is.
    pub origin: Origin,
    /// How many rows were judged.
    pub rows: u64,
    /// The outcome.
    pub verdict: ClaimVerdict,
    /// The outcome of what was measured live, where that can be judged.
    pub live: Option<ClaimVerdict>,
}

/// Outcome of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClaimVerdict {
    /// All its rows are within their tolerance.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Not under the first reading of the paper, but all its rows under one of the others.
    #[serde(rename = "second reading")]
    SecondReading,
    /// Some of its rows are, under one reading or another.
    #[serde(rename = "in part")]
    InPart,
    /// None is.
    #[serde(rename = "differs")]
    Differs,
    /// The runs were too short or too few to tell.
    #[serde(rename = "not judged")]
    NotJudged,
}

/// Whose claim a row judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The paper's.
    #[default]
    Paper,
    /// Laxity's own.
    Laxity,
    /// The paper's, under a reading of it that is tried beside the one that is used.
    Reading,
}

/// One table or figure of a paper, published beside measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Such as `low-delay.table2`.
    pub id: String,
    /// Such as `Table 2`.
    pub source: String,
    /// How the paper was read, in one sentence.
    pub reading: String,
    /// Seeds that were run.
    pub seeds: Vec<u64>,
    /// One for each number or claim.
    pub rows: Vec<ReproductionRow>,
}

/// One number or claim of a paper.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReproductionRow {
    /// `policy/object/statistic`, lower case.
    pub label: String,
    /// Unit of the numbers.
    pub unit: String,
    /// As printed in the paper, if it is.
    pub published: Option<f64>,
    /// As measured here.
    pub measured: f64,
    /// Half the range over seeds.
    pub spread: f64,
    /// As measured on a live system, if it was.
    pub live: Option<f64>,
    /// The scheduler that was measured live.
    #[serde(default)]
    pub live_scheduler: Option<String>,
    /// The outcome of what was measured live, where that scheduler is the one that is claimed about.
    #[serde(default)]
    pub live_verdict: Option<ReproductionVerdict>,
    /// Relative difference up to which the number counts as reproduced.
    pub tolerance: f64,
    /// For a claim without a number: from where to where a measured value bears it out, ends
    /// included; null for an end that is open.
    #[serde(default)]
    pub accept: Option<(Option<f64>, Option<f64>)>,
    /// The claim that the row bears on; empty where there is none. Rows with the same one count once.
    #[serde(default)]
    pub claim: String,
    /// Whose claim that is.
    #[serde(default)]
    pub origin: Origin,
    /// The same number under other readings of the paper.
    #[serde(default)]
    pub readings: Vec<ReadingResult>,
    /// The outcome.
    pub verdict: ReproductionVerdict,
    /// The claim, and the reason for a difference.
    pub why: String,
}

/// A number under another reading of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadingResult {
    /// The reading's name; what it means stands in the experiment's `reading`.
    pub name: String,
    /// As measured here.
    pub measured: f64,
    /// Half the range over seeds.
    pub spread: f64,
    /// The outcome, by the row's tolerance.
    pub verdict: ReproductionVerdict,
}

/// Outcome of a comparison with a paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReproductionVerdict {
    /// Within the stored tolerance.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Outside it.
    #[serde(rename = "differs")]
    Differs,
    /// The paper prints no number or claim to judge by.
    #[default]
    #[serde(rename = "not stated")]
    NotStated,
    /// The run was too short to tell.
    #[serde(rename = "not judged")]
    NotJudged,
}

/// `laxity bench --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    /// One for each benchmark.
    pub results: Vec<BenchRow>,
}

/// One benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRow {
    /// Such as `edf/64-classes/10k`.
    pub name: String,
    /// Unit of the value.
    pub unit: String,
    /// Median of five runs.
    pub value: f64,
    /// Name of the rival it is compared with, if any.
    pub baseline: Option<String>,
    /// Rival's value over ours (above one: ours is faster), measured in alternation.
    pub ratio: Option<f64>,
}
