//! Verdicts about scenarios before anything runs: what `laxity check` prints.
//!
//! Each kind of scenario has a module with the function `analyse`, which judges a scenario under a
//! policy; that of streams cannot fail. [`analyse`] of this crate accepts a scenario of any kind. [`tc`]
//! judges the queueing disciplines of a machine instead.
//!
//! ```
//! use laxity_scenario::Document;
//!
//! let text = r#"
//!     [link]
//!     rate = "10 Mbit/s"
//!
//!     [[realtime]]
//!     name = "voice"
//!     deadline = "5 ms"
//!     envelope = { period = "20 ms", size = "200 B" }
//! "#;
//! let document = Document::parse(text, "voice.toml")?;
//! assert!(laxity_analysis::analyse(&document)?.admitted());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod cpu;
mod error;
pub mod fuzz;
pub mod link;
pub mod page;
pub mod points;
pub mod stream;
pub mod tc;

use laxity_results::Verdict;
use laxity_scenario::Document;

pub use error::AnalysisError;

/// The verdict about a scenario under the policy that it uses.
///
/// # Errors
/// See [`AnalysisError`].
pub fn analyse(document: &Document) -> Result<Verdict, AnalysisError> {
    match document {
        Document::Link(s) => link::analyse(s, &s.policy.use_).map(Verdict::Link),
        Document::Stream(s) => Ok(Verdict::Stream(stream::analyse(s, &s.policy.use_))),
        Document::Cpu(s) => cpu::analyse(s, &s.policy.use_).map(Verdict::Cpu),
    }
}
