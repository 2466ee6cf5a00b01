//! Exact arrival and service curves, envelopes, admission and line fits.
//!
//! Work is counted in nanobits (bit/s times ns), time in nanoseconds, slopes in bit/s. Corner
//! points are exact fractions; a number that leaves 128 bits is [`CurveError::Overflow`], never a
//! panic. The model of the link is that of Chakraborty, Gries and Thiele, "Supporting a low delay
//! best-effort class in the presence of real-time traffic", RTAS 2002.
//!
//! ```
//! use laxity_core::{Bytes, Rate, Span};
//! use laxity_curve::{Blocking, Envelope, FlowSpec, LinkSpec, check};
//!
//! # fn main() -> Result<(), laxity_curve::CurveError> {
//! let link = LinkSpec {
//!     rate: Rate(10_000_000),
//!     best_effort_packet: Bytes(1536),
//!     downstream_backlog: Bytes(0),
//!     blocking: Blocking::Paper,
//! };
//! let voice = |deadline| FlowSpec {
//!     envelope: Envelope::leaky_bucket(Bytes(1500), Rate(1_000_000)).expect("an envelope"),
//!     deadline,
//! };
//! // A packet on the wire and the whole burst take 2.4 ms at this rate.
//! assert!(check(&link, &[voice(Span::from_millis(3))])?.admitted);
//! let verdict = check(&link, &[voice(Span::from_millis(2))])?;
//! assert!(!verdict.admitted && verdict.slack_bytes < 0);
//! # Ok(())
//! # }
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod admission;
mod algebra;
mod bisect;
mod convolve;
mod curve;
mod deviation;
mod envelope;
mod error;
mod extremum;
mod field;
mod fit;
mod gps;
mod inverse;
mod link;
mod pseudo;
mod rational;
mod residual;
pub mod service;
mod suggest;
mod sweep;
mod trace;
mod trial;
mod tspec;

pub use admission::{Verdict, check};
pub use algebra::MAX_PIECES;
pub use curve::{Curve, Piece, Tail};
pub use envelope::{Bucket, DEFAULT_MIN_PACKET, Envelope, MAX_BUCKETS, MAX_BURST};
pub use error::CurveError;
pub use fit::{
    FitError, check_line, check_shifted_line, check_two_segment, fit_line, fit_shifted_line,
    fit_two_segment,
};
pub use gps::{GpsVerdict, check_gps, deadline_from_rspec, smallest_rate};
pub use inverse::{InverseCurve, InversePiece};
pub use link::{Blocking, FlowSpec, Guarantee, LinkSpec, ShiftedLine, TwoSegment};
pub use rational::Rational;
pub use residual::Residual;
pub use suggest::{Suggestion, suggest};
pub use trace::{
    DEFAULT_BUCKETS, MAX_STAIRCASE_PACKETS, mean_rate, smallest_burst, staircase, staircase_curve,
};
pub use tspec::{TSpec, fit_tspec};
