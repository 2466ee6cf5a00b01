//! Simulation of a link: generators, replay, the engine that drives a policy, measures, fits.

pub mod closed_loop;
pub mod compare;
pub mod disciplines;
pub mod engine;
pub mod fit;
pub mod measure;
pub mod replay;
pub mod simulate;
pub mod source;
pub mod summary;
pub mod traffic_source;

pub use closed_loop::{ClosedLoop, Transfers};
pub use engine::{Ending, Observer, run, run_source};
pub use measure::Measure;
pub use simulate::{PolicyRun, SimulationError, Traffic, simulate, simulate_all, simulate_policy};
pub use source::Generator;
pub use traffic_source::{OpenLoop, TrafficSource};
