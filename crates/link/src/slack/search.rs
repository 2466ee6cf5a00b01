//! The search for an interval with too little capacity.
//!
//! Capacity less the flows' demand is a broken line in `x`; queued work only lowers it. Over a
//! range of `x` it is at least the line's least value less all work due by the range's end: where
//! that is enough the range is safe, whatever lies in it. At the end of the range it is exact:
//! where that is too little, the answer is no. What remains open is cut in two, groups into
//! buckets, buckets into halves, down to a nanosecond. Beside service curves, whose deadlines have no
//! largest, there are halves alone: O(open ranges x classes x log n) in place of O(log n).

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use laxity_core::{NANOBITS_PER_BYTE, Span, Time};
use laxity_curve::CurveError;

use super::calendar::{Calendar, FAN};
use super::flow::{Change, FlowDemand};
use super::service::ServiceDemand;
use crate::Packet;
use crate::config::{LinkConfig, RealtimeFlow};
use crate::edf::{EdfQueue, Entry};

/// Result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchResult {
    /// Every interval has enough slack, at least this many nanobits.
    Sufficient(i128),
    /// The interval from now to `until` has too little slack; `due` bytes are queued for it.
    Insufficient { until: Time, due: u64 },
}

/// The deficit of an interval, and how long it is certain to persist.
///
/// The slack of the interval grows only as flows leave their envelopes unused: at most at the rate
/// at which they can send, and in a step when the interval gets shorter than a deadline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deficit {
    /// In nanobits, at `now`.
    pub(super) work: i128,
    now: Time,
    /// In bit/s.
    max_growth_rate: i128,
    /// Time until which it grows without steps.
    continuous_until: Time,
}

impl Deficit {
    /// Whether the deficit is certain to persist at `now`, without reading the flows again.
    #[inline]
    pub(super) fn holds_at(&self, now: Time) -> bool {
        now <= self.continuous_until
            && self.work > self.max_growth_rate * i128::from(now.since(self.now).0)
    }
}

/// Demand of the flows and queued work, prepared for searching.
#[derive(Clone, Debug)]
pub(super) struct Search {
    flows: Box<[FlowDemand]>,
    /// The flows with service curves. Their deadlines may be arbitrarily far off, so beside them
    /// queued work is read from the queue and the calendar stays empty.
    served: Box<[ServiceDemand]>,
    calendar: Calendar,
    rate: i128,
    longest: Span,
    /// Each flow's changes at fixed indices, and the indices in order of `x`: nearly the same order
    /// from search to search, so insertion sort is nearly free.
    changes: Vec<Change>,
    order: Vec<u32>,
}

/// Maximum number of staircase steps that a search visits.
const MAX_STEPS: usize = 256;

/// Number of future packets that are counted one by one for flows with packets of one size: 32 with
/// up to eight such flows, fewer with more of them, so that a search stays short.
pub fn exact_steps(config: &LinkConfig) -> usize {
    let one_size = |f: &&RealtimeFlow| f.smallest_counted() == f.envelope.max_packet();
    let flows = config.realtime.iter().filter(one_size).count();
    (MAX_STEPS / flows.max(8)).max(1)
}

/// Position of a walk along the line.
#[derive(Clone, Copy)]
struct Walk {
    /// Next index in `order`.
    next: usize,
    intercept: i128,
    slope: i128,
    /// Whether any flow's demand has begun.
    begun: bool,
}

impl Walk {
    #[inline]
    fn at(&self, x: u64) -> i128 {
        self.intercept + self.slope * i128::from(x)
    }
}

/// A range of `x` with the queued work due before it and by its end, in bytes.
#[derive(Clone, Copy)]
struct Range {
    first: u64,
    last: u64,
    before: u64,
    due: u64,
}

impl Search {
    /// Numbers beyond 128 bits in a service curve are an error.
    pub(super) fn new(config: &LinkConfig) -> Result<Search, CurveError> {
        let steps = exact_steps(config);
        let flow = |f| FlowDemand::new(f, config.wire, steps);
        let flows: Box<[_]> = config.realtime.iter().map(flow).collect();
        let served = config.realtime.iter().enumerate().filter_map(|(k, f)| {
            let service = f.service.as_ref()?;
            Some(ServiceDemand::new(k, f, service, config.wire, steps))
        });
        let served = served.collect::<Result<Box<[_]>, _>>()?;
        let places = flows.iter().map(FlowDemand::max_changes).sum::<usize>()
            + served.iter().map(ServiceDemand::max_changes).sum::<usize>();
        let longest = config.realtime.iter().map(|f| f.deadline).max().unwrap_or_default();
        Ok(Search {
            flows,
            served,
            calendar: Calendar::new(longest, config.rate),
            rate: i128::from(config.rate.0),
            longest,
            changes: vec![Change::NEVER; places],
            order: (0..places as u32).collect(),
        })
    }

