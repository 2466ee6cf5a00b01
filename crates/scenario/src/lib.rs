//! Scenario files: their language, quantities, errors and schema.
//!
//! ```
//! use laxity_scenario::link::Scenario;
//!
//! let text = r#"
//!     [link]
//!     rate = "10 Mbit/s"
//!
//!     [[realtime]]
//!     name = "voice"
//!     deadline = "5 ms"
//!     envelope = { packet = "100 B", peak = "250 kB/s", burst = "300 B", rate = "150 kB/s" }
//! "#;
//! let scenario = Scenario::parse(text, "home.toml")?;
//! assert_eq!(scenario.flow_names().collect::<Vec<_>>(), ["voice", "other"]);
//!
//! let error = Scenario::parse(&text.replace("5 ms", "5 Mb"), "home.toml").unwrap_err();
//! assert_eq!(error.problems()[0].key, "realtime.voice.deadline");
//! # Ok::<(), laxity_scenario::ScenarioError>(())
//! ```
#![forbid(unsafe_code)]

pub mod cpu;
mod document;
#[doc(hidden)]
pub mod fuzz;
pub mod keys;
mod kind;
pub mod link;
pub mod names;
mod options;
mod printer;
mod problem;
pub mod quantity;
mod read;
pub mod schema;
pub mod stream;
pub mod value;
pub mod vary;

pub use document::{Document, DocumentKind};
pub use problem::{Problem, ScenarioError};
pub use read::TraceLoader;
pub use read::trace::load as load_trace;
pub use read::walk::{MAX_BYTES, MAX_PACKET, MAX_RATE, MAX_SPAN};
