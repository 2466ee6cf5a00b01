//! Deadline assignment for best-effort packets: one rule per file.
//!
//! Every safe rule keeps the work with deadlines inside any interval below the effective residual
//! capacity `E` of that interval (Theorem 2 of the paper). They differ in their approximation of
//! `E` and in the history that they keep. Work is counted in bytes on the wire; deadlines are
//! rounded up.
//!
//! # When earlier packets may be forgotten
//!
//! The paper restarts the history when the queues are empty. Restarting more often is safe. Let a
//! packet `x` start at an instant `e` at which no other real-time packet waits. A history that
//! begins at `e` then keeps every real-time deadline: best effort that waits counts as released at
//! `e`, and `x` as its first packet, where blocking is counted exactly; with the paper's blocking
//! `x` need not count, since `E` has room for a largest packet in every interval.
//!
//! **Proof.** Let a real-time packet due at `T` be late after `e`, and take the last start before it
//! of something due after `T`, or the end of the last idle time. If that is after `e`, the history
//! since `e` is all there is to the argument of Theorem 2. If not, all that is sent in `[e, T]` but
//! `x` is due by `T` and arrived at `e` or later, or is best effort released at `e` or later: real
//! time sends at most the sum of `A_k(T - d_k - e)`, and best effort with `x`, by the deadline of
//! its last packet due by `T`, at most `E(T - e)` (or `x` is the largest packet that `E` leaves
//! out).
//!
//! **Choosing.** The argument asks of the last best-effort packet due by `T` that *one* history in
//! which it stands bounds the work before it; deadlines within a history do not fall, so the
//! packets before it are due by `T` as well. The shortest deadline over several such histories is
//! safe therefore, and a history may be exchanged for a shorter one with any packet.
//!
//! Machine-checked for one history at a time: `proofs/link/Restart.v`.
//!
//! After an exchange deadlines may be shorter than before, so Theorem 1 holds within a history.
//! Best effort never overtakes itself all the same: only the head of the aggregate has a deadline.
//!
//! [`Exact`] restarts whenever that gives the head a shorter deadline. The other rules are the
//! paper's, and restart where the paper has it: when nothing waits.

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
    /// Releases do not decrease between calls, nor do deadlines of safe rules between restarts
    /// (Theorem 1). Best-effort packets never overtake each other.
    fn assign(&mut self, release: Time, wire: u32) -> Time;

    /// The newest packet of the aggregate, released at `release` and assigned with `from` bytes,
    /// has `wire` bytes, more than `from`: its deadline with them, never earlier than before. Where
    /// packets are chosen at each decision (`slot.rs`), the packet is only a candidate.
    ///
    /// The rest may count as a packet of its own, as it does unless a rule knows better.
    fn raise(&mut self, release: Time, from: u32, wire: u32) -> Time {
        self.assign(release, wire - from)
    }

    /// Of the newest packet, released at `release` and assigned with `from` bytes, only `wire`
    /// bytes are sent, fewer than `from` and 0 if it was dropped. Later packets count with what was
    /// sent, but their deadlines are no earlier than the one it had.
    ///
    /// To count what was not sent as well is safe, and all that a rule without this does.
    fn settle(&mut self, _release: Time, _from: u32, _wire: u32) {}

    /// Forgets all earlier packets: the queues are empty and the link is idle.
    fn reset(&mut self);

    /// A packet starts at `at` and no other real-time packet waits: earlier packets may be
    /// forgotten if `in_flight` bytes released at `at` are remembered instead, 0 with the paper's
    /// blocking. `head` has the size of the best-effort packet that waits with a deadline, if one
    /// does, and that deadline; returns a shorter one where it gets one.
    fn restart(&mut self, _at: Time, in_flight: u32, head: Option<(u32, Time)>) -> Option<Time> {
        if head.is_none() && in_flight == 0 {
            self.reset();
        }
        None
    }

    /// Whether everything is served in order of arrival: real-time packets by conformance instead
    /// of deadline, best effort as one queue whatever its classes.
    const ARRIVAL_ORDER: bool = false;

    /// Whether best effort never goes before a real-time packet.
    const AFTER_REALTIME: bool = false;

    /// Whether [`restart`](Self::restart) forgets earlier packets whenever no real-time packet
    /// waits, instead of when nothing waits.
    const RESTARTS_BEFORE_BEST_EFFORT: bool = false;
}