    /// The shortest interval in which a packet can arrive and be due, while no packet of a flow
    /// with a service curve waits.
    pub(super) fn least_deadline(&self) -> Option<Span> {
        let envelopes = self.flows.iter().map(FlowDemand::deadline);
        envelopes.chain(self.served.iter().map(|flow| flow.first)).min().map(Span)
    }

    /// The packet on the wire has ended.
    #[inline]
    pub(super) fn completed(&mut self) {
        for flow in &mut self.served {
            flow.on_wire = false;
        }
    }

    /// The link is idle and nothing waits: flows with service curves begin afresh.
    pub(super) fn reset(&mut self) {
        self.served.iter_mut().for_each(ServiceDemand::reset);
    }

    /// A real-time packet conformed at `at` and was queued.
    #[inline]
    pub(super) fn queued(&mut self, at: Time, entry: &Entry) {
        if !self.served.is_empty() {
            return self.queued_beside_curves(at, entry);
        }
        let packet = &entry.packet;
        self.flows[packet.flow.index()].take(at, packet.bytes);
        self.calendar.add(entry.deadline, packet.wire);
    }

    fn queued_beside_curves(&mut self, at: Time, entry: &Entry) {
        let packet = &entry.packet;
        let index = packet.flow.index();
        let served = self.served.iter_mut().find(|flow| flow.flow == index);
        let buckets = &mut self.flows[index];
        let takes = match served {
            Some(flow) => {
                flow.accept(buckets, at, packet.wire, entry.deadline);
                flow.policed
            }
            None => true,
        };
        if takes {
            buckets.take(at, packet.bytes);
        }
    }

    /// A real-time packet left the queue and starts.
    #[inline]
    pub(super) fn dequeued(&mut self, entry: &Entry) {
        if self.served.is_empty() {
            return self.calendar.remove(entry.deadline, entry.packet.wire);
        }
        self.completed();
        let index = entry.packet.flow.index();
        if let Some(flow) = self.served.iter_mut().find(|flow| flow.flow == index) {
            flow.start();
        }
    }

    /// Deficit of the interval from `now` to `until` against `need` nanobits, with `due` bytes
    /// queued for it; `None` when its slack is sufficient.
    pub(super) fn deficit(&self, now: Time, until: Time, due: u64, need: i128) -> Option<Deficit> {
        let x = until.since(now).0;
        let mut deficit = Deficit { work: 0, now, max_growth_rate: 0, continuous_until: Time::MAX };
        let mut future_demand = 0;
        for flow in &self.flows {
            if let Some(y) = x.checked_sub(flow.deadline()) {
                future_demand += flow.within(now, y);
                let (growth, certain) = flow.max_decrease(now, y);
                deficit.max_growth_rate += i128::from(growth);
                deficit.continuous_until = deficit.continuous_until.min(now + Span(certain));
            }
        }
        for flow in &self.served {
            future_demand += flow.within(&self.flows[flow.flow], now, x);
            // It falls in steps as time passes, and when the flow's queue empties.
            deficit.continuous_until = now;
        }
        if !self.served.is_empty() && due == 0 && future_demand == 0 {
            // Nothing can be late in it any more, since a start from then on is due later.
            return None;
        }
        deficit.work = need - (self.rate * i128::from(x) - bytes(due) - future_demand);
        // Decisions fall on whole nanoseconds, the link may be free up to one before, and what it
        // sends in that one comes on top.
        (deficit.work > 0).then(|| Deficit { work: deficit.work - self.rate, ..deficit })
    }

    /// Future demand due by `until` of the flow of a packet, in nanobits.
    pub(super) fn future_demand(&self, packet: &Packet, at: Time, until: Time) -> i128 {
        let index = packet.flow.index();
        let flow = &self.flows[index];
        if let Some(served) = self.served.iter().find(|flow| flow.flow == index) {
            return served.within(flow, at, until.since(at).0);
        }
        let y = until.since(at).0.checked_sub(flow.deadline());
        y.map_or(0, |y| flow.within(at, y))
    }

    /// Searches for an interval with less than `need` nanobits of slack.
    pub(super) fn run(&mut self, now: Time, need: i128, realtime: &EdfQueue) -> SearchResult {
        if let Some(first) = realtime.peek().filter(|e| e.deadline < now) {
            // A packet is already late: nothing may be served before it.
            let due = u64::from(first.packet.wire);
            return SearchResult::Insufficient { until: now, due };
        }
        self.update(now);
        let mut open = Open { search: self, now, need, realtime, found: None };
        let least = match open.search.served.is_empty() {
            true => open.search_all(),
            false => open.search_queue(),
        };
        open.found.unwrap_or(SearchResult::Sufficient(least))
    }

