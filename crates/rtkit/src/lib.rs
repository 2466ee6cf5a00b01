//! `org.freedesktop.RealtimeKit1` on D-Bus: programs that ask RealtimeKit for real-time priority get a CPU
//! reservation instead, unchanged.
//!
//! A [`Service`] answers the bus. It identifies the caller by the credentials of its connection and the
//! [`Thread`] by its directory in `/proc`, held open so that a reused id is noticed. The [`Supervisor`] limits
//! requests as RealtimeKit does, asks the server of reservations ([`laxity_reserve`]) in the name of the
//! caller's user, and refines each reservation by what the [`demand`] of its thread is.
#![deny(unsafe_code)]

mod config;
pub mod demand;
mod refusal;
mod service;
mod supervisor;
mod sys;
mod table;
mod thread;

pub use config::{Config, Parameters};
pub use refusal::Refusal;
pub use service::{NAME, PATH, Service, serve};
pub use supervisor::Supervisor;
pub use table::Limits;
pub use thread::Thread;
