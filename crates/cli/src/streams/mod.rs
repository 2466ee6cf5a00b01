//! Stream scenarios on the command line.

pub mod analysis;
pub mod check;
mod recorder;
pub mod simulate;
