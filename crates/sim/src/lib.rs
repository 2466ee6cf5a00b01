//! The simulator: generators, one discrete-event engine, measurement. Everything it prints is
//! simulated; the same input and seed give the same bytes.
#![forbid(unsafe_code)]

pub mod compare;
pub mod cpu;
pub mod cpus;
pub mod engine;
pub mod fit;
pub mod measure;
pub mod parallel;
pub mod random;
pub mod replay;
pub mod simulate;
pub mod source;
pub mod streams;
pub mod summary;

pub use engine::{Control, Ending, Observer, run};
pub use measure::Measure;
pub use random::Random;
pub use simulate::{PolicyRun, SimulationError, Traffic, simulate, simulate_all, simulate_policy};
pub use source::Generator;
