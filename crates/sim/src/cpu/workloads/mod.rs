//! Models of programs with which schedulers are measured, and what each program prints.
//!
//! They are tasks of scripts: a wake-up, a lock and a message are steps, and execution times are parameters.

pub mod compilation;
pub mod hackbench;
pub mod schbench;

use laxity_core::Time;
use laxity_cpu::{CpuId, TaskId};

use super::Observer;

/// The instant at which the last task stopped executing: the end of a program that ends by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastExecution(pub Time);

impl Observer for LastExecution {
    fn ran(&mut self, _: Time, to: Time, _: CpuId, _: TaskId) {
        self.0 = to;
    }
}
