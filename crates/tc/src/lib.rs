//! Reads the queueing disciplines of a machine: as `tc` prints them, JSON and text, and as the kernel sends them
//! by rtnetlink.
//!
//! JSON of `tc` is incomplete in every version and broken in some, so both forms are read, and joined
//! where both are given: a field that JSON lacks comes from the text. Unknown keys are errors.
//!
//! ```
//! let mut reader = laxity_tc::Reader::default();
//! reader.text("tc.txt", "qdisc tbf 1: root refcnt 2 rate 10Mbit burst 10Kb lat 30ms\n")?;
//! let config = reader.finish()?;
//! assert_eq!(config.qdiscs[0].options.kind(), "tbf");
//! # Ok::<(), laxity_tc::TcError>(())
//! ```
#![forbid(unsafe_code)]

mod build;
mod error;
pub mod fuzz;
mod handle;
mod json;
mod keys;
mod model;
mod netlink;
mod read;
mod read_json;
mod read_text;
mod record;
mod units;

pub use error::{Place, Problem, TcError};
pub use handle::Handle;
pub use model::{
    Class, ClassOptions, Config, Filter, HtbClass, Limit, Qdisc, QdiscOptions, Queues, SizeTable,
    Tbf, TwoPiece,
};
pub use netlink::Dump;
pub use read::{MAX_INPUT, Reader};
