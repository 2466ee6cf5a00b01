//! Results of benchmarks.

use serde::{Deserialize, Serialize};

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
    /// Name of the baseline it is compared with, if any.
    pub baseline: Option<String>,
    /// The baseline's value over ours (above one: ours is faster), measured in alternation.
    pub ratio: Option<f64>,
}
