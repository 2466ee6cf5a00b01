//! Scenarios of a media server and its streams.

pub mod model;
pub mod policies;
pub(crate) mod read;
pub mod shape;
mod write;

pub use model::StreamScenario;
