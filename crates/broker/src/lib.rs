//! Admission of CPU reservations by user: the server behind `laxity cpu serve`.
//!
//! Programs send requests over a Unix socket ([`laxity_reserve::protocol`]). The kernel identifies them:
//! a [`Peer`] by the credentials of its connection, a [`Task`] by its directory in `/proc`, which is held
//! open so that a reused PID is noticed. [`share`] limits the bandwidth of each user; the scheduler then
//! admits or refuses. The scheduler also stores the owner of each reservation, so reservations outlive the
//! server. A [`Broker`] handles one request, a [`Server`] all connections.
#![forbid(unsafe_code)]

mod activation;
mod broker;
mod group;
mod request_counters;
mod server;
pub mod share;
mod task;

pub use activation::activation_socket;
pub use broker::{Broker, Peer};
pub use group::group_id;
pub use request_counters::{RequestCount, RequestCounters};
pub use server::{ConnectionLimits, Server};
pub use task::Task;
