//! How much later a service curve would have to begin, and how far flows with deadlines beside
//! service curves may go.

use alloc::vec::Vec;

use laxity_core::{Bytes, Rate, Span};

use super::room::Room;
use super::{LinkFlow, check_flows};
use crate::curve::Piece;
use crate::envelope::nanobits;
use crate::sweep::Which;
use crate::{
    Blocking, Bucket, CurveError, Envelope, FlowSpec, LinkSpec, MAX_BURST, Rational, Suggestion,
};

/// What would be admitted for one flow, all else unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowSuggestion {
    /// Of a flow with a deadline.
    Deadline(Suggestion),
    /// Of a flow with a service curve.
    Service(ServiceSuggestion),
}

/// How much later a service curve would have to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceSuggestion {
    /// The least time in whole ns by which the curve would have to be
    /// [`later`](super::ServiceCurve::later) for the set to be admitted: 0 when it is already,
    /// `None` when no time would do.
    pub min_later: Option<Span>,
    /// Whether less might do: steps were too many to follow, or the flow's own packets are the ones
    /// that block, where a chord stands for what blocks in their place.
    pub strict: bool,
}

/// About a day; starting later than that helps nobody.
const LONGEST: u64 = 1 << 46;

/// How many pieces of the residual may be looked at for all curves together.
const PIECES: usize = 1 << 20;

/// What the admission tests of all flows with deadlines may cost together: flows looked at.
const FLOWS_TESTED: usize = 40_000;

/// For each flow how far it may go. Without service curves it is [`suggest`](crate::suggest).
///
/// Whether a set is admitted is monotone in the time by which a curve begins later: its demand
/// falls, and so does the sum of its demand and of what its packets may block. So only intervals in
/// which the set fails as it is can fail then; they are the pieces of the residual that are looked
/// at. Flows with deadlines are found by bisection over admission tests, for a bounded number of
/// them.
///
/// # Errors
/// A link of rate zero, or numbers beyond 128 bits.
pub fn suggest_flows(
    link: &LinkSpec,
    flows: &[LinkFlow],
) -> Result<Vec<FlowSuggestion>, CurveError> {
    if let Some(envelopes) = super::admission::envelopes_only(flows) {
        let all = crate::suggest(link, &envelopes)?;
        return Ok(all.into_iter().map(FlowSuggestion::Deadline).collect());
    }
    let verdict = check_flows(link, flows)?;
    let room = Room::new(link, flows, 1)?;
    let failures = match verdict.admitted {
        true => Some(Vec::new()),
        false => failures(link, &room, verdict.overload)?,
    };
    let (mut curves, mut budget) = (0, FLOWS_TESTED);
    let mut out = Vec::with_capacity(flows.len());
    for (place, flow) in flows.iter().enumerate() {
        out.push(match flow {
            LinkFlow::Service(_) => {
                curves += 1;
                FlowSuggestion::Service(min_later(&room, failures.as_deref(), curves - 1)?)
            }
            LinkFlow::Deadline(flow) => {
                let mut trials = Trials { link, flows: flows.to_vec(), place, budget };
                let found = trials.suggestion(flow);
                budget = trials.budget;
                FlowSuggestion::Deadline(found)
            }
        });
    }
    Ok(out)
}

/// A piece of the residual in which the set fails.
struct Failure {
    begin: Rational,
    end: Option<Rational>,
    /// Residual without blocking, as a line that holds in the piece.
    unblocked: Piece,
    /// What blocks other than packets of curves.
    base: Rational,
    /// `s_j - dem_j` of the curves that block most, at either end, with the place of the curve.
    blockers: [Vec<(Rational, usize)>; 2],
    /// Flows with something due in such intervals.
    due: usize,
    /// Those of them that have curves, as far as it matters: two.
    due_curves: Vec<usize>,
}

