//! Whether a set of flows keeps all its deadlines: the exact test for non-preemptive EDF.

use alloc::vec::Vec;

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate};

use crate::sweep::{self, Which, bytes_floor};
use crate::{CurveError, FlowSpec, LinkSpec, Rational};

/// The answer to an admission test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether every deadline is kept.
    pub admitted: bool,
    /// Sum of the long-term rates, each rounded up to a whole bit/s.
    pub load: Rate,
    /// Rate of the link; `load / capacity` is the utilisation.
    pub capacity: Rate,
    /// Whether the flows ask for more than the link carries in the long run.
    pub overload: bool,
    /// The interval length in ns at which the residual is least; `None` without flows.
    pub binding_interval: Option<Rational>,
    /// The residual there, in nanobits, rounded down; negative when refused.
    pub slack: i128,
    /// The same in bytes, rounded down.
    pub slack_bytes: i64,
    /// The demand of each flow in the binding interval, in order, rounded up.
    pub demand: Vec<Bytes>,
    /// Blocking there by best effort and later deadlines, with the backlog below the scheduler.
    pub blocking: Bytes,
    /// Whether the test was exact. It is, unless periodic flows need more than a quarter of a
    /// million steps; then an upper bound of their demand was used from some instant on, so that a
    /// refusal may be too strict, but never an admission too lax.
    pub exact: bool,
}

/// Whether `R(t) >= 0` for all `t >= d_min` (admission residual of the paper's section 2 model,
/// with the chosen blocking). Exact: `R` is a line between two corners, and at corners it only
/// jumps down, because a flow whose largest packet stops blocking brings at least that packet as
/// demand at the same instant.
///
/// # Errors
/// A link of rate zero, or numbers beyond 128 bits. Too much load is a verdict, not an error.
pub fn check(link: &LinkSpec, flows: &[FlowSpec]) -> Result<Verdict, CurveError> {
    check_within(link, flows, sweep::MAX_STEPS)
}

/// The same, following at most so many steps of periodic envelopes.
pub(crate) fn check_within(
    link: &LinkSpec,
    flows: &[FlowSpec],
    most_steps: i128,
) -> Result<Verdict, CurveError> {
    if link.rate.0 == 0 {
        return Err(CurveError::ZeroCapacity);
    }
    let overload = sweep::overloaded(link, flows);
    let load = Rate(u64::try_from(sweep::total_rate(flows)).unwrap_or(u64::MAX));
    let mut verdict = Verdict {
        admitted: true,
        load,
        capacity: link.rate,
        overload,
        binding_interval: None,
        slack: 0,
        slack_bytes: 0,
        demand: Vec::new(),
        blocking: Bytes(0),
        exact: true,
    };
    let Some(least) = flows.iter().map(|f| f.deadline).min() else {
        return Ok(verdict);
    };
    let horizon = sweep::horizon_within(link, flows, 1, most_steps)?;
    let segments = sweep::residual(link, flows, Which::Admission, horizon)?;
    let limit = Rational::whole(horizon.until);
    let mut worst: Option<(Rational, Rational)> = None;
    for segment in segments.iter().filter(|s| s.start >= least.0.into()) {
        // Past a complete horizon nothing can fail; what stands there are upper bounds.
        if horizon.periodic && horizon.complete && !overload && segment.start >= limit {
            break;
        }
        let value = segment.at(segment.start)?;
        if worst.is_none_or(|(_, w)| value < w) {
            worst = Some((segment.start, value));
        }
    }
    if let (Some(tail), true) = (segments.last(), overload || !horizon.complete) {
        // The residual falls for ever; where does it turn negative?
        if tail.slope < 0 && worst.is_none_or(|(_, w)| w.signum() >= 0) {
            let zero = Rational::new(tail.intercept, -tail.slope)?;
            let at = Rational::whole(zero.greatest(tail.start).floor() + 1);
            worst = Some((at, tail.at(at)?));
        }
    }
    if let Some((at, value)) = worst {
        verdict.slack = value.floor();
        verdict.slack_bytes = clamp(bytes_floor(verdict.slack));
        verdict.binding_interval = Some(at);
        for flow in flows {
            let work = flow.envelope.value(at.minus(flow.deadline.0.into())?)?;
            let bytes = work.over(NANOBITS_PER_BYTE.into())?.ceil();
            verdict.demand.push(Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)));
        }
        verdict.blocking = blocked(link, flows, at);
    }
    verdict.admitted = !overload && verdict.slack >= 0;
    verdict.exact = horizon.complete;
    Ok(verdict)
}

/// The blocking term at `at`, with what is below the scheduler.
fn blocked(link: &LinkSpec, flows: &[FlowSpec], at: Rational) -> Bytes {
    let (first, changes) = sweep::blocking(link, flows, Which::Admission);
    let now = changes.iter().take_while(|(d, _)| Rational::from(d.0) <= at).last();
    let work = now.map_or(first, |(_, next)| *next)
        + i128::from(link.downstream_backlog.0) * NANOBITS_PER_BYTE;
    Bytes(u64::try_from(bytes_floor(work)).unwrap_or(u64::MAX))
}

fn clamp(x: i128) -> i64 {
    x.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
