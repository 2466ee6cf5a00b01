//! The residual capacity of a link as a list of lines with whole slope and intercept.
//!
//! Demand changes at deadlines, at the knees of envelopes after them, and at the steps of periodic
//! envelopes. Between two changes the residual is one line, so admission, fits and inverses only
//! ever look at the changes.

use alloc::vec::Vec;

use laxity_core::{NANOBITS_PER_BYTE, Rate, Span};

use crate::envelope::{knee, nanobits};
use crate::error::overflow;
use crate::{Blocking, CurveError, Envelope, FlowSpec, LinkSpec, Rational};

/// `y(t) = intercept + slope * t` from `start` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub start: Rational,
    pub slope: i128,
    pub intercept: i128,
}

impl Segment {
    /// The line at `t`.
    pub fn at(&self, t: Rational) -> Result<Rational, CurveError> {
        Rational::whole(self.slope).times(t)?.plus(self.intercept.into())
    }
}

/// A change of the line at an instant.
#[derive(Clone, Copy, Debug)]
struct Event {
    at: Rational,
    slope: i128,
    intercept: i128,
}

/// Which of the two residual curves, or the one without any blocking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Admission,
    Deadlines,
    Unblocked,
}

/// How far periodic envelopes are followed step by step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Horizon {
    /// Up to here, in ns; affine upper bounds afterwards.
    pub until: i128,
    /// Whether nothing of importance for admission can happen afterwards.
    pub complete: bool,
    /// Whether any envelope is periodic.
    pub periodic: bool,
}

/// Sum of the long-term rates, each rounded up.
pub(crate) fn total_rate(flows: &[FlowSpec]) -> i128 {
    flows.iter().map(|f| i128::from(f.envelope.rate().0)).sum()
}

/// Whether the long-term rates exceed the link; periodic rates as fractions where they fit, else
/// rounded up.
pub(crate) fn overloaded(link: &LinkSpec, flows: &[FlowSpec]) -> bool {
    let exact = || -> Result<Rational, CurveError> {
        let mut sum = Rational::ZERO;
        for flow in flows {
            sum = sum.plus(match &flow.envelope {
                Envelope::Periodic { period, size, .. } => {
                    Rational::new(nanobits(*size), period.0.into())?
                }
                buckets => buckets.rate().0.into(),
            })?;
        }
        Ok(sum)
    };
    let capacity = Rational::from(link.rate.0);
    exact().unwrap_or_else(|_| Rational::whole(total_rate(flows))) > capacity
}

/// The most steps of periodic envelopes that are looked at one by one.
pub(crate) const MAX_STEPS: i128 = 1 << 18;

/// Steps of periodic envelopes up to an instant.
pub(crate) fn steps(flows: &[FlowSpec], until: i128) -> i128 {
    let mut sum: i128 = 0;
    for flow in flows {
        if let Envelope::Periodic { period, .. } = flow.envelope {
            let inside = (until - i128::from(flow.deadline.0)).max(0);
            sum = sum.saturating_add(inside / i128::from(period.0.max(1)) + 1);
        }
    }
    sum
}

/// How far to follow periodic envelopes: up to the instant from which affine upper bounds prove
/// that the residual stays above its value at the least deadline, or one common multiple of all
/// periods after the last corner, whichever is earlier; `stretch` times that, if the number of
/// steps permits.
pub(crate) fn horizon(
    link: &LinkSpec,
    flows: &[FlowSpec],
    stretch: i128,
) -> Result<Horizon, CurveError> {
    horizon_within(link, flows, stretch, MAX_STEPS)
}

