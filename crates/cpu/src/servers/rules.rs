//! The rules in which policies made of servers differ. Each policy's file fills them in.

use laxity_core::Span;

use crate::Share;

/// What becomes of a best-effort server whose budget is used up. Hard ones are always suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exhaustion {
    /// It waits for its next release (BEBS, IRIS).
    Suspend,
    /// It gets its next budget at once, with a deadline one period later (CBS).
    Recharge,
}

/// Which deadline a release gets that idle time has advanced (BEBS section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slack {
    /// No release is advanced.
    Unused,
    /// The deadline that it would have got on time (BEBS).
    OriginalDeadline,
    /// One period after the early release (IRIS).
    NewDeadline,
}

/// How budget and period of a best-effort server follow from its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sizing {
    /// From past execution (BEBS section 4.3).
    Adaptive(Adaptation),
    /// The same period for all.
    Equal(Span),
}

/// How budgets follow past execution (BEBS section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Adaptation {
    /// What counts as one execution.
    pub sample: Sample,
    /// The average before anything was sampled.
    pub first: Span,
    /// Budget beyond the average, in thousandths of the average; the paper's `C` is a half.
    pub margin: u32,
    /// The least budget.
    pub least: Span,
    /// The greatest budget, the paper's `e_max`.
    pub most: Span,
    /// What the period is computed from.
    pub basis: Basis,
    /// The average in use is kept while the current one is within so many thousandths of it.
    pub lazy: u32,
}

impl Adaptation {
    /// As the paper gives it; what it leaves open as in the reference simulation.
    pub const PAPER: Adaptation = Adaptation {
        sample: Sample::State,
        first: Span::from_millis(10),
        margin: 500,
        least: Span(10_000),
        most: Span::from_millis(200),
        basis: Basis::Budget,
        lazy: 0,
    };
}

/// When execution is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sample {
    /// When the server leaves the state of executing, blocked or expired: as written.
    #[default]
    State,
    /// At every context switch: what reproduces the paper's figure 7(a).
    Switch,
    /// From wake-up to sleep, and each time the greatest budget was used without sleep. As
    /// written a frame longer than its budget is cut into two samples, so averages settle below
    /// the frame.
    Job,
}

/// What the period is computed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Basis {
    /// `p = b / u`, as the algorithm has it.
    #[default]
    Budget,
    /// `p = e_avg / u`, as the text below it has it. Reserves more than the share: unsafe.
    Average,
}

/// Which best-effort tasks divide the bandwidth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Load {
    /// All that are there.
    #[default]
    Live,
    /// Those that do not sleep.
    Unblocked,
}

/// What happens when servers must give bandwidth to a newcomer, a reservation or another weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Transition {
    /// Each server shrinks as soon as it has not used more than its old share: at its zero-lag
    /// time. The newcomer has what is free by then, and its whole share when all have shrunk; a
    /// leaver's share comes back at its zero-lag time. Safe; see [`crate::servers`].
    #[default]
    ZeroLag,
    /// Current periods of unblocked servers are stretched and the newcomer starts at once. Unsafe:
    /// what a server has used ahead of its share does not come back by a later deadline.
    Stretch,
    /// The newcomer waits until every unblocked server that must shrink has ended its period.
    Wait,
    /// Both of the last two.
    StretchAndWait,
    /// The newcomer starts at once and nobody shrinks before its next period. Unsafe.
    Neither,
}

impl Transition {
    pub(crate) fn stretches(self) -> bool {
        matches!(self, Transition::Stretch | Transition::StretchAndWait)
    }

    pub(crate) fn waits(self) -> bool {
        matches!(self, Transition::Wait | Transition::StretchAndWait)
    }
}

/// All rules of one policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// At the end of a budget.
    pub exhaustion: Exhaustion,
    /// When the CPU would idle.
    pub slack: Slack,
    /// Budgets and periods of servers that nobody declared.
    pub sizing: Sizing,
    /// Whether [`Service::Soft`](crate::Service::Soft) gets the budget and period it declares; if
    /// not, it is best effort like any other.
    pub declared: bool,
    /// How far deadlines may run ahead of shares while there is nothing else to do; `None` without
    /// limit. Matters where exhausted servers are recharged.
    pub ahead: Option<Span>,
    /// Who divides the bandwidth.
    pub load: Load,
    /// For how long one that sleeps still does under [`Load::Unblocked`]. Whoever wakes within it
    /// has its share at once; otherwise it waits for what others took over meanwhile and used ahead.
    pub lapse: Span,
    /// No adaptive period is longer: budgets are cut where the share would ask for that. Not of a
    /// paper; Linux takes a scheduler away that lets a task wait for too long.
    pub longest: Option<Span>,
    /// How bandwidth changes hands.
    pub transition: Transition,
    /// The share that hard reservations must leave, the paper's `U_BE,min`.
    pub least_best_effort: Share,
}
