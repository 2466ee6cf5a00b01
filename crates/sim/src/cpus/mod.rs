//! Simulation of a CPU scenario: its tasks as the engine knows them, runs, summaries.

mod recording;
mod simulate;
pub mod summary;
mod tasks;

pub use recording::{RecordingError, RecordingProblem};
pub use simulate::{CpuRun, CpuSimulationError, readings, result, simulate, simulate_all};
pub use tasks::{attributes, tasks};