/// The pieces in which the set fails; `None` when it fails for ever, whatever one flow does.
fn failures(
    link: &LinkSpec,
    room: &Room<'_>,
    overload: bool,
) -> Result<Option<Vec<Failure>>, CurveError> {
    if overload {
        return Ok(None);
    }
    let residual = room.residual(Which::Admission)?;
    let least = room.least().unwrap_or(Rational::ZERO);
    let (limit, complete) = (Rational::whole(room.horizon.until), room.complete_for_shifts()?);
    let cuts = cuts(room)?;
    let mut found: Vec<(Rational, Failure)> = Vec::new();
    for (i, begin) in cuts.iter().enumerate() {
        // Past a complete horizon nothing can fail.
        if *begin < least || (complete && *begin >= limit) {
            continue;
        }
        let end = cuts.get(i + 1).copied();
        let at_begin = residual.value(*begin)?;
        let lowest = match end {
            Some(end) => at_begin.least(residual.left_limit(end)?),
            None => at_begin,
        };
        if lowest.signum() < 0 {
            found.push((lowest, failure(link, room, *begin, end)?));
        }
    }
    // The worst first: the others then hardly ever matter.
    found.sort_by_key(|(lowest, _)| *lowest);
    Ok(Some(found.into_iter().map(|(_, failure)| failure).collect()))
}

/// Where the demand of a flow has a corner or what blocks changes, in order. In the residual such
/// corners may cancel each other.
fn cuts(room: &Room<'_>) -> Result<Vec<Rational>, CurveError> {
    let mut cuts: Vec<Rational> = Vec::new();
    let blocking = room.blocking(Which::Admission)?;
    let demands = room.curves().iter().map(|curve| &curve.demand);
    for curve in demands.chain([room.unblocked(), &blocking]) {
        cuts.extend(curve.pieces().iter().map(|piece| piece.start));
    }
    cuts.extend(room.envelopes().iter().map(|flow| Rational::from(flow.deadline.0)));
    cuts.sort_unstable();
    cuts.dedup();
    Ok(cuts)
}

fn failure(
    link: &LinkSpec,
    room: &Room<'_>,
    begin: Rational,
    end: Option<Rational>,
) -> Result<Failure, CurveError> {
    let pieces = room.unblocked().pieces();
    let unblocked = pieces[pieces.partition_point(|p| p.start <= begin).saturating_sub(1)];
    let paper = link.blocking == Blocking::Paper;
    let mut base = nanobits(link.best_effort_packet);
    let (mut due, mut due_curves) = (0, Vec::new());
    for flow in room.envelopes() {
        if paper || begin < flow.deadline.0.into() {
            base = base.max(nanobits(flow.envelope.max_packet()));
        }
        due += usize::from(begin >= flow.deadline.0.into());
    }
    let mut blockers = [Vec::new(), Vec::new()];
    for (k, curve) in room.curves().iter().enumerate() {
        let size = nanobits(curve.flow.max_packet);
        if curve.first <= begin {
            due += 1;
            due_curves.push(k);
        }
        if paper {
            base = base.max(size);
            continue;
        }
        let size = Rational::whole(size);
        let last = end.map_or_else(|| curve.demand.value(begin), |e| curve.demand.left_limit(e));
        for (list, demand) in blockers.iter_mut().zip([curve.demand.value(begin)?, last?]) {
            list.push((size.minus(demand)?, k));
        }
    }
    for list in &mut blockers {
        // Two may have to be left out.
        list.sort_by_key(|(size, _)| core::cmp::Reverse(*size));
        list.truncate(3);
    }
    due_curves.truncate(2);
    Ok(Failure { begin, end, unblocked, base: Rational::whole(base), blockers, due, due_curves })
}

