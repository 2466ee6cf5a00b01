//! Programs reserve CPU time for themselves, without root: so much in every period, kept whatever
//! else computes. `laxity cpu serve` decides; this asks it.
//!
//! ```no_run
//! use std::time::Duration;
//! use laxity_reserve::{Client, Request};
//!
//! # fn main() -> Result<(), laxity_reserve::Error> {
//! let client = Client::connect()?;
//! let asked = Request::new(Duration::from_millis(4), Duration::from_millis(10));
//! match client.reserve(&asked) {
//!     Ok(reserved) => println!("on CPU {}", reserved.cpu),
//!     Err(error) => println!("{error}; {:?} would fit", error.fits()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Each request has a connection of its own, so a client may be shared by threads and inherited by
//! children, and it does not matter whether the server was restarted in between.
#![forbid(unsafe_code)]

mod client;
mod error;
pub mod protocol;

pub use client::{Client, Request};
pub use error::Error;
pub use protocol::{Code, Held, Reserved, Share, State};

/// The number by which the calling thread is reserved for.
pub fn this_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}
