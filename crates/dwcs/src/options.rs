//! The readings of DWCS, each under its name.

use core::num::NonZeroU32;

use laxity_core::Span;

use crate::{Rank, Rules};

/// The first criterion of the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The earliest deadline, then the lowest tolerance (the form of 2000/2004).
    #[default]
    DeadlineFirst,
    /// The lowest tolerance, then the earliest deadline (Table 1 of the paper).
    ToleranceFirst,
}

/// The effect on the window of a packet served by its deadline, rule (A).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RuleA {
    /// Counts a window of `x' = y'` down too, so windows follow one another without end (the form
    /// of 2000/2004). Needed for the guarantee.
    #[default]
    Rolling,
    /// As the paper prints it: `x' = y' > 0` stays until a miss. A stream that meets its
    /// deadlines comes to rest there, so all streams of an underloaded server end up alike
    /// (Figure 4(a)), and windows lose their footing.
    Printed,
}

/// The effect of a miss on a window that tolerates none any more, rule (C).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RuleC {
    /// The stream gets more urgent with each miss until it is served once; then a window starts
    /// afresh (the form of 2000/2004).
    #[default]
    Tag,
    /// A window starts afresh (method 2 of the paper, used throughout it).
    Reset,
    /// The window grows so that `3x` losses in `3y` packets are not exceeded (method 1 of the
    /// paper); each further violation in it adds `2y`. For `x = 0` as [`RuleC::Reset`], because
    /// the printed rule gives `-1`. Lasting overload would let windows grow without end, so they
    /// stop at [`LONGEST_WINDOW`](crate::LONGEST_WINDOW) packets; up to there the method is exact.
    Widen,
}

/// When deadlines are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// After every so many services; 1 is the algorithm, more an approximation that costs less
    /// (section 4 of the paper, "scalability by use of flexibility").
    Every(NonZeroU32),
    /// As seldom as bounds the time of decisions without more violated windows; driven by
    /// [`Scheduler::cost`](crate::Scheduler::cost) what decisions cost.
    Adaptive {
        /// Time that a decision may take on average.
        budget: Span,
        /// Never more services between two looks than this.
        most: NonZeroU32,
    },
}

/// Which of two streams goes first that both have run out of losses in equally long windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ZeroTie {
    /// The one with the earlier deadline. Suits structures that keep a queue by deadline for each
    /// tolerance, and changes totals by less than 5 %.
    #[default]
    Deadline,
    /// Earliest head arrival first (the last row of Table 1).
    FirstCome,
}

/// How DWCS is read. The default is what a product should use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// The first criterion of the order.
    pub order: Order,
    /// The effect on a window of service by the deadline.
    pub rule_a: RuleA,
    /// The effect of a miss on a window that tolerates none.
    pub rule_c: RuleC,
    /// When deadlines are looked at.
    pub check: Check,
    /// Whether the chosen stream's own misses are counted just before it is served. With
    /// [`Check::Every`] of 1 this changes nothing; otherwise, without it, a head that is served
    /// late before its miss was seen counts as met (as printed) and the miss is never charged.
    pub settle: bool,
    /// A head may go out at most this many gaps before its deadline; `None` lets streams work
    /// ahead without bound, as in the paper. Early service costs others their deadlines.
    pub ahead: Option<NonZeroU32>,
    /// Deadlines lie on multiples of the stream's gap: a packet that finds its queue empty counts
    /// as if it had come at the next one, so it may go out, and is due, up to a gap later. With
    /// deadlines first this guarantees admitted tolerances when streams start at different
    /// times. Streams of one gap then all become due together, so the server sends in bursts as
    /// long as its load.
    pub align: bool,
    /// Ties among windows that tolerate no more losses. Without effect when deadlines come first.
    pub zero_tie: ZeroTie,
}

impl Check {
    /// After every service.
    pub const ALWAYS: Check = Check::Every(NonZeroU32::MIN);
}

impl Default for Options {
    fn default() -> Options {
        Options {
            order: Order::DeadlineFirst,
            rule_a: RuleA::Rolling,
            rule_c: RuleC::Tag,
            check: Check::ALWAYS,
            settle: true,
            ahead: Some(NonZeroU32::MIN),
            align: false,
            zero_tie: ZeroTie::Deadline,
        }
    }
}

impl Options {
    /// As the paper describes DWCS, and no better: for comparison.
    pub const fn paper() -> Options {
        Options {
            order: Order::ToleranceFirst,
            rule_a: RuleA::Printed,
            rule_c: RuleC::Reset,
            check: Check::ALWAYS,
            settle: false,
            ahead: None,
            align: false,
            zero_tie: ZeroTie::FirstCome,
        }
    }

    /// Tolerances first, with windows that roll and no working ahead. Keeps admitted tolerances
    /// although streams start at different times, where the default keeps them only for streams
    /// that start a whole number of gaps apart (or with [`align`](Self::align)); and loses fewer
    /// windows where gaps differ. Costs more a decision.
    pub fn tolerance_first() -> Options {
        Options { order: Order::ToleranceFirst, ..Options::default() }
    }

    /// The options that determine the precedence.
    pub fn rank(&self) -> Rank {
        Rank { order: self.order, zero_tie: self.zero_tie, ahead: self.ahead }
    }

    /// The options that decide what windows become.
    pub fn rules(&self) -> Rules {
        Rules { a: self.rule_a, c: self.rule_c }
    }
}
