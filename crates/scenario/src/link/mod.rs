//! Scenarios of a link and the flows that share it.

mod config;
pub mod keys;
pub mod model;
pub mod policies;
pub(crate) mod read;
mod write;

pub use model::Scenario;
