//! Scenarios of a media server and its streams.

pub mod keys;
pub mod model;
pub mod policies;
pub(crate) mod read;
mod write;

pub use model::StreamScenario;
