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
pub mod classify;
pub mod edf;
pub mod fair;
mod ingress;
pub mod packet;
pub mod pipeline;
pub mod police;
pub mod proportional_share;
pub mod registry;
pub mod setup;
pub mod slack;

pub use packet::{Departure, Drops, LinkPolicy, Packet, Wire};
