//! A ring of packets from another process, which need not be trusted.
//!
//! The consumer [creates](create) the memory, a memfd of fixed size, keeps its mapping and hands
//! the descriptor to one producer, usually over a Unix socket (`SCM_RIGHTS`); the producer
//! [attaches](attach). Positions, packets and their bodies all lie in that memory, so a packet
//! costs no system call. The protocol is that of [`spsc`](crate::spsc).
//!
//! # Threats excluded
//!
//! A process that holds the descriptor can write anything anywhere in the memory at any time. So the
//! consumer
//!
//! - takes nothing about the memory's shape from the memory: where slots lie and how long they are
//!   are its own numbers, as is front, its own position;
//! - checks each position and each length once, in a copy of its own, before it uses it. What
//!   breaks the rules is counted and *breaks* the ring: from then on every call reports it and looks
//!   at the memory no more, until [`restart`](Reader::restart);
//! - copies a body out before it is examined, word by word through atomics, so that a body
//!   that changes meanwhile is a strange body and not undefined behaviour;
//! - never waits, and does a bounded amount of work in each call;
//! - never faults: the memory is sealed against shrinking before another process has it, and it is
//!   the kernel's anonymous memory because the consumer made it. A producer that punches holes
//!   into it makes zeros.
//!
//! The producer's own stream remains in its hands: its packets may be garbage, old or never-ending.
//! Stamps are claims; compare them with a clock.
//!
//! # When a producer dies
//!
//! A packet is shown only after it is written, so a producer that is killed leaves whole packets
//! or none. A producer that ends in good order marks it ([`Reader::is_closed`]). A killed one
//! cannot: the owner of the consumer notices, by the control connection that hangs up or by a
//! pidfd that becomes readable, and calls [`Reader::mark_gone`]; what was shown can still be
//! taken. After [`Reader::restart`] the same descriptor serves the next producer.
//!
//! A ring takes one descriptor until it has been handed over, and its memory as long as either end
//! lives. It is meant for thousands of streams; a million share rings.

mod error;
#[cfg(not(loom))]
mod memory;
mod reader;
mod shape;
mod words;
mod writer;

pub use error::{Fault, OpenError, PopError, PushError};
#[cfg(not(loom))]
pub use memory::{Consumer, Mapping, Producer, attach, create};
pub use reader::{Head, Reader};
pub use shape::{Shape, ShapeError};
pub use writer::Writer;
