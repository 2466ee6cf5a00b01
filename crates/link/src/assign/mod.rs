//! Deadlines for best-effort packets: one rule, one file.
//!
//! Every safe rule keeps the work with deadlines inside any interval below the effective residual
//! capacity `E` of that interval (Theorem 2 of the paper). They differ in how much of `E` they see
//! and what they remember. Work is counted in bytes on the wire; deadlines are rounded up.

mod algorithm_3;
mod algorithm_3_printed;
mod background;
mod best_effort_first;
mod exact;
mod fifo;
mod history;
mod shifted_line;
mod tbs;
mod two_segment;

pub use algorithm_3::Algorithm3;
pub use algorithm_3_printed::Algorithm3Printed;
pub use background::Background;
pub use best_effort_first::BestEffortFirst;
pub use exact::Exact;
pub use fifo::Fifo;
pub use history::History;
pub use shifted_line::Shifted;
pub use tbs::TotalBandwidthServer;
pub use two_segment::TwoSegments;

use laxity_core::{PolicyInfo, Time};

/// A rule that gives each best-effort packet of the ordered aggregate its absolute deadline.
pub trait Assigner {
    /// Name, summary and options.
    const INFO: PolicyInfo;

    /// The deadline of the next packet of the aggregate, of `wire` bytes, released at `release`.
    ///
    /// Releases do not decrease between calls. Deadlines of safe rules do not decrease either
    /// (Theorem 1), so best-effort packets never overtake each other.
    fn assign(&mut self, release: Time, wire: u32) -> Time;

    /// Forgets all earlier packets: nothing waits and the wire is idle.
    fn reset(&mut self);

    /// Whether everything is served in order of arrival: real-time packets by conformance instead
    /// of deadline, best effort as one queue whatever its classes.
    const ARRIVAL_ORDER: bool = false;
}
