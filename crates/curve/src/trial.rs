//! The admission test when only the answer counts, not the worst interval.
//!
//! The answer is that of [`check`], found with as few corners as it takes: upper bounds of periodic
//! envelopes often prove admission without a single step, they also tell from where on nothing can
//! fail, and the corners before that are passed in rising order up to the first that fails.

use alloc::collections::BinaryHeap;
use core::cell::Cell;
use core::cmp::Reverse;

use crate::admission::check_within;
use crate::envelope::{knee, nanobits};
use crate::sweep::{self, Horizon, MAX_STEPS, Segment, Steps, Which, lines};
use crate::{CurveError, Envelope, FlowSpec, LinkSpec, Rational};

/// The effort of many trials together, in steps of periodic envelopes. Once it is spent, trials
/// follow [`FEW_STEPS`] and count with upper bounds from there on.
const EFFORT: u64 = 1 << 26;
/// The cost of [`check`](crate::check) a step, in steps of [`walk`].
const FULL: u64 = 16;
/// Steps that every trial can afford.
const FEW_STEPS: i128 = 1 << 10;

/// The steps that trials may still look at.
#[derive(Debug)]
pub(crate) struct Effort(Cell<u64>);

impl Effort {
    pub fn new() -> Effort {
        Effort(Cell::new(EFFORT))
    }

    /// Whether all that was allowed is spent, so that answers may be too strict.
    pub fn is_spent(&self) -> bool {
        self.0.get() == 0
    }

    fn most_steps(&self) -> i128 {
        if self.is_spent() { FEW_STEPS } else { MAX_STEPS }
    }

    fn spend(&self, steps: u64) {
        self.0.set(self.0.get().saturating_sub(steps));
    }
}

/// The answer to a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub admitted: bool,
    /// Whether [`check`] would be exact.
    pub exact: bool,
    /// An interval in which too much is asked; not known for every refusal.
    pub fails_at: Option<Rational>,
}

impl Outcome {
    const fn new(admitted: bool, exact: bool) -> Outcome {
        Outcome { admitted, exact, fails_at: None }
    }
}

/// Tests a set; with `sound` it is known that no deadline is missed, and the open question is
/// whether the test, which follows a limited number of steps, finds that.
pub(crate) fn trial(link: &LinkSpec, flows: &[FlowSpec], sound: bool, effort: &Effort) -> Outcome {
    if overloaded(link, flows) {
        return Outcome::new(false, true);
    }
    let most = effort.most_steps();
    let Ok(horizon) = sweep::horizon_within(link, flows, 1, most) else {
        return Outcome::new(false, false);
    };
    let quick = match moderate(link, flows, horizon) {
        true => walk(link, flows, horizon, sound, effort),
        false => None,
    };
    // Near the limits of 128 bits the test itself must say whether it gets through.
    quick.unwrap_or_else(|| {
        let steps = u64::try_from(sweep::steps(flows, horizon.until)).unwrap_or(u64::MAX);
        effort.spend(steps.saturating_mul(FULL));
        check_within(link, flows, most)
            .map_or(Outcome::new(false, false), |v| Outcome::new(v.admitted, v.exact))
    })
}

/// The same as [`sweep::overloaded`], without fractions wherever whole rates tell.
pub(crate) fn overloaded(link: &LinkSpec, flows: &[FlowSpec]) -> bool {
    let (capacity, up) = (i128::from(link.rate.0), sweep::total_rate(flows));
    // Each rate is rounded up by less than one.
    if up <= capacity {
        return false;
    }
    up - flows.len() as i128 >= capacity || sweep::overloaded(link, flows)
}

/// Whether no number on the way can come near 128 bits, and times fit 63.
fn moderate(link: &LinkSpec, flows: &[FlowSpec], horizon: Horizon) -> bool {
    let bits = |x: i128| i128::BITS - x.max(0).leading_zeros();
    let mut rates = i128::from(link.rate.0);
    let mut work = nanobits(link.best_effort_packet) + nanobits(link.downstream_backlog);
    let mut knees: i128 = 0;
    let mut spread: i128 = 1;
    for flow in flows {
        let mut corner = i128::from(flow.deadline.0);
        work += nanobits(flow.envelope.burst()) + nanobits(flow.envelope.max_packet());
        match &flow.envelope {
            Envelope::Buckets { buckets, .. } => {
                let peak = buckets.first().map_or(0, |b| b.rate.0);
                rates += i128::from(peak);
                spread = spread.max(peak.into());
                if let [.., a, b] = &buckets[..] {
                    corner += knee(a, b).map_or(i128::MAX >> 1, Rational::ceil);
                }
            }
            periodic => rates += i128::from(periodic.rate().0) + 1,
        }
        knees = knees.max(corner);
    }
    let latest = knees.max(horizon.until);
    let level = |t: i128| bits(rates).saturating_add(bits(t)).max(bits(work)) + 2;
    let beyond = if horizon.complete { level(knees) } else { level(latest) };
    bits(latest) <= 62 && level(latest) <= 120 && beyond + bits(spread).max(bits(rates)) <= 120
}

