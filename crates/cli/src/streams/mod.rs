//! Stream scenarios on the command line.

mod analysis;
pub mod check;
mod recorder;
pub mod simulate;
