//! CPU scenarios on the command line.

pub mod analysis;
pub mod check;
mod files;
mod schedule;
pub mod simulate;
mod trace_events;
