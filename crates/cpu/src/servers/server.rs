//! One server: budget, period, and where it stands in its current period.

use crate::{GroupId, Reservation, Share};

/// No task: the end of a list of members.
pub(crate) const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum State {
    /// No member is runnable.
    Blocked,
    /// Competes with its deadline: the paper's *executing*.
    Ready,
    /// Runnable members wait for the next release.
    Expired,
    /// All members left; its share is not free before its zero-lag time.
    Leaving,
    /// The place may be given away.
    Vacant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Guaranteed; suspended when its budget is used up, and never given slack.
    Hard,
    /// Of declared budget and period.
    Soft,
    /// Of a share of what best effort has.
    Shared,
}

/// Times are instants or lengths in ns.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Server {
    pub state: State,
    pub kind: Kind,
    pub budget: u64,
    pub period: u64,
    /// Budget left.
    pub left: u64,
    /// Current release plus period. The release itself may lie before time zero once a period
    /// was stretched, so the end is kept in its place.
    pub end: u64,
    pub deadline: u64,
    /// The next release before any idle time advanced it.
    pub original: u64,
    /// Execution since the last sample began.
    pub execution: u64,
    pub average: u64,
    /// The average that the current budget was computed from.
    pub average_used: u64,
    pub weight: u32,
    /// What of the weight is in the load.
    pub counted: u32,
    /// First and last runnable member.
    pub head: u32,
    pub tail: u32,
    pub members: u32,
    pub group: Option<GroupId>,
    /// Before `limited_until` the share is `limited_rate`, or for reservations `held`.
    pub limited_until: u64,
    pub limited_rate: Share,
    pub held: Reservation,
    pub declared: Reservation,
    /// Reservations: the ledger's row, which is the greatest share promised from now on, and from
    /// when on others have left all of it free.
    pub row: Reservation,
    pub row_from: u64,
    /// When its own share last rose: no release is dated back beyond it.
    pub risen: u64,
}

impl Server {
    pub(crate) fn new(kind: Kind, weight: u32, declared: Reservation) -> Server {
        Server {
            state: State::Blocked,
            kind,
            budget: 0,
            period: 0,
            left: 0,
            end: 0,
            deadline: 0,
            original: 0,
            execution: 0,
            average: 0,
            average_used: 0,
            weight,
            counted: 0,
            head: NOBODY,
            tail: NOBODY,
            members: 0,
            group: None,
            limited_until: 0,
            limited_rate: Share::ZERO,
            held: declared,
            declared,
            row: declared,
            row_from: 0,
            risen: 0,
        }
    }

    /// The reservation that a release at `now` gets.
    pub(crate) fn in_force(&self, now: u64) -> Reservation {
        if now < self.limited_until { self.held } else { self.declared }
    }

    /// The weight that its share is of: what of a raised weight counts already, and of a lowered one no
    /// more than that.
    pub(crate) fn dividing(&self) -> u32 {
        self.weight.min(self.counted)
    }

    /// Whether the current release is void at a wake-up: the period is over, or no more was used
    /// than the share since the release (BEBS section 4.1, rule 4). The release is the actual one,
    /// also when idle time had advanced it: nothing was pending then, so the share counts from
    /// there.
    ///
    /// A server whose deadline is shorter than its period has one release in a period: its
    /// guarantee rests on their distance.
    pub(crate) fn starts_afresh(&self, now: u64) -> bool {
        if now >= self.end {
            return true;
        }
        let since_release = now.saturating_add(self.period).checked_sub(self.end);
        let Some(since) = since_release.filter(|_| !self.is_constrained()) else { return false };
        let used = u128::from(self.budget - self.left);
        used * u128::from(self.period) <= u128::from(since) * u128::from(self.budget)
    }

    pub(crate) fn is_constrained(&self) -> bool {
        self.kind == Kind::Hard && self.declared.is_constrained()
    }

    /// When the share since the release comes to what was used, or `now` if it has.
    pub(crate) fn zero_lag(&self, now: u64) -> u64 {
        if self.is_constrained() {
            return self.end.max(now);
        }
        let unused = u128::from(self.left) * u128::from(self.period);
        let unused = unused / u128::from(self.budget.max(1));
        (self.end - (unused as u64).min(self.end)).max(now)
    }

    /// The share of the current period, rounded down.
    pub(crate) fn rate(&self) -> Share {
        Share::down(laxity_core::Span(self.budget), laxity_core::Span(self.period))
    }

    /// A sample of execution enters the average, which weighs three times as much.
    pub(crate) fn sample(&mut self) {
        self.average = self.average.saturating_mul(3).saturating_add(self.execution) / 4;
        self.execution = 0;
    }
}