/// The least time by which curve `k` would have to begin later.
fn min_later(
    room: &Room<'_>,
    failures: Option<&[Failure]>,
    k: usize,
) -> Result<ServiceSuggestion, CurveError> {
    let mut strict = !room.complete_for_shifts()?;
    let none = |strict| Ok(ServiceSuggestion { min_later: None, strict });
    let Some(failures) = failures else { return none(strict) };
    if failures.len().saturating_mul(room.curves().len()) > PIECES {
        return none(true);
    }
    let mut later: u64 = 0;
    for failure in failures {
        if failure.fits(room, k, later)? {
            continue;
        }
        strict |= failure.is_blocked_by(k);
        let (mut low, mut high) = (later, later.max(1));
        while !failure.fits(room, k, high)? {
            (low, high) = (high, high.saturating_mul(2));
            if high > LONGEST {
                return none(strict);
            }
        }
        // It does not fit at `low`, and does at `high`.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match failure.fits(room, k, middle)? {
                true => high = middle,
                false => low = middle,
            }
        }
        later = high;
    }
    Ok(ServiceSuggestion { min_later: Some(Span(later)), strict })
}

impl Failure {
    fn is_blocked_by(&self, k: usize) -> bool {
        self.blockers.iter().any(|list| list.first().is_some_and(|(_, j)| *j == k))
    }

    /// Whether the set fits in these intervals with curve `k` later by so much.
    fn fits(&self, room: &Room<'_>, k: usize, later: u64) -> Result<bool, CurveError> {
        let later = Rational::from(later);
        let demand = &room.curves()[k].demand;
        let pieces = demand.pieces();
        let own = pieces[pieces.partition_point(|p| p.start <= self.begin).saturating_sub(1)];
        let size = Rational::whole(nanobits(room.curves()[k].flow.max_packet));
        let others = self.due - usize::from(room.curves()[k].first <= self.begin);
        // A flow blocks where another can be due.
        let alone = self.due_curves.iter().copied().find(|j| *j != k).filter(|_| others == 1);
        let paper = room.is_paper();
        let holds = |t: Rational, asked: Rational, due: bool| -> Result<bool, CurveError> {
            if !due && others == 0 {
                return Ok(true);
            }
            let left = self.unblocked.at(t)?.plus(own.at(t)?)?;
            if !paper && others > 0 && left < size {
                return Ok(false);
            }
            let blocked = self.blocked(t, |j| j != k && (due || Some(j) != alone))?;
            Ok(left.minus(asked)? >= blocked)
        };
        let mut at = self.begin;
        loop {
            let shifted = at.minus(later)?;
            let due = shifted >= room.curves()[k].first;
            if !holds(at, demand.value(shifted)?, due)? {
                return Ok(false);
            }
            let next = pieces.partition_point(|p| p.start <= shifted);
            let next = match pieces.get(next) {
                Some(piece) => Some(piece.start.plus(later)?),
                None => None,
            };
            let end = match (next, self.end) {
                (Some(a), Some(b)) => a.least(b),
                (Some(a), None) | (None, Some(a)) => a,
                (None, None) => return Ok(true),
            };
            let before = end.minus(later)?;
            let due = before > room.curves()[k].first;
            if !holds(end, demand.left_limit(before)?, due)? {
                return Ok(false);
            }
            if self.end == Some(end) {
                return Ok(true);
            }
            at = end;
        }
    }

    /// What blocks at `t`, of the curves those that may.
    fn blocked(&self, t: Rational, may: impl Fn(usize) -> bool) -> Result<Rational, CurveError> {
        let most = |list: &[(Rational, usize)]| {
            let most = list.iter().find(|(_, j)| may(*j)).map(|(size, _)| *size);
            most.map_or(self.base, |size| size.greatest(self.base))
        };
        let [first, last] = &self.blockers;
        let (first, last) = (most(first), most(last));
        let Some(end) = self.end.filter(|_| first != last) else { return Ok(first.greatest(last)) };
        let part = t.minus(self.begin)?.over(end.minus(self.begin)?)?;
        first.plus(last.minus(first)?.times(part)?)
    }
}

