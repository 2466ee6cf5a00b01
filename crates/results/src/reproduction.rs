//! Results of reruns of the papers' experiments.

use serde::{Deserialize, Serialize};

/// `laxity reproduce PAPER --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// The paper's short name, as on the command line.
    pub paper: String,
    /// Whether runs were shorter and fewer than the sheet requires (`--quick`).
    #[serde(default)]
    pub quick: bool,
    /// Simulated length of a run, as a quantity.
    #[serde(default)]
    pub duration: String,
    /// The claims, each once however many rows bear on it.
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
    /// Its origin.
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
    /// The runs were too short or too few to judge it.
    #[serde(rename = "inconclusive", alias = "not judged")]
    Inconclusive,
}

/// Origin of the claim that a row judges.
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
    /// Origin of that claim.
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
    /// The run was too short to judge it.
    #[serde(rename = "inconclusive", alias = "not judged")]
    Inconclusive,
}
