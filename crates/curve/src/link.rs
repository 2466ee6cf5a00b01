//! A link, its flows, and the options that a scenario names.

use laxity_core::{Bytes, Rate, Span};

use crate::Envelope;

/// Which packets count as blocking another one (`blocking = "paper" | "exact"`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Blocking {
    /// One largest packet over all flows, best effort included, everywhere (the paper).
    #[default]
    Paper,
    /// Only packets that can: best effort, and flows whose deadline is later than the interval;
    /// for best-effort deadlines only the latter, since best-effort deadlines are monotone.
    Exact,
}

/// Whose deadlines are guaranteed (`guarantee = "realtime" | "all"`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Guarantee {
    /// Those of real-time packets. Best-effort deadlines only order the queue.
    #[default]
    Realtime,
    /// Those that best-effort packets are assigned as well (Theorem 2 in full).
    All,
}

/// `E(t) = slope * (t - shift)` for `t > shift`, else 0 (section 4.2 of the paper).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShiftedLine {
    /// Slope, positive.
    pub slope: Rate,
    /// Where the line leaves zero.
    pub shift: Span,
}

/// `E(t) = first * t` up to `corner`, then on with slope `second` (section 4.3 of the paper).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TwoSegment {
    /// Slope from the origin.
    pub first: Rate,
    /// Slope after the corner, not below `first`.
    pub second: Rate,
    /// Where the slope changes.
    pub corner: Span,
}

/// A real-time flow on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Its envelope, counted on the wire.
    pub envelope: Envelope,
    /// From arrival (conformance) to the end of transmission.
    pub deadline: Span,
}

/// A link and what it carries beside real-time flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Its rate.
    pub rate: Rate,
    /// The largest best-effort packet, counted on the wire.
    pub best_effort_packet: Bytes,
    /// The backlog that may be below the scheduler: shaping credit and bytes in flight.
    pub downstream_backlog: Bytes,
    /// How blocking is counted.
    pub blocking: Blocking,
}
