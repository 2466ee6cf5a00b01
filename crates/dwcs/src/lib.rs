//! Dynamic window-constrained scheduling (DWCS) of media streams, sans-io.
//!
//! A stream tolerates `x` lost or late packets in every `y` and has a packet due every `gap`. The
//! [`Scheduler`] selects at each decision the stream whose head packet is sent and those whose
//! heads are dropped because its time has passed. Packets stay in the caller's [`Queues`]; the
//! caller says what time it is.
//!
//! ```
//! use laxity_core::{Span, Time};
//! use laxity_dwcs::structure::Heaps;
//! use laxity_dwcs::{Attributes, Decision, Options, Queues, Scheduler, StreamId};
//! use std::collections::VecDeque;
//!
//! /// One FIFO a stream, of packets with their arrival times, and the packet to send next.
//! #[derive(Default)]
//! struct Packets {
//!     fifos: Vec<VecDeque<(Time, &'static str)>>,
//!     next: Option<&'static str>,
//!     dropped: u64,
//! }
//!
//! impl Queues for Packets {
//!     fn serve(&mut self, stream: StreamId) -> Option<Time> {
//!         let fifo = &mut self.fifos[stream.slot()];
//!         self.next = fifo.pop_front().map(|(_, packet)| packet);
//!         fifo.front().map(|(arrival, _)| *arrival)
//!     }
//!
//!     fn drop_head(&mut self, stream: StreamId) -> Option<Time> {
//!         self.dropped += 1;
//!         self.fifos[stream.slot()].pop_front();
//!         self.fifos[stream.slot()].front().map(|(arrival, _)| *arrival)
//!     }
//! }
//!
//! let mut scheduler = Scheduler::<Heaps>::new(&Options::default())?;
//! let mut packets = Packets::default();
//! // One loss in a hundred, a packet every 20 ms.
//! let audio = Attributes::new("1/100".parse()?, Span::from_millis(20));
//! let stream = scheduler.join(Time::ZERO, &audio)?;
//! packets.fifos.push(VecDeque::from([(Time::ZERO, "hello"), (Time::ZERO, "world")]));
//! scheduler.arrive(Time::ZERO, stream)?;
//!
//! // The first goes out; the second not before the first one's deadline has passed.
//! let decision = scheduler.next(Time::ZERO, &mut packets);
//! assert!(matches!(decision, Decision::Serve { .. }));
//! assert_eq!(packets.next, Some("hello"));
//! let later = Time(20_000_000);
//! assert_eq!(scheduler.next(Time(1), &mut packets), Decision::Wait(later));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sources: West, Schwan, Poellabauer, "Scalable Scheduling Support for Loss and Delay Constrained
//! Media Streams" (RTAS 1999; "the paper" below) and the form of 2000/2004 by the same authors,
//! which compares deadlines first and is the default here. [`admission`] tells which tolerances
//! are kept for certain, and when ordering by tolerance first keeps more of them. Where the paper
//! is silent or contradicts itself, a comment at the code states the choice; [`Options`]
//! holds those that a user may want otherwise.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod admission;
mod application;
mod attributes;
pub mod baselines;
mod governor;
mod history;
mod ledger;
mod meter;
mod options;
mod queues;
mod rank;
mod record;
pub mod registry;
mod rules;
mod scheduler;
pub mod structure;

pub use application::{Application, ApplicationError, Loss};
pub use attributes::{Attributes, Late, Tolerance, ToleranceError};
pub use ledger::{Ledger, Measures};
pub use meter::{Meter, Misses, Service};
pub use options::{Check, Options, Order, RuleA, RuleC, ZeroTie};
pub use queues::{Dropped, Overdue, Queues};
pub use rank::{Key, Rank};
pub use record::Record;
pub use rules::{LONGEST_WINDOW, Rules, Window};
pub use scheduler::{Decision, JoinError, Scheduler, StreamId, UnknownStream};

/// DWCS over the structure that is fastest for its options; for general use.
pub type DefaultScheduler<M = ()> = Scheduler<structure::Fastest, M>;
