//! The plan of a link whose rate changes: a state machine without clock and I/O.
//!
//! [`RatePlanner::handle_rate`] takes a measured rate, [`RatePlanner::poll`] gives the next change of
//! the plan, [`RatePlanner::next_timeout`] the instant of the next call without a new rate. A fall
//! sheds in the same change ([`shed`](super::shed)). After a rise a flow is restored when it would
//! have been admitted at 95 % of the rate for 10 s, the most important first.

use laxity_core::{Rate, Span, Time};
use laxity_scenario::link::model::Scenario;

use super::shedding::{Admission, Shedding, with};
use crate::AnalysisError;

/// Least rate of a plan, unless the scenario's is lower.
pub const MIN_RATE: Rate = Rate(64_000);
/// Least time between two changes of the plan.
pub const MIN_CHANGE_INTERVAL: Span = Span::from_millis(100);
/// Time for which a shed flow must fit before it is restored.
pub const RESTORE_AFTER: Span = Span::from_millis(10_000);
/// Share of the rate, in per cent, at which a shed flow must be admitted to be restored.
const RESTORE_AT: u64 = 95;

/// A change of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateChange {
    /// The rate of the link from now on.
    pub rate: Rate,
    /// The flows with and without a reservation from now on.
    pub flows: Shedding,
    /// Flows that this change sheds.
    pub shed: Vec<usize>,
    /// Flows that this change restores.
    pub restored: Vec<usize>,
}

/// Decides when the plan of a link changes, and which real-time flows keep their reservation.
#[derive(Clone, Debug)]
pub struct RatePlanner {
    admission: Admission,
    min_rate: Rate,
    rate: Rate,
    flows: Shedding,
    /// The newest rate that is not in force yet.
    pending: Option<Rate>,
    last_change: Option<Time>,
    /// Since when each flow, by its place, could be restored.
    fits_since: Vec<Option<Time>>,
}

impl RatePlanner {
    /// For a link that runs a scenario at `rate`, with the flows `shed` as best effort since an
    /// earlier change.
    ///
    /// # Errors
    /// Curves beyond the range of exact numbers.
    pub fn new(
        scenario: &Scenario,
        policy: &str,
        rate: Rate,
        shed: &[usize],
        now: Time,
    ) -> Result<RatePlanner, AnalysisError> {
        let kept = (0..scenario.realtime.len()).filter(|i| !shed.contains(i)).collect();
        let mut planner = RatePlanner {
            admission: Admission::new(scenario, policy)?,
            min_rate: MIN_RATE.min(scenario.link.rate),
            rate,
            flows: Shedding { kept, shed: shed.to_vec() },
            pending: None,
            last_change: None,
            fits_since: vec![None; scenario.realtime.len()],
        };
        planner.note_restorable(now)?;
        Ok(planner)
    }

    /// The rate in force.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The flows with and without a reservation.
    pub fn flows(&self) -> &Shedding {
        &self.flows
    }

    /// Takes a measured rate, which replaces earlier ones that are not in force yet. Rates that differ
    /// from the one in force by less than 1 % change nothing; rates below the least one count as that.
    pub fn handle_rate(&mut self, rate: Rate) {
        let rate = rate.max(self.min_rate);
        let difference = u128::from(rate.0.abs_diff(self.rate.0));
        let ignored = difference * 100 < u128::from(self.rate.0);
        self.pending = (!ignored).then_some(rate);
    }