/// The same with at most so many steps.
pub(crate) fn horizon_within(
    link: &LinkSpec,
    flows: &[FlowSpec],
    stretch: i128,
    most_steps: i128,
) -> Result<Horizon, CurveError> {
    const OP: &str = "the admission horizon";
    if !flows.iter().any(|f| matches!(f.envelope, Envelope::Periodic { .. })) {
        return Ok(Horizon { until: 0, complete: true, periodic: false });
    }
    let mut last: i128 = 0;
    let mut need = nanobits(link.best_effort_packet) + nanobits(link.downstream_backlog);
    let least = flows.iter().map(|f| i128::from(f.deadline.0)).min().unwrap_or(0);
    let at_least = i128::from(link.rate.0).checked_mul(least).ok_or(overflow(OP))?;
    need = need.checked_add(at_least).ok_or(overflow(OP))?;
    let mut multiple: Option<i128> = Some(1);
    for flow in flows {
        let deadline = i128::from(flow.deadline.0);
        let rate = i128::from(flow.envelope.rate().0);
        let mut corner = deadline;
        match &flow.envelope {
            Envelope::Periodic { period, .. } => {
                let p = i128::from(period.0.max(1));
                multiple = multiple.and_then(|m| {
                    let both = Rational::new(m, p).ok()?.numerator();
                    p.checked_mul(both)
                });
            }
            Envelope::Buckets { buckets, .. } => {
                if let [.., a, b] = &buckets[..] {
                    corner = corner.checked_add(knee(a, b)?.ceil()).ok_or(overflow(OP))?;
                }
            }
        }
        last = last.max(corner);
        let at_zero = rate.checked_mul(deadline).ok_or(overflow(OP))?;
        need = need.checked_add(nanobits(flow.envelope.burst())).ok_or(overflow(OP))?;
        need = need.checked_sub(at_zero).ok_or(overflow(OP))?;
        need = need.checked_add(nanobits(flow.envelope.max_packet())).ok_or(overflow(OP))?;
    }
    let spare = i128::from(link.rate.0) - total_rate(flows);
    let affine = (spare > 0).then(|| (need.div_euclid(spare) + 1).max(last));
    let hyper = multiple.and_then(|m| m.checked_add(last + 1));
    let (bound, mut complete) = match (affine, hyper) {
        (Some(a), Some(h)) => (a.min(h), true),
        (Some(x), None) | (None, Some(x)) => (x, true),
        (None, None) => (last, false),
    };
    // The upper bounds begin after the last instant that matters.
    let bound = bound.saturating_add(1);
    let mut until = bound.saturating_mul(stretch);
    while steps(flows, until) > most_steps && until > 0 {
        until /= 2;
    }
    complete &= until >= bound;
    Ok(Horizon { until, complete, periodic: true })
}

/// The blocking term: its value at 0 and, in order, the deadlines at which it changes.
pub(crate) fn blocking(
    link: &LinkSpec,
    flows: &[FlowSpec],
    which: Which,
) -> (i128, Vec<(Span, i128)>) {
    let own = nanobits(link.best_effort_packet);
    if which == Which::Unblocked {
        return (0, Vec::new());
    }
    if link.blocking == Blocking::Paper {
        let most = flows.iter().map(|f| nanobits(f.envelope.max_packet())).fold(own, i128::max);
        return (most, Vec::new());
    }
    let mut by_deadline: Vec<(Span, i128)> =
        flows.iter().map(|f| (f.deadline, nanobits(f.envelope.max_packet()))).collect();
    by_deadline.sort_unstable_by(|a, b| b.cmp(a));
    let mut now = if which == Which::Admission { own } else { 0 };
    let mut changes = Vec::new();
    for (deadline, size) in by_deadline {
        if size > now {
            changes.push((deadline, now));
            now = size;
        }
    }
    changes.reverse();
    (now, changes)
}

/// The residual curve as lines from 0 on.
pub(crate) fn residual(
    link: &LinkSpec,
    flows: &[FlowSpec],
    which: Which,
    horizon: Horizon,
) -> Result<Vec<Segment>, CurveError> {
    lines(link, flows, which, horizon.until, Steps::Follow)
}

/// The treatment of the steps of periodic envelopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    /// One by one up to the horizon, affine upper bounds from there on.
    Follow,
    /// Only the upper bounds: the same from the horizon on, too much room before.
    Relax,
    /// Left out, as if periodic flows only blocked.
    Omit,
}

