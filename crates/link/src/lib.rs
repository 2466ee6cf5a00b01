//! Packet policies for one link, sans-io: classify, police, order best effort fairly, assign
//! deadlines, serve by earliest deadline.
//!
//! Source: Chakraborty, Gries, Thiele, "Supporting a Low Delay Best-Effort Class in the Presence
//! of Real-Time Traffic", RTAS 2002. [`slack`] goes beyond the paper.
//!
//! `examples/pipeline.rs` drives a [`pipeline::Pipeline`] by hand. By name:
//!
//! ```
//! let policies = laxity_link::registry::POLICIES;
//! assert!(policies.iter().any(|p| p.name == "exact" && p.keeps_deadlines));
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod aqm;
pub mod assign;
pub mod buffer;
mod class_queues;
pub mod classify;
pub mod config;
pub mod ecn;
pub mod edf;
pub mod fair;
mod flow_queue;
mod ingress;
pub mod live;
mod options;
pub mod packet;
pub mod pipeline;
pub mod police;
pub mod proportional_share;
pub mod registry;
pub mod slack;
pub(crate) mod slot;

pub use packet::{Departure, DropSink, LinkPolicy, Packet, Wire, flow_key};

#[cfg(test)]
extern crate std;
