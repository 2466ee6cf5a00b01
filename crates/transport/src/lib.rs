//! TCP for simulations: endpoints that react to delay, loss and marks.
//!
//! A [`Connection`] is one end, a *sans-io* state machine over integer time: no clock, thread, socket or
//! float. Payload is counted, not carried. Congestion control is a [`Congestion`]; loss detection is
//! RACK with tail loss probes (RFC 8985) over SACK (RFC 2018), reductions are proportional (RFC 6937).
//! An [`Application`](app::Application) owns both ends of its connections and is what a simulator drives.
//! Memory grows with the largest window so far, not with the number of packets.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod app;
pub mod congestion;

mod config;
mod connection;
mod handshake;
mod packet;
mod ranges;
mod receiver;
mod segment;
mod sender;

pub use config::Config;
pub use congestion::Congestion;
pub use connection::Connection;
pub use packet::{Body, Direction, FlowKey, Packet};
pub use segment::{Ecn, HEADER_BYTES, Kind, MAX_SACK_BLOCKS, Range, SYN_BYTES, Sack, Segment};
pub use sender::Counters;
