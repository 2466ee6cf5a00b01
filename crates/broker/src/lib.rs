//! Who may reserve how much CPU time: the server behind `laxity cpu serve`.
//!
//! Programs ask over a Unix socket ([`laxity_reserve::protocol`]). Who they are the kernel says: a
//! [`Peer`] by the credentials of its connection, a [`Task`] by its place in `/proc`, held open so
//! that it cannot become another one. [`share`] decides whether a user may have more; the scheduler
//! then admits or refuses, and it is the scheduler that remembers who holds what, so a server that
//! ends takes nothing with it. A [`Broker`] does this for one request, a [`Server`] for all.
#![forbid(unsafe_code)]

mod activation;
mod broker;
mod counts;
mod group;
mod server;
pub mod share;
mod task;

pub use activation::activated;
pub use broker::{Broker, Peer};
pub use counts::{Count, Counts};
pub use group::group;
pub use server::{Limits, Server};
pub use task::Task;
