//! TCP for simulations: endpoints that react to delay, loss and marks.
//!
//! A [`Connection`] is one end, a *sans-io* state machine over integer time: no clock, thread, socket or
//! float. Payload is counted, not carried. Congestion control is a [`Congestion`]; loss detection is
//! RACK with tail loss probes (RFC 8985) over SACK (RFC 2018), reductions are proportional (RFC 6937).
//! An [`Application`](app::Application) owns both ends of its connections and is what a simulator drives.
//! Memory grows with the largest window so far, not with the number of packets.
//!
//! A request over a path that delays each packet by 20 ms:
//!
//! ```
//! use laxity_core::{Bytes, Span, Time};
//! use laxity_transport::app::{Application, Pairs, Requests, RequestsPlan, TcpApplication};
//! use laxity_transport::{Config, congestion::Cubic};
//!
//! let plan = RequestsPlan {
//!     request: Bytes(300),
//!     response: Bytes(10_000),
//!     pause: Span::from_millis(1_000),
//! };
//! let control = || Box::new(Cubic::default()) as _;
//! let pairs = Pairs::new(1, Config::default(), &control);
//! let mut app = TcpApplication::new(Time::ZERO, Requests::new(plan), pairs);
//! let (mut now, mut path) = (Time::ZERO, std::collections::VecDeque::new());
//! let answer = loop {
//!     app.handle_timeout(now);
//!     while path.front().is_some_and(|(at, _)| *at <= now) {
//!         let (_, packet) = path.pop_front().expect("a packet");
//!         app.handle_delivery(now, &packet);
//!     }
//!     while let Some(packet) = app.poll_transmit(now) {
//!         path.push_back((now + Span::from_millis(20), packet));
//!     }
//!     if let Some(answer) = app.poll_completion() {
//!         break answer;
//!     }
//!     let arrival = path.front().map(|(at, _)| *at);
//!     now = arrival.into_iter().chain(app.poll_timeout()).min().expect("something to wait for");
//! };
//! // The handshake and a round trip.
//! assert_eq!(answer.duration(), Span::from_millis(80));
//! ```
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