    /// The next change of the plan, if one is due. It is in force for the planner from then on.
    ///
    /// # Errors
    /// Curves beyond the range of exact numbers; the plan then stays.
    pub fn poll(&mut self, now: Time) -> Result<Option<RateChange>, AnalysisError> {
        if self.earliest_change() > now {
            return Ok(None);
        }
        let before = self.flows.clone();
        let pending = self.pending.take();
        let rate = pending.unwrap_or(self.rate);
        let mut flows = before.clone();
        if rate < self.rate {
            let kept = self.admission.shed(rate, &before.kept)?;
            flows.shed.extend(kept.shed);
            flows.shed.sort_unstable();
            flows.kept = kept.kept;
        } else if pending.is_none() {
            flows = self.restored(now)?;
        }
        if rate == self.rate && flows == before {
            return Ok(None);
        }
        debug_assert!(
            matches!(self.admission.admits(rate, &flows.kept), Ok(true) | Err(_)),
            "{flows:?} at {rate:?}: not admitted"
        );
        let gone = |of: &[usize], from: &[usize]| {
            of.iter().copied().filter(|i| !from.contains(i)).collect::<Vec<_>>()
        };
        let change = RateChange {
            rate,
            shed: gone(&before.kept, &flows.kept),
            restored: gone(&flows.kept, &before.kept),
            flows: flows.clone(),
        };
        (self.rate, self.flows, self.last_change) = (rate, flows, Some(now));
        self.note_restorable(now)?;
        Ok(Some(change))
    }

    /// The instant at which [`RatePlanner::poll`] may have a change without another rate.
    pub fn next_timeout(&self) -> Option<Time> {
        let restore = self.next_restorable().map(|(_, since)| since + RESTORE_AFTER);
        let due = if self.pending.is_some() { Some(Time::ZERO) } else { restore };
        due.map(|due| due.max(self.earliest_change()))
    }

    fn earliest_change(&self) -> Time {
        self.last_change.map_or(Time::ZERO, |last| last + MIN_CHANGE_INTERVAL)
    }

    /// Shed flows, the most important first.
    fn shed_by_importance(&self) -> Vec<usize> {
        let mut shed = self.flows.shed.clone();
        shed.sort_by_key(|i| std::cmp::Reverse(self.admission.importance(*i)));
        shed
    }

    /// The next flow to restore, and since when it fits.
    fn next_restorable(&self) -> Option<(usize, Time)> {
        self.shed_by_importance().into_iter().find_map(|i| Some((i, self.fits_since[i]?)))
    }

    /// The flows after the restorations that are due. A more important flow that waits its time
    /// holds back less important ones.
    fn restored(&self, now: Time) -> Result<Shedding, AnalysisError> {
        let mut kept = self.flows.kept.clone();
        for flow in self.shed_by_importance() {
            let Some(since) = self.fits_since[flow] else { continue };
            if since + RESTORE_AFTER > now {
                break;
            }
            if let Some(with) = self.kept_with(&kept, flow)? {
                kept = with;
            }
        }
        let shed = (0..self.fits_since.len()).filter(|i| !kept.contains(i)).collect();
        Ok(Shedding { kept, shed })
    }

    /// A set in which a flow has its reservation back, if it fits with some to spare. It displaces
    /// less important flows where it fits only without them.
    fn kept_with(&self, kept: &[usize], flow: usize) -> Result<Option<Vec<usize>>, AnalysisError> {
        let importance = |i: usize| self.admission.importance(i);
        let stays = |i: &usize| importance(*i) >= importance(flow);
        let at_least: Vec<usize> = kept.iter().copied().filter(stays).collect();
        let at_least = with(&at_least, flow);
        let spare = Rate((u128::from(self.rate.0) * u128::from(RESTORE_AT) / 100) as u64);
        if !self.admission.admits(spare, &at_least)? {
            return Ok(None);
        }
        let all = with(kept, flow);
        // Shedding goes by importance, so those that are at least as important stay.
        Ok(Some(self.admission.shed(self.rate, &all)?.kept))
    }

    /// Notes which shed flows fit under the plan in force.
    fn note_restorable(&mut self, now: Time) -> Result<(), AnalysisError> {
        let mut kept = self.flows.kept.clone();
        let mut fits = vec![false; self.fits_since.len()];
        for flow in self.shed_by_importance() {
            if let Some(with) = self.kept_with(&kept, flow)? {
                kept = with;
                fits[flow] = true;
            }
        }
        for (since, fits) in self.fits_since.iter_mut().zip(fits) {
            *since = fits.then(|| since.unwrap_or(now));
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "rate_planner_search.rs"]
mod search;
#[cfg(test)]
#[path = "rate_planner_tests.rs"]
mod tests;
