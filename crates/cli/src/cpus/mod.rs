//! CPU scenarios on the command line.

mod files;
mod schedule;
pub mod simulate;
mod trace_events;
