//! Tasks on CPUs: one discrete-event engine, task models, measures, recordings of the schedule.
//!
//! [`run`] drives any [`laxity_cpu::Policy`]. An [`Observer`] receives the events; [`Measure`]
//! collects shares, response times, tardiness and gaps, [`Recording`] the schedule itself. A pair
//! of observers is one.

mod buffers;
mod charged_run;
mod cost;
mod engine;
mod locks;
mod measure;
mod model;
mod observe;
pub mod papers;
mod record;
pub mod recorded;
mod run_record;
mod simulate;
mod source;
pub mod summary;
mod task;
pub mod workloads;

pub use charged_run::ChargedRun;
pub use cost::Cost;
pub use engine::{Ending, EngineError, Machine, run, run_recorded};
pub use measure::{Measure, TaskMeasure};
pub use observe::{Job, Observer};
pub use record::{Recording, Slice};
pub use run_record::RowSink;
pub use simulate::{
    CpuRun, CpuSimulationError, readings, result, simulate, simulate_all, simulate_policy,
    simulate_recorded, with_overheads,
};
pub use source::{RecordingError, RecordingProblem, attributes, tasks, tasks_and};
pub use task::{Change, Gap, Late, Step, Task, Workload};
