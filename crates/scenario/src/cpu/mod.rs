//! Scenarios of CPUs and their tasks.

pub mod keys;
pub mod model;
mod options;
pub mod policies;
pub(crate) mod read;
mod write;

pub use model::CpuScenario;
