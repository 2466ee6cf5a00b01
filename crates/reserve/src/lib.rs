//! Client of `laxity cpu serve`, by which programs reserve CPU time for themselves without root: a
//! runtime in every period, guaranteed whatever the other load.
//!
//! ```no_run
//! use std::time::Duration;
//! use laxity_reserve::{Client, Request};
//!
//! # fn main() -> Result<(), laxity_reserve::Error> {
//! let client = Client::connect()?;
//! let request = Request::new(Duration::from_millis(4), Duration::from_millis(10));
//! match client.reserve(&request) {
//!     Ok(grant) => println!("on CPU {}", grant.cpu),
//!     Err(error) => println!("{error}; {:?} would fit", error.max_runtime()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Each request uses a connection of its own, so threads may share a client, children may inherit it,
//! and it survives a restart of the server.
#![forbid(unsafe_code)]

mod client;
mod error;
#[doc(hidden)]
pub mod fuzz;
pub mod protocol;

pub use client::{Client, Request};
pub use error::Error;
pub use protocol::{Code, Grant, ReservationStatus, Share, State};

/// The thread id of the calling thread.
pub fn current_tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}