/// Admission tests with one flow changed, for a bounded number of flows tested.
struct Trials<'a> {
    link: &'a LinkSpec,
    flows: Vec<LinkFlow>,
    place: usize,
    budget: usize,
}

impl Trials<'_> {
    /// How far a flow with a deadline may go.
    fn suggestion(&mut self, flow: &FlowSpec) -> Suggestion {
        let FlowSpec { envelope, deadline } = flow;
        let mut high = deadline.0.max(1);
        while high < LONGEST && !self.admits(Ok((envelope.clone(), Span(high)))) {
            high *= 2;
        }
        let min_deadline = match high < LONGEST {
            true => self.least(1, high, |d| Ok((envelope.clone(), Span(d)))),
            false => None,
        };
        let (max_rate, max_burst) = match envelope {
            Envelope::Periodic { period, size, jitter } => {
                let slowest = period.0.saturating_mul(1 << 20);
                let fastest = self.least(1, slowest, |p| {
                    Ok((Envelope::periodic(Span(p), *size, *jitter)?, *deadline))
                });
                let largest = self.most(1, MAX_BURST.0, |s| {
                    Ok((Envelope::periodic(*period, Bytes(s), *jitter)?, *deadline))
                });
                let work = nanobits(*size).unsigned_abs();
                let rate_of = |p| u64::try_from(work / u128::from(p)).unwrap_or(u64::MAX);
                (fastest.map(rate_of), largest)
            }
            Envelope::Buckets { buckets, max_packet, .. } => {
                let Some(last) = buckets.last() else { return Suggestion::default() };
                let peak = match buckets[..] {
                    [.., before, _] => before.rate.min(self.link.rate),
                    _ => self.link.rate,
                };
                let with = |bucket, packet| envelope.with_last_bucket(bucket, packet);
                let max_rate = self.most(0, peak.0, |r| {
                    Ok((with(Bucket { rate: Rate(r), ..*last }, *max_packet)?, *deadline))
                });
                let grows = buckets.len() == 1 && last.burst == *max_packet;
                let least = if grows { 1 } else { max_packet.0 };
                let max_burst = self.most(least, MAX_BURST.0, |b| {
                    let packet = if grows { Bytes(b) } else { *max_packet };
                    Ok((with(Bucket { burst: Bytes(b), ..*last }, packet)?, *deadline))
                });
                (max_rate, max_burst)
            }
        };
        Suggestion {
            min_deadline: min_deadline.map(Span),
            max_rate: max_rate.map(Rate),
            max_burst: max_burst.map(Bytes),
            strict: self.budget == 0,
        }
    }

    /// Whether the set with the change is admitted; `false` once the budget is spent.
    fn admits(&mut self, change: Result<(Envelope, Span), CurveError>) -> bool {
        let Ok((envelope, deadline)) = change else { return false };
        self.budget = self.budget.saturating_sub(self.flows.len());
        if self.budget == 0 {
            return false;
        }
        self.flows[self.place] = LinkFlow::Deadline(FlowSpec { envelope, deadline });
        check_flows(self.link, &self.flows).is_ok_and(|verdict| verdict.admitted)
    }

    /// The least value in `low..=high` from which on the set is admitted.
    fn least(
        &mut self,
        low: u64,
        high: u64,
        with: impl Fn(u64) -> Result<(Envelope, Span), CurveError>,
    ) -> Option<u64> {
        self.most(low, high, |v| with(low + (high - v))).map(|v| low + (high - v))
    }

    /// The greatest value in `low..=high` up to which the set is admitted.
    fn most(
        &mut self,
        mut low: u64,
        mut high: u64,
        with: impl Fn(u64) -> Result<(Envelope, Span), CurveError>,
    ) -> Option<u64> {
        if !self.admits(with(low)) {
            return None;
        }
        while low < high {
            let middle = high - (high - low) / 2;
            match self.admits(with(middle)) {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        Some(low)
    }
}
