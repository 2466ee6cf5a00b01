//! Scenarios of CPUs and their tasks.

pub mod model;
mod options;
pub mod policies;
pub(crate) mod read;
pub mod shape;
mod write;

pub use model::CpuScenario;
