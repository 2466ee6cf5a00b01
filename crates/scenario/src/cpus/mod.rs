//! Scenarios of CPUs and their tasks.

pub mod model;
pub mod policies;
pub(crate) mod read;
pub mod shape;
mod write;

pub use model::CpuScenario;
