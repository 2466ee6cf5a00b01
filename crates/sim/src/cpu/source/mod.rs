//! The tasks of a CPU scenario, in the terms of the engine.

mod recording;
mod tasks;

pub use recording::{RecordingError, RecordingProblem};
pub use tasks::{attributes, tasks, tasks_and};
