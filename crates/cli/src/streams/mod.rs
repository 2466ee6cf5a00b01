//! Stream scenarios on the command line.

mod recorder;
pub mod simulate;
