//! The attributes of a task: nice value, reservation, group, affinity.

use core::fmt;

use laxity_core::Span;

use crate::CpuSet;

/// A nice value, from -20 (greatest share) to 19 (least share).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nice(i8);

impl Nice {
    /// A nice value; `None` outside `-20..=19`.
    pub const fn new(value: i8) -> Option<Nice> {
        if value < -20 || value > 19 { None } else { Some(Nice(value)) }
    }

    /// The number itself.
    #[inline]
    pub const fn get(self) -> i8 {
        self.0
    }

    /// `20 - nice`, from 1 to 40: the positive scale of Linux 2.4, by which BEBS shares.
    #[inline]
    pub const fn scale(self) -> u32 {
        (20 - self.0 as i32) as u32
    }
}

/// `budget` of CPU time in every `period`, within `deadline` of the period's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reservation {
    /// CPU time.
    pub budget: Span,
    /// The least distance between releases.
    pub period: Span,
    /// The deadline relative to the release, at most the period.
    pub deadline: Span,
}

/// Greater periods and deadlines are refused: a day. Products of times below it are far from
/// overflow.
pub const LONGEST_PERIOD: Span = Span(86_400_000_000_000);

impl Reservation {
    /// A reservation whose deadline is its period.
    pub const fn new(budget: Span, period: Span) -> Reservation {
        Reservation { budget, period, deadline: period }
    }

    /// The same within a shorter deadline.
    pub const fn within(self, deadline: Span) -> Reservation {
        Reservation { deadline, ..self }
    }

    /// Whether the deadline is shorter than the period.
    pub fn is_constrained(&self) -> bool {
        self.deadline < self.period
    }

    /// Checks the reservation alone, without admission.
    ///
    /// # Errors
    /// Names the invalid parameter.
    pub fn check(&self) -> Result<(), ReservationFault> {
        let Reservation { budget, period, deadline } = *self;
        if budget == Span::ZERO {
            return Err(ReservationFault::ZeroBudget);
        }
        if period == Span::ZERO {
            return Err(ReservationFault::ZeroPeriod);
        }
        if period > LONGEST_PERIOD {
            return Err(ReservationFault::PeriodTooLong { period });
        }
        if deadline > period {
            return Err(ReservationFault::DeadlineBeyondPeriod { deadline, period });
        }
        if budget > deadline {
            return Err(ReservationFault::BudgetBeyondDeadline { budget, deadline });
        }
        Ok(())
    }
}

/// Why a reservation is invalid, apart from admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservationFault {
    /// The budget is zero.
    ZeroBudget,
    /// The period is zero.
    ZeroPeriod,
    /// The period exceeds [`LONGEST_PERIOD`].
    PeriodTooLong {
        /// The period asked for.
        period: Span,
    },
    /// The budget exceeds the deadline.
    BudgetBeyondDeadline {
        /// The budget asked for.
        budget: Span,
        /// The deadline asked for.
        deadline: Span,
    },
    /// The deadline exceeds the period.
    DeadlineBeyondPeriod {
        /// The deadline asked for.
        deadline: Span,
        /// The period asked for.
        period: Span,
    },
}

/// The class of service of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Service {
    /// Best effort, by its nice value.
    #[default]
    BestEffort,
    /// A server of fixed budget and period that may also use slack: CBS and IRIS require these
    /// parameters for each soft task. Policies without servers treat it as best effort.
    Soft(Reservation),
    /// Guaranteed, and limited to its budget. Policies without reservations treat it as best effort.
    Hard(Reservation),
}

/// Tasks that share one server: the threads of a process, or a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// The attributes of a task. The default is best effort at nice 0, without a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// Share among best-effort tasks.
    pub nice: Nice,
    /// The kind of service.
    pub service: Service,
    /// Tasks of one group share one server, with the attributes of the first that joins.
    /// Policies without servers ignore it.
    pub group: Option<GroupId>,
    /// The CPUs on which it may run. Policies for one CPU ignore it.
    pub affinity: CpuSet,
}

impl Attributes {
    /// Best effort at a nice value.
    pub const fn best_effort(nice: Nice) -> Attributes {
        Attributes { nice, service: Service::BestEffort, group: None, affinity: CpuSet::ALL }
    }

    /// A server of fixed budget and period.
    pub fn soft(reservation: Reservation) -> Attributes {
        Attributes { service: Service::Soft(reservation), ..Attributes::default() }
    }

    /// A guarantee.
    pub fn hard(reservation: Reservation) -> Attributes {
        Attributes { service: Service::Hard(reservation), ..Attributes::default() }
    }

    /// The same attributes in a group.
    pub const fn in_group(self, group: GroupId) -> Attributes {
        Attributes { group: Some(group), ..self }
    }

    /// The same attributes on these CPUs only.
    pub const fn on(self, affinity: CpuSet) -> Attributes {
        Attributes { affinity, ..self }
    }
}

impl fmt::Display for Nice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in every {}", self.budget, self.period)?;
        if self.is_constrained() {
            write!(f, " within {}", self.deadline)?;
        }
        Ok(())
    }
}

impl fmt::Display for ReservationFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReservationFault::ZeroBudget => write!(f, "a budget of 0 ms: give CPU time to reserve"),
            ReservationFault::ZeroPeriod => write!(f, "a period of 0 ms: give a longer one"),
            ReservationFault::PeriodTooLong { period } => {
                write!(f, "a period of {period}: give at most {LONGEST_PERIOD}")
            }
            ReservationFault::BudgetBeyondDeadline { budget, deadline } => {
                write!(f, "{budget} of CPU time by {deadline}: give a budget up to the deadline")
            }
            ReservationFault::DeadlineBeyondPeriod { deadline, period } => {
                write!(f, "a deadline of {deadline} after {period}: give one up to the period")
            }
        }
    }
}

impl core::error::Error for ReservationFault {}
