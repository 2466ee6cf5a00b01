//! The systems of tasks in the papers on BEBS and BeRate, for their experiments and for tests.

pub mod bebs;
pub mod berate;

use laxity_core::Span;

use super::{Task, Workload};

/// Milliseconds.
pub const fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

/// A task that computes for ever.
pub fn cpu_bound(name: &str) -> Task {
    Task::new(name, Workload::CpuBound)
}