/// The residual curve with or without steps.
pub(crate) fn lines(
    link: &LinkSpec,
    flows: &[FlowSpec],
    which: Which,
    until: i128,
    steps: Steps,
) -> Result<Vec<Segment>, CurveError> {
    const OP: &str = "the residual curve";
    let mut events = Vec::with_capacity(flows.len() * 3);
    for flow in flows {
        if steps != Steps::Omit || flow.envelope.lines().is_some() {
            flow_events(flow, until, steps, &mut events)?;
        }
    }
    let (mut blocked, changes) = blocking(link, flows, which);
    let intercept = -blocked - nanobits(link.downstream_backlog);
    for (at, next) in changes {
        events.push(Event { at: at.0.into(), slope: 0, intercept: blocked - next });
        blocked = next;
    }
    events.sort_unstable_by_key(|event| event.at);
    let mut now = Segment { start: Rational::ZERO, slope: link.rate.0.into(), intercept };
    let mut segments = Vec::with_capacity(events.len() + 1);
    for event in events {
        if event.at > now.start {
            segments.push(now);
            now.start = event.at;
        }
        now.slope = now.slope.checked_add(event.slope).ok_or(overflow(OP))?;
        now.intercept = now.intercept.checked_add(event.intercept).ok_or(overflow(OP))?;
    }
    segments.push(now);
    Ok(segments)
}

/// The changes that one flow makes to the residual.
fn flow_events(
    flow: &FlowSpec,
    until: i128,
    steps: Steps,
    out: &mut Vec<Event>,
) -> Result<(), CurveError> {
    const OP: &str = "the demand of a flow";
    let deadline = i128::from(flow.deadline.0);
    // A line `burst + rate * (t - deadline)` in absolute time.
    let shifted = |burst: i128, rate: Rate| -> Result<i128, CurveError> {
        let back = i128::from(rate.0).checked_mul(deadline).ok_or(overflow(OP))?;
        burst.checked_sub(back).ok_or(overflow(OP))
    };
    match &flow.envelope {
        Envelope::Buckets { buckets, .. } => {
            let (mut slope, mut intercept) = (0, 0);
            for (i, b) in buckets.iter().enumerate() {
                let at = match i {
                    0 => Rational::whole(deadline),
                    _ => knee(&buckets[i - 1], b)?.plus(deadline.into())?,
                };
                let (s, c) = (i128::from(b.rate.0), shifted(nanobits(b.burst), b.rate)?);
                out.push(Event { at, slope: slope - s, intercept: intercept - c });
                (slope, intercept) = (s, c);
            }
        }
        Envelope::Periodic { period, size, jitter } => {
            let (period, jitter) = (i128::from(period.0.max(1)), i128::from(jitter.0));
            let step = nanobits(*size);
            let mut packets = jitter / period + 1;
            let mut work = step.checked_mul(packets).ok_or(overflow(OP))?;
            let until = until.max(deadline);
            if steps == Steps::Relax {
                work = 0;
            } else {
                out.push(Event { at: deadline.into(), slope: 0, intercept: -work });
            }
            loop {
                let at = deadline + packets * period - jitter;
                if at > until || steps != Steps::Follow {
                    break;
                }
                out.push(Event { at: at.into(), slope: 0, intercept: -step });
                packets += 1;
                work = work.checked_add(step).ok_or(overflow(OP))?;
            }
            // From here on `size * (1 + (t - d + jitter) / period)`, slope rounded up.
            let rate = flow.envelope.rate();
            let late = Rational::new(until - deadline + jitter, period)?.plus(Rational::ONE)?;
            let level = late.times(step.into())?.ceil();
            let back = i128::from(rate.0).checked_mul(until).ok_or(overflow(OP))?;
            let intercept = level.checked_sub(back).ok_or(overflow(OP))?;
            out.push(Event {
                at: until.into(),
                slope: -i128::from(rate.0),
                intercept: work.checked_sub(intercept).ok_or(overflow(OP))?,
            });
        }
    }
    Ok(())
}

/// Whole bytes not above some nanobits.
pub(crate) fn bytes_floor(work: i128) -> i128 {
    work.div_euclid(NANOBITS_PER_BYTE)
}
