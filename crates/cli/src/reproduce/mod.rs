//! `laxity reproduce`. The feature `reproduce` brings the papers' experiments; no other command uses
//! them.

#[cfg(feature = "reproduce")]
mod enabled;
#[cfg(feature = "reproduce")]
pub use enabled::{papers, run};

#[cfg(not(feature = "reproduce"))]
mod disabled;
#[cfg(not(feature = "reproduce"))]
pub use disabled::{papers, run};
