//! Time, bytes, rates, ids and histograms: what every other room speaks in.
//!
//! Everything is an exact integer. Time is whole nanoseconds, work on a link is whole bytes, rates
//! are whole bits per second. Where a product of a rate and a time is needed exactly, it is counted
//! in [nanobits](NANOBITS_PER_BYTE): `bit/s * ns`, so that no division happens before the last step
//! and the direction of its rounding can be chosen there.
//!
//! ```
//! use laxity_core::{Bytes, LinkClock, Rate, Time};
//!
//! // 64 B at 100 Gbit/s take 5.12 ns; a hundred of them 512 ns, not 600.
//! let mut clock = LinkClock::new(Rate(100_000_000_000)).expect("a rate above zero");
//! let mut now = Time::ZERO;
//! for _ in 0..100 {
//!     now = clock.transmit(now, Bytes(64));
//! }
//! assert_eq!(now, Time(512));
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod clock;
mod divisor;
mod histogram;
mod policy;
mod quantity;

pub use clock::LinkClock;
pub use divisor::Divisor;
pub use histogram::Histogram;
pub use policy::{
    Choice, Live, OptionConflict, OptionFault, OptionInfo, OptionKind, OptionTable, OptionValue,
    PolicyInfo, PolicyOptions, Reference,
};
pub use quantity::{Bytes, FlowId, Rate, Span, Time, Weight};

/// Nanobits in one byte: the unit in which `rate (bit/s) * time (ns)` is an integer.
pub const NANOBITS_PER_BYTE: i128 = 8_000_000_000;