    /// The same with the next packets of some flows due later by `by` ns.
    pub(super) fn run_deferred(
        &mut self,
        now: Time,
        need: i128,
        realtime: &EdfQueue,
        (by, deferred): (u64, impl Fn(usize) -> bool),
    ) -> SearchResult {
        let span = |k| if deferred(k) { by } else { 0 };
        self.flows.iter_mut().enumerate().for_each(|(k, flow)| flow.defer(span(k)));
        self.served.iter_mut().for_each(|flow| flow.defer(span(flow.flow)));
        let found = self.run(now, need, realtime);
        self.flows.iter_mut().for_each(|flow| flow.defer(0));
        self.served.iter_mut().for_each(|flow| flow.defer(0));
        found
    }

    fn update(&mut self, now: Time) {
        let mut rest = &mut self.changes[..];
        for flow in &self.flows {
            let (own, others) = rest.split_at_mut(flow.max_changes());
            flow.changes(now, own);
            rest = others;
        }
        for flow in &self.served {
            let (own, others) = rest.split_at_mut(flow.max_changes());
            flow.changes(&self.flows[flow.flow], now, own);
            rest = others;
        }
        if !self.served.is_empty() {
            return self.sort_used();
        }
        for i in 1..self.order.len() {
            let place = self.order[i];
            let key = self.changes[place as usize].at;
            let mut j = i;
            while j > 0 && self.changes[self.order[j - 1] as usize].at > key {
                self.order[j] = self.order[j - 1];
                j -= 1;
            }
            self.order[j] = place;
        }
    }

    /// Sorts the changes that there are, and one that never comes behind them: demand by curves
    /// rarely fills its places, and their number varies from search to search.
    fn sort_used(&mut self) {
        let (mut used, mut end) = (0, None);
        for (place, change) in (0..).zip(&self.changes) {
            if change.at == u64::MAX {
                end = Some(place);
            } else {
                self.order[used] = place;
                used += 1;
            }
        }
        let changes = &self.changes;
        self.order[..used].sort_unstable_by_key(|place| changes[*place as usize].at);
        if let (Some(place), Some(end)) = (self.order.get_mut(used), end) {
            *place = end;
        }
    }
}

#[inline]
fn bytes(work: u64) -> i128 {
    i128::from(work) * NANOBITS_PER_BYTE
}

/// A search in progress. Its steps return lower bounds on the slack.
struct Open<'a> {
    search: &'a Search,
    now: Time,
    /// Slack that every interval must have.
    need: i128,
    realtime: &'a EdfQueue,
    found: Option<SearchResult>,
}

