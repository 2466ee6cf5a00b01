//! The link's scheduler in the Linux kernel: a BPF queueing discipline that decides as
//! [`laxity_link`] does, and its loader.
//!
//! The algorithms are C headers (`bpf/include/laxity`), integers only, that also compile in user
//! space, where a test feeds the same packets to them and to the Rust policies and wants the same
//! answers. [`plan`] turns a scenario into the parameters of one interface: admission first, then
//! the curve of the policy, rings, weights and rules. It needs no kernel and is always built; the
//! loader comes with the feature `kernel`.
#![forbid(unsafe_code)]

pub mod bounded_slack;
pub mod counts;
pub mod cpu;
#[cfg(feature = "kernel")]
mod file_system;
mod layout;
#[cfg(feature = "kernel")]
mod object;
pub mod plan;
#[cfg(feature = "kernel")]
pub mod qdisc;

pub use plan::{Notice, Plan, PlanError};
