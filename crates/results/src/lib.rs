//! Results as they are printed and stored: stable names, units in the names.
//!
//! The command prints a [`Versioned`] result. An example of each stands in `tests/examples` of this crate, where a test holds it to the types.
//!
//! ```
//! use laxity_results::{BenchResult, BenchRow};
//!
//! let text = r#"{ "results": [
//!     { "name": "edf/64-classes/10k", "unit": "ns", "value": 20.0,
//!       "baseline": "edf/binary-heap/10k", "ratio": 3.5 }
//! ] }"#;
//! let result: BenchResult = serde_json::from_str(text)?;
//! assert_eq!(result.results[0].ratio, Some(3.5));
//! # Ok::<(), serde_json::Error>(())
//! ```
#![forbid(unsafe_code)]

mod bench;
mod cpu;
pub mod csv;
mod link;
mod reproduction;
mod stream;
pub mod table;
mod tc;

use serde::{Deserialize, Serialize};

pub use bench::*;
pub use cpu::*;
pub use link::*;
pub use reproduction::*;
pub use stream::*;
pub use tc::*;

/// The version of the JSON: a number that grows when a key is renamed or removed, or changes its meaning.
pub const VERSION: u32 = 1;

/// A result as it is printed: [`VERSION`] first, then its keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Versioned<T> {
    /// [`VERSION`] of the program that printed it.
    pub version: u32,
    /// The result.
    #[serde(flatten)]
    pub result: T,
}

impl<T> Versioned<T> {
    /// A result in this version.
    pub fn new(result: T) -> Versioned<T> {
        Versioned { version: VERSION, result }
    }
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
    /// Whether all requests fit.
    pub fn admitted(&self) -> bool {
        match self {
            Verdict::Link(check) => check.admitted,
            Verdict::Stream(check) => check.admitted,
            Verdict::Cpu(check) => check.admitted,
        }
    }
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