impl Open<'_> {
    fn search_all(&mut self) -> i128 {
        let search = self.search;
        let calendar = &search.calendar;
        let top = calendar.top();
        let first = calendar.entry_of(top, self.now);
        let end = calendar.entry_of(top, self.now + self.search.longest) + 1;
        let mut walk = Walk { next: 0, intercept: 0, slope: self.search.rate, begun: false };
        let mut before = 0;
        let least = self.search_entries(top, first, end, &mut walk, &mut before);
        // Beyond the last queued deadline only the flows count.
        let from = calendar.start(top, end) - self.now.0;
        let range = Range { first: from, last: u64::MAX, before, due: before };
        self.evaluate(&mut walk, &range).map_or(least, |bound| least.min(bound))
    }

    /// The same without the calendar: halves the time up to the last queued deadline.
    fn search_queue(&mut self) -> i128 {
        let (now, realtime) = (self.now, self.realtime);
        let tails = (0..realtime.classes()).filter_map(|class| realtime.class_tail(class));
        let last = tails.map(|entry| entry.deadline.since(now).0).max().unwrap_or(0);
        let due = realtime.queued_work();
        let start = Walk { next: 0, intercept: 0, slope: self.search.rate, begun: false };
        let range = Range { first: 0, last, before: 0, due };
        let mut walk = start;
        let least = match self.evaluate(&mut walk, &range) {
            Some(bound) => bound,
            None => self.bisect(start, &range),
        };
        let range = Range { first: last.saturating_add(1), last: u64::MAX, before: due, due };
        self.evaluate(&mut walk, &range).map_or(least, |bound| least.min(bound))
    }

    /// Searches entries of one level of the calendar, from `first` up to `end`.
    fn search_entries(
        &mut self,
        level: usize,
        first: u64,
        end: u64,
        walk: &mut Walk,
        before: &mut u64,
    ) -> i128 {
        let (search, now) = (self.search, self.now);
        let calendar = &search.calendar;
        let since = |at: u64| at.saturating_sub(now.0);
        let mut least = i128::MAX;
        // Entries of the past are empty.
        for entry in first.max(calendar.entry_of(level, now))..end {
            let range = Range {
                first: since(calendar.start(level, entry)),
                last: since(calendar.start(level, entry + 1) - 1),
                before: *before,
                due: *before + calendar.due(level, entry),
            };
            let start = *walk;
            let bound = match self.evaluate(walk, &range) {
                Some(bound) => bound,
                None if level == 0 => {
                    self.search_bucket(start, &range, calendar.single_deadline(entry))
                }
                None => {
                    let (first, end) = (entry * FAN, (entry + 1) * FAN);
                    self.search_entries(level - 1, first, end, &mut { start }, &mut { *before })
                }
            };
            least = least.min(bound);
            *before = range.due;
        }
        least
    }

    /// Searches a bucket; `single_deadline` is the deadline in it if there is only one.
    fn search_bucket(&mut self, start: Walk, range: &Range, single_deadline: Option<Time>) -> i128 {
        let Some(single_deadline) = single_deadline else { return self.bisect(start, range) };
        let x = single_deadline.since(self.now).0;
        let (mut walk, mut least) = (start, i128::MAX);
        let before = Range { last: x.wrapping_sub(1), due: range.before, ..*range };
        let at = Range { first: x, last: x, ..*range };
        let after = Range { first: x + 1, before: range.due, ..*range };
        // None of the three has work before its end, so each gives an answer.
        for part in [before, at, after].iter().filter(|r| r.first <= r.last && r.last != u64::MAX) {
            least = least.min(self.evaluate(&mut walk, part).unwrap_or(i128::MAX));
        }
        least
    }

    #[cold]
    fn bisect(&mut self, start: Walk, range: &Range) -> i128 {
        let middle = range.first + (range.last - range.first) / 2;
        let by = self.now + Span(middle);
        let classes = 0..self.realtime.classes();
        let due: u64 = classes.map(|class| self.realtime.work_until(class, by)).sum();
        let left = Range { last: middle, due, ..*range };
        let right = Range { first: middle + 1, before: due, ..*range };
        let mut walk = start;
        let mut least = i128::MAX;
        for half in [left, right] {
            let start = walk;
            let bound = match self.evaluate(&mut walk, &half) {
                Some(bound) => bound,
                None => self.bisect(start, &half),
            };
            least = least.min(bound);
        }
        least
    }

    /// Walks a range and records a deficit. `None` means that there may be one inside the range,
    /// which must be split.
    #[inline]
    fn evaluate(&mut self, walk: &mut Walk, range: &Range) -> Option<i128> {
        // Without demand yet and without work of its own a range holds nothing to be late.
        // Where the line changes at the first instant already, it is read after the change.
        let mut least = (i128::MAX, range.first);
        let changes = &self.search.changes;
        let next = self.search.order.get(walk.next);
        let changed = next.is_some_and(|place| changes[*place as usize].at == range.first);
        if !changed && (walk.begun || range.due > range.before) {
            least.0 = walk.at(range.first);
        }
        while let Some(&place) = self.search.order.get(walk.next) {
            let change = &changes[place as usize];
            if change.at > range.last || change.at == u64::MAX {
                break;
            }
            if walk.begun && walk.slope < 0 && change.at > range.first {
                least = least.min((walk.at(change.at - 1), change.at - 1));
            }
            walk.begun = true;
            walk.intercept -= change.intercept;
            walk.slope -= change.slope;
            walk.next += 1;
            // Changes of one instant count together.
            let next = self.search.order.get(walk.next);
            if next.is_none_or(|place| changes[*place as usize].at != change.at) {
                least = least.min((walk.at(change.at), change.at));
            }
        }
        // After the last change the line rises: the flows' rates are at most the link's.
        if range.last != u64::MAX {
            let end = (walk.at(range.last), range.last);
            if walk.begun && walk.slope < 0 {
                least = least.min(end);
            }
            if walk.begun || range.due > 0 {
                self.record_deficit(end, range);
            }
        }
        if least.0 == i128::MAX {
            return Some(least.0);
        }
        let bound = least.0 - bytes(range.due);
        if bound >= self.need {
            return Some(bound);
        }
        if range.due > range.before && range.first < range.last {
            // Once the answer is no, what is easily seen is enough.
            return self.found.map(|_| bound);
        }
        // Without work of its own, or an instant long: the bound is exact.
        self.record_deficit(least, range);
        Some(bound)
    }

    /// Records a deficit at an instant by which all work of the range is due. The latest such
    /// instant refuses for the longest time, until its work has been sent.
    #[inline]
    fn record_deficit(&mut self, (line, x): (i128, u64), range: &Range) {
        if line - bytes(range.due) < self.need {
            self.found =
                Some(SearchResult::Insufficient { until: self.now + Span(x), due: range.due });
        }
    }
}