/// `None` when a number does not fit after all.
fn walk(
    link: &LinkSpec,
    flows: &[FlowSpec],
    horizon: Horizon,
    sound: bool,
    effort: &Effort,
) -> Option<Outcome> {
    let yes = Some(Outcome::new(true, horizon.complete));
    let no = Outcome::new(false, horizon.complete);
    let Some(least) = flows.iter().map(|f| f.deadline.0).min() else { return yes };
    let segments = |until, steps| lines(link, flows, Which::Admission, until, steps).ok();
    if !horizon.complete {
        // Beyond the last step that is followed stand upper bounds, as in the full test.
        let tail = segments(horizon.until, Steps::Relax)?;
        if tail.last()?.slope < 0 {
            return Some(no);
        }
        let from = Rational::whole(horizon.until.max(least.into()));
        for segment in tail.iter().filter(|s| s.start >= from) {
            if segment.at(segment.start).ok()?.signum() < 0 {
                return Some(no);
            }
        }
    }
    if sound {
        return yes;
    }
    let end = match safe_from(&segments(0, Steps::Relax)?, least.into()).ok()? {
        Some(end) if end <= least.into() => return yes,
        Some(end) if horizon.periodic => end.min(horizon.until),
        _ if horizon.periodic => horizon.until,
        _ => i128::MAX,
    };
    let base = segments(0, Steps::Omit)?;
    let mut steps = BinaryHeap::with_capacity(flows.len());
    for flow in flows {
        if let Envelope::Periodic { period, size, jitter } = &flow.envelope {
            let late = jitter.0 / period.0.max(1);
            let step = nanobits(*size);
            // At the deadline all packets that may be late come at once, then one at a time.
            let next = (late + 1).checked_mul(period.0.max(1))? - jitter.0;
            let at_once = step * (i128::from(late) + 1);
            steps.push(Reverse((flow.deadline.0, at_once, next, period.0.max(1), step)));
        }
    }
    let mut paid: i128 = 0;
    for (i, segment) in base.iter().enumerate() {
        let fails = |t: i128, paid: i128| segment.slope * t + segment.intercept - paid < 0;
        if segment.start > Rational::whole(end) {
            break;
        }
        if segment.start >= least.into() {
            let room = segment.at(segment.start).ok()?.minus(paid.into()).ok()?;
            if room.signum() < 0 {
                return Some(Outcome { fails_at: Some(segment.start), ..no });
            }
        }
        let stop = base.get(i + 1).map_or(end, |next| (next.start.ceil() - 1).min(end));
        while let Some(mut top) = steps.peek_mut() {
            let Reverse((at, work, wait, period, step)) = *top;
            let t = i128::from(at);
            if t > stop {
                break;
            }
            paid += work;
            effort.spend(1);
            if fails(t, paid) {
                return Some(Outcome { fails_at: Some(t.into()), ..no });
            }
            *top = Reverse((at.checked_add(wait)?, step, period, period, step));
        }
    }
    yes
}

/// The least whole instant from which on a curve without steps stays at or above zero.
fn safe_from(segments: &[Segment], least: i128) -> Result<Option<i128>, CurveError> {
    if segments.last().is_none_or(|s| s.slope < 0) {
        return Ok(None);
    }
    let mut safe = None;
    for segment in segments.iter().rev() {
        let begin = segment.start.greatest(least.into());
        if segment.at(begin)?.signum() >= 0 {
            safe = Some(begin.ceil());
        } else {
            if segment.slope > 0 {
                let zero = Rational::new(-segment.intercept, segment.slope)?.ceil();
                safe = Some(safe.map_or(zero, |s| s.min(zero)));
            }
            break;
        }
        if segment.start <= least.into() {
            break;
        }
    }
    Ok(safe)
}
