//! The rules in which policies made of servers differ. Each policy's file fills them in.

use laxity_core::Span;

use crate::Share;

/// The fate of a best-effort server whose budget is exhausted. Hard ones are always suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exhaustion {
    /// It waits for its next release (BEBS, IRIS).
    Suspend,
    /// It gets its next budget at once, with a deadline one period later (CBS).
    Recharge,
}

/// The deadline of a release that idle time has advanced (BEBS section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slack {
    /// No release is advanced.
    Unused,
    /// The deadline of the nominal release (BEBS).
    OriginalDeadline,
    /// One period after the early release (IRIS).
    NewDeadline,
}

/// How the budget and period of a best-effort server follow from its share.
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
    /// The extent of one sample of execution.
    pub sample: Sample,
    /// The average before the first sample.
    pub initial_average: Span,
    /// Budget beyond the average, in thousandths of the average; the paper's `C` is a half.
    pub margin: u32,
    /// The least budget.
    pub min_budget: Span,
    /// The greatest budget, the paper's `e_max`.
    pub max_budget: Span,
    /// The quantity from which the period is computed.
    pub basis: Basis,
    /// A budget is recomputed only when the average has moved by more than this many thousandths.
    pub hysteresis: u32,
}

impl Adaptation {
    /// The values of the paper; where it gives none, those of the reference simulation.
    pub const PAPER: Adaptation = Adaptation {
        sample: Sample::State,
        initial_average: Span::from_millis(10),
        margin: 500,
        min_budget: Span(10_000),
        max_budget: Span::from_millis(200),
        basis: Basis::Budget,
        hysteresis: 0,
    };
}

/// When execution is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sample {
    /// When the server leaves the executing state, blocked or expired: as the paper says.
    #[default]
    State,
    /// At every context switch, which reproduces the paper's figure 7(a).
    Switch,
    /// From wake-up to sleep, and each time the greatest budget was used without sleep. With
    /// `State`, a frame longer than its budget is cut into two samples, so averages settle below
    /// the frame.
    Job,
}

/// The quantity from which the period is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Basis {
    /// `p = b / u`, as in the paper's algorithm.
    #[default]
    Budget,
    /// `p = e_avg / u`, as in the paper's text. Reserves more than the share: unsafe.
    Average,
}

/// Which best-effort tasks divide the bandwidth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Load {
    /// All that have joined.
    #[default]
    Live,
    /// Those that are not blocked.
    Unblocked,
}

/// How servers give up bandwidth for a new server, a reservation or a changed weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Transition {
    /// Each server shrinks at its zero-lag time, when it has used no more than its old share. The
    /// new server has the bandwidth that is free by then, and its whole share when all have shrunk;
    /// a departed server's share is reclaimed at its zero-lag time. Safe; see [`crate::servers`].
    #[default]
    ZeroLag,
    /// Current periods of unblocked servers are stretched and the new server starts at once. Unsafe:
    /// a later deadline does not return what a server has used ahead of its share.
    Stretch,
    /// The new server waits until every unblocked server that must shrink has ended its period.
    Wait,
    /// [`Stretch`](Transition::Stretch) and [`Wait`](Transition::Wait).
    StretchAndWait,
    /// The new server starts at once and no server shrinks before its next period. Unsafe.
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
    /// When a budget is exhausted.
    pub exhaustion: Exhaustion,
    /// When the CPU would idle.
    pub slack: Slack,
    /// Budgets and periods of servers without a declaration.
    pub sizing: Sizing,
    /// Whether [`Service::Soft`](crate::Service::Soft) gets the budget and period it declares;
    /// otherwise it is plain best effort.
    pub declared: bool,
    /// How far deadlines may run ahead of shares in idle time; `None` without limit. Matters where
    /// exhausted servers are recharged.
    pub ahead: Option<Span>,
    /// Which servers divide the bandwidth.
    pub load: Load,
    /// How long a blocked server keeps its weight under [`Load::Unblocked`]. A task that wakes
    /// within this time has its share at once; later it waits until other servers have given up
    /// the bandwidth that they took over and used ahead.
    pub lapse: Span,
    /// The longest adaptive period: budgets are cut where the share would need a longer one. Not
    /// from a paper; Linux ejects a scheduler that leaves a task waiting for too long.
    pub max_period: Option<Span>,
    /// The budget of a task that has executed without sleep for longer than four times its average and this,
    /// or for a greatest budget of [`Adaptation`], until it sleeps; with [`Sample::Job`]. Its deadlines are
    /// later by the greatest budget: such tasks take turns this often, and tasks that sleep precede them
    /// until they are ahead by so much. A group counts as one task.
    pub slice: Option<Span>,
    /// While there are no reservations, a best-effort task that was picked less than this ago is not
    /// preempted by another one, except by one whose budget is at most an eighth of this and that it has not
    /// woken. Zero: every earlier deadline preempts.
    pub wakeup_granularity: Span,
    /// How bandwidth is redistributed.
    pub transition: Transition,
    /// The share that hard reservations must leave, the paper's `U_BE,min`.
    pub best_effort_bw_min: Share,
}
