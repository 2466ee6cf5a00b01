//! One server: budget, period, and its state within the current period.

use super::unhashed::Unhashed;
pub(crate) use crate::view::{ServerKind as Kind, ServerState as State};
use crate::{GroupId, Reservation, Share};

/// No task; ends the list of members.
pub(crate) const NO_TASK: u32 = u32::MAX;

/// Instants and durations are in ns.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Server {
    pub state: State,
    pub kind: Kind,
    pub budget: u64,
    pub period: u64,
    pub remaining_budget: u64,
    /// Current release plus period. The release itself may lie before time zero once a period
    /// was stretched, so the end is stored instead.
    pub period_end: u64,
    pub deadline: u64,
    /// The next release without slack.
    pub nominal_release: u64,
    /// Execution in the current sample.
    pub execution: u64,
    pub average: u64,
    /// The average from which the current budget was computed.
    pub applied_average: u64,
    /// Whether it has used a whole greatest budget without sleep.
    pub compute_bound: bool,
    /// Whether the running task has woken it, and it has not been picked since.
    pub defers: bool,
    pub weight: u32,
    /// The part of the weight that is in the total weight.
    pub active_weight: u32,
    /// The first and last runnable members.
    pub head: u32,
    pub tail: u32,
    pub members: u32,
    pub group: Option<GroupId>,
    /// Before `limited_until` the share is `limited_rate`, and for reservations that of `previous`.
    pub limited_until: u64,
    pub limited_rate: Share,
    pub previous: Reservation,
    pub declared: Reservation,
    /// For reservations, the ledger's row, which is the greatest share promised from now on, and
    /// the time from which the other servers leave all of it free.
    pub ledger_row: Reservation,
    pub ledger_row_from: u64,
    /// When its own share last rose: no release is backdated beyond it.
    pub last_rise: u64,
    /// Its number among all servers that there were.
    pub serial: Unhashed,
    /// How often it was replenished.
    pub replenished: Unhashed,
}

impl Server {
    pub(crate) fn new(kind: Kind, weight: u32, declared: Reservation) -> Server {
        Server {
            state: State::Blocked,
            kind,
            budget: 0,
            period: 0,
            remaining_budget: 0,
            period_end: 0,
            deadline: 0,
            nominal_release: 0,
            execution: 0,
            average: 0,
            applied_average: 0,
            compute_bound: false,
            defers: false,
            weight,
            active_weight: 0,
            head: NO_TASK,
            tail: NO_TASK,
            members: 0,
            group: None,
            limited_until: 0,
            limited_rate: Share::ZERO,
            previous: declared,
            declared,
            ledger_row: declared,
            ledger_row_from: 0,
            last_rise: 0,
            serial: Unhashed::default(),
            replenished: Unhashed::default(),
        }
    }

    /// The reservation that applies to a release at `now`.
    pub(crate) fn in_force(&self, now: u64) -> Reservation {
        if now < self.limited_until { self.previous } else { self.declared }
    }

    /// The weight that determines its share: of a raised weight the active part, and the whole of a
    /// lowered one.
    pub(crate) fn share_weight(&self) -> u32 {
        self.weight.min(self.active_weight)
    }

    /// Whether a wake-up at `now` starts a new release: the period is over, or the server has used
    /// no more than its share since the release (BEBS section 4.1, rule 4). The release is the
    /// actual one, also when idle time advanced it: nothing was pending then, so the share counts
    /// from there.
    ///
    /// A server whose deadline is shorter than its period has one release a period, since its
    /// guarantee depends on their distance.
    pub(crate) fn needs_new_release(&self, now: u64) -> bool {
        if now >= self.period_end {
            return true;
        }
        let since_release = now.saturating_add(self.period).checked_sub(self.period_end);
        let Some(since) = since_release.filter(|_| !self.is_constrained()) else { return false };
        let used = u128::from(self.budget - self.remaining_budget);
        used * u128::from(self.period) <= u128::from(since) * u128::from(self.budget)
    }

    pub(crate) fn is_constrained(&self) -> bool {
        self.kind == Kind::Hard && self.declared.is_constrained()
    }

    /// The time at which the share since the release equals the used budget, at least `now`.
    pub(crate) fn zero_lag(&self, now: u64) -> u64 {
        if self.is_constrained() {
            return self.period_end.max(now);
        }
        let unused = u128::from(self.remaining_budget) * u128::from(self.period);
        let unused = unused / u128::from(self.budget.max(1));
        (self.period_end - (unused as u64).min(self.period_end)).max(now)
    }

    /// The share of the current period, rounded down.
    pub(crate) fn rate(&self) -> Share {
        Share::down(laxity_core::Span(self.budget), laxity_core::Span(self.period))
    }

    /// Adds the current sample to the average, which weighs three times as much.
    pub(crate) fn record_sample(&mut self) {
        self.average = self.average.saturating_mul(3).saturating_add(self.execution) / 4;
        self.execution = 0;
    }
}
