//! Simulation of a media server: generators, queues, the engine that drives a scheduler, measures.

pub mod arrivals;
pub mod engine;
pub mod fifos;
pub mod measure;
pub mod policy;
pub mod simulate;
pub mod source;
pub mod summary;

pub use engine::{StreamObserver, StreamPacket};
pub use measure::ClassMeasure;
pub use simulate::{StreamRun, StreamSimulationError, simulate, simulate_all, simulate_structure};
