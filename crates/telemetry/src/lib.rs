//! Telemetry of live parts: the link in the kernel and in user space, the CPU scheduler, the media server.
//!
//! - [`table`]: all metrics, an entry each: name, type, unit, labels, help.
//! - [`exposition`]: a page of metrics, in the text format of Prometheus.
//! - [`http`]: pages of metrics and of status, events and actions over HTTP, on loopback.
#![forbid(unsafe_code)]

pub mod exposition;
pub mod fuzz;
pub mod http;
mod metric;
pub mod table;

pub use metric::{Kind, Metric, Unit};
