//! Dynamic window-constrained scheduling (DWCS) of media streams, sans-io.
//!
//! A stream tolerates `x` lost or late packets in every `y` and has a packet due every `gap`. The
//! [`Scheduler`] says at each decision whose head packet goes out and whose is to be dropped
//! because its time has passed. Packets stay in the caller's [`Queues`]; the caller says what
//! time it is.
//!
//! Sources: West, Schwan, Poellabauer, "Scalable Scheduling Support for Loss and Delay Constrained
//! Media Streams" (RTAS 1999; "the paper" below) and the form of 2000/2004 by the same authors
//! (deadlines first), which is the default here because it keeps what admission promises. Where
//! the paper is silent or contradicts itself the choice stands beside the code that makes it;
//! [`Options`] holds those that a user may want otherwise.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod admission;
mod attributes;
mod governor;
mod history;
mod ledger;
mod meter;
mod options;
mod queues;
mod rank;
mod record;
pub mod rivals;
mod rules;
mod scheduler;
pub mod structure;

pub use attributes::{Attributes, Late, Tolerance, ToleranceError};
pub use ledger::{Ledger, Measures};
pub use meter::{Meter, Misses, Service};
pub use options::{Check, Options, Order, RuleA, RuleC, ZeroTie};
pub use queues::{Dropped, Overdue, Queues};
pub use rank::{Key, Rank};
pub use record::Record;
pub use rules::{LONGEST_WINDOW, Rules, Window};
pub use scheduler::{Decision, JoinError, Scheduler, StreamId, UnknownStream};
