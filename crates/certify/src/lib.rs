//! Certificates of admission: whole numbers from which anybody can see that a link or a CPU keeps all
//! deadlines.
//!
//! Demand over the length of an interval is a sum of lines between corner points. A certificate names the
//! corner points; [`link::check`] and [`cpu::check`] decide on them alone, in integers of 128 bits whose
//! overflow is an error. For CPUs that share a queue [`cluster::check`] decides on a sum of densities. The same checks
//! are proved sound in Coq (`proofs/link/Certificate.v`, `proofs/cpu/Certificate.v`, `proofs/cpu/Cluster.v`) and
//! extracted from there as a program.
//!
//! Nothing here is shared with `laxity check`: neither the admission tests and curves of `laxity-curve` nor
//! those of `laxity-cpu`. The crate depends on nothing.
//!
//! ```
//! use laxity_certify::{Envelope, Flow, LinkFacts, Promise, link, text};
//! let voice = Flow {
//!     name: "voice".to_owned(),
//!     packet: 200,
//!     promise: Promise::Deadline {
//!         deadline: 10_000_000,
//!         envelope: Envelope::Buckets(vec![(200, 80_000)]),
//!     },
//! };
//! let facts = LinkFacts { rate: 10_000_000, best_effort: 1500, backlog: 0, paper: true, flows: vec![voice] };
//! let proof = link::issue(&facts)?;
//! assert_eq!(link::check(&facts, &proof), Ok(()));
//! let file = text::link(&facts, &proof);
//! assert!(text::read(&file).is_ok());
//! # Ok::<(), laxity_certify::NoCertificate>(())
//! ```
#![forbid(unsafe_code)]

pub mod cluster;
pub mod cpu;
mod error;
mod events;
mod facts;
pub mod link;
mod service;
pub mod text;

pub use error::{NoCertificate, Refusal};
pub use events::Line;
pub use facts::{
    ClusterFacts, ClusterProof, CpuFacts, CpuProof, Envelope, Facts, Flow, FlowProof, LinkFacts,
    LinkProof, Piece, Promise, Proof, Reservation, Service,
};
