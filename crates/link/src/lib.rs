//! Packet policies for one link, sans-io: classify, police, order best effort fairly, assign
//! deadlines, serve by earliest deadline.
//!
//! Source: Chakraborty, Gries, Thiele, "Supporting a Low Delay Best-Effort Class in the Presence
//! of Real-Time Traffic", RTAS 2002, and what goes beyond it ([`slack`]).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod assign;
pub mod buffer;
pub mod edf;
pub mod fair;
pub mod packet;
pub mod police;
pub mod setup;

pub use packet::{Departure, Drops, LinkPolicy, Packet, Wire};
