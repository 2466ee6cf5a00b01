//! The link in user space: frames between two interfaces, or from a tunnel to one, scheduled by
//! the very objects that the simulator runs.
//!
//! [`Forwarder`](forwarder::Forwarder) is the scheduler, sans-io. A [`Direction`] joins it to two
//! interfaces; a [`Receive`](port::Receive) and a [`Transmit`](port::Transmit) are the ways in and
//! out.
#![deny(unsafe_code)]
#![warn(clippy::undocumented_unsafe_blocks)]
#![cfg(target_os = "linux")]

pub mod bridge;
pub mod counts;
pub mod device;
pub mod direction;
mod error;
pub mod forwarder;
#[doc(hidden)]
pub mod fuzz;
pub mod lock;
pub mod offload;
pub mod packet;
pub mod pool;
pub mod port;
pub mod segment;
mod sys;
pub mod tun;
pub mod xdp;

pub use direction::Direction;
pub use error::WireError;
