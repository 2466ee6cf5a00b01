//! A receiver that measures: loss in windows, delay, jitter, reordering; and reports by RTCP.

mod probation;
mod run;
mod sequence;
mod source;
mod stamp;
#[cfg(test)]
mod tests;
mod windows;

pub use run::{Receiver, ReceiverConfig, ReceiverError, Report};
pub use source::{Arrival, SourceMeter, SourceReport};
pub use stamp::Stamp;
pub use windows::{Windows, WindowsReport};
