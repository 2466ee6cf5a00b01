//! Why tolerances are not promised, in words.

use core::fmt;

use laxity_core::Span;

/// A reason why admission cannot guarantee every tolerance in back-to-back windows. The failures
/// named are held by tests (`crates/dwcs/tests/counterexamples.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The shares sum up to more than 1: no scheduler can meet all tolerances.
    Overload,
    /// Streams with different gaps. Deadlines first, `0/1` every 6, `6/6` every 1 and `0/1` every
    /// 7 units fail at 0.31 of the server: a stream that may lose everything gets the slot because
    /// it is due first. Tolerances first fail less often, but do.
    Gaps {
        /// The shortest.
        least: Span,
        /// The longest.
        most: Span,
    },
    /// Packets that take different times. `0/1` of 1 unit every 2 and `99/100` of 4 units every
    /// 400 fail at 0.51: service is not preemptive.
    ServiceTimes {
        /// The shortest.
        least: Span,
        /// The longest.
        most: Span,
    },
    /// Deadlines first, and deadlines of different streams do not lie a whole number of gaps
    /// apart. `0/1`, `0/1` and `1/1` with a gap of two packets fail when the third starts half a
    /// gap early: it is then due first although it may lose everything.
    Phases,
    /// Windows do not roll. `3/4` and `2/6` with the gap of one packet fail at
    /// 0.92 of the server.
    PrintedWindows,
    /// Tolerances first, and heads go out more than a gap ahead. `0/4`, `0/4` and `4/4` with a
    /// gap of two packets fail: a stream a window ahead leaves the others too little.
    WorkingAhead,
    /// Deadlines are not looked at before every decision, so windows are out of date.
    InfrequentChecks,
    /// Streams without deadlines use slots that the sum does not account for.
    NoDeadlines {
        /// They can come before streams with deadlines, and for ever.
        first: bool,
    },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Overload => write!(
                f,
                "the streams need more than the whole server, so some will lose more than they \
                 tolerate: admit fewer, tolerate more or lengthen gaps"
            ),
            Obstacle::Gaps { least, most } => write!(
                f,
                "gaps differ ({least} to {most}), and then tolerances can fail at any load: give \
                 all streams one gap; tolerances first fail least"
            ),
            Obstacle::ServiceTimes { least, most } => write!(
                f,
                "packets take different times ({least} to {most}), and a long one that was begun \
                 is not put aside: give all packets one size, or count each as the longest"
            ),
            Obstacle::Phases => write!(
                f,
                "streams start at different times, and by deadline one that may lose a packet \
                 then goes before one that may not: order by tolerance first, align deadlines, or \
                 start streams a whole number of gaps apart"
            ),
            Obstacle::PrintedWindows => write!(
                f,
                "windows that tolerate all of their rest stay so until a miss and lose their \
                 place: let windows roll"
            ),
            Obstacle::WorkingAhead => write!(
                f,
                "streams work ahead of their deadlines, which costs others theirs: let heads go \
                 out one gap ahead at most"
            ),
            Obstacle::InfrequentChecks => write!(
                f,
                "deadlines are not looked at before every decision, so decisions rest on windows \
                 that are out of date: check after every service"
            ),
            Obstacle::NoDeadlines { first: true } => write!(
                f,
                "streams without deadlines compete by tolerance and may go first for ever: order \
                 by deadline first, or give them a gap"
            ),
            Obstacle::NoDeadlines { first: false } => write!(
                f,
                "streams without deadlines take slots between the others: give them a gap, or \
                 leave room for one of their packets in every gap"
            ),
        }
    }
}
