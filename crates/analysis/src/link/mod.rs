//! Links: the admission test, suggestions, and the curves behind them.

mod best_effort;
mod conformance;
mod rate_planner;
mod residual;
mod shares;
mod shedding;
mod validate;

use laxity_core::{Bytes, NANOBITS_PER_BYTE, OptionValue, PolicyOptions as _, Rate};
use laxity_curve::service::{self, FlowSuggestion, LinkFlow, check_flows, suggest_flows};
use laxity_curve::{CurveError, Envelope, LinkSpec, MAX_BURST, Rational};
use laxity_results::{CheckResult, FlowCheck, IdleRealtime, LaterAuto, ServiceCheck};
use laxity_scenario::link::model::{Later, RealtimeFlow, Scenario};
use laxity_scenario::quantity::{print_bytes, print_rate};

pub use rate_planner::{MIN_CHANGE_INTERVAL, MIN_RATE, RESTORE_AFTER, RateChange, RatePlanner};
pub use residual::{ResidualCurves, residual};
pub use shedding::{Shedding, shed};
pub use validate::{Fault, Premise, ValidateError, Validation, validate};

use crate::AnalysisError;

/// Whether a policy lets best effort start only where it blocks no deadline.
fn always_checks(scenario: &Scenario, policy: &str) -> bool {
    scenario.policy.options.get(policy, "always-check") == Some(OptionValue::Bool(true))
}

/// The link as the admission test of a policy sees it.
pub fn admission_link(scenario: &Scenario, policy: &str) -> LinkSpec {
    let mut link = scenario.setup().link_spec();
    if always_checks(scenario, policy) {
        // Best effort never starts where it could block a deadline.
        link.best_effort_packet = Bytes(0);
    }
    link
}

/// Whether a policy promises the deadlines of a scenario.
pub fn promises(scenario: &Scenario, policy: &str) -> bool {
    let keeps = laxity_link::registry::find(policy).is_some_and(|p| p.keeps_deadlines);
    let served = || refused_curve(scenario, policy).is_none();
    keeps && served() && admits(scenario, policy).unwrap_or(false)
}

fn admits(scenario: &Scenario, policy: &str) -> Result<bool, CurveError> {
    let flows = scenario.setup().link_flows()?;
    Ok(check_flows(&admission_link(scenario, policy), &flows)?.admitted)
}

/// The first flow with a service curve, if the policy serves none.
fn refused_curve<'a>(scenario: &'a Scenario, policy: &str) -> Option<&'a RealtimeFlow> {
    let serves = laxity_link::registry::serves_curves(policy);
    scenario.realtime.iter().find(|f| f.service_curve.is_some() && !serves)
}

/// The admission test of a scenario under a policy, with suggestions.
///
/// # Errors
/// See [`AnalysisError`].
pub fn analyse(scenario: &Scenario, policy: &str) -> Result<CheckResult, AnalysisError> {
    if let Some(flow) = refused_curve(scenario, policy) {
        let (policy, flow) = (policy.to_owned(), flow.name.clone());
        return Err(AnalysisError::ServiceCurve { policy, flow });
    }
    let setup = scenario.setup();
    let link = admission_link(scenario, policy);
    let flows = setup.link_flows()?;
    let verdict = check_flows(&link, &flows)?;
    let suggestions = suggest_flows(&link, &flows)?;
    let residual = service::residual(&link, &flows).ok();
    let names = scenario.realtime.iter().map(|f| f.name.clone());
    let rows = verdict.demand.iter().zip(suggestions).zip(&flows);
    let rows = rows.map(|((demand, suggestion), flow)| flow_check(demand.0, suggestion, flow));
    let rows: Vec<FlowCheck> = rows.collect::<Result<_, _>>()?;
    let some = !scenario.realtime.is_empty();
    let best_effort = match &residual {
        Some(residual) if verdict.admitted => {
            best_effort::bounds(scenario, policy, (&link, &flows), residual)?
        }
        _ => Vec::new(),
    };
    Ok(CheckResult {
        admitted: verdict.admitted,
        utilisation: verdict.load.0 as f64 / verdict.capacity.0 as f64,
        binding_interval_ns: verdict.binding_interval.and_then(|t| u64::try_from(t.floor()).ok()),
        slack_bytes: some.then_some(verdict.slack_bytes),
        flows: names.zip(rows).collect(),
        residual: residual.map(|r| residual::corners(r.effective())).unwrap_or_default(),
        best_effort: best_effort.into_iter().collect(),
        shares: shares::shares(scenario, policy, &setup)?,
        later_auto: match verdict.admitted {
            true => None,
            false => later_auto(scenario, policy)?,
        },
        idle_realtime: verdict
            .admitted
            .then(|| idle_realtime(scenario, policy, verdict.slack_bytes))
            .flatten(),
    })
}

fn flow_check(
    demand_bytes: u64,
    suggestion: FlowSuggestion,
    flow: &LinkFlow,
) -> Result<FlowCheck, CurveError> {
    let none = FlowCheck {
        demand_bytes,
        min_deadline_ns: None,
        max_rate: None,
        max_burst: None,
        rate_is_peak: false,
        burst_is_limit: false,
        conservative: false,
        service: None,
    };
    Ok(match (suggestion, flow) {
        (FlowSuggestion::Deadline(s), LinkFlow::Deadline(flow)) => FlowCheck {
            min_deadline_ns: s.min_deadline.map(|d| d.0),
            max_rate: s.max_rate.map(print_rate),
            max_burst: s.max_burst.map(print_bytes),
            rate_is_peak: s.max_rate.is_some() && s.max_rate == peak(&flow.envelope),
            burst_is_limit: s.max_burst == Some(MAX_BURST),
            conservative: s.strict,
            ..none
        },
        (FlowSuggestion::Service(s), LinkFlow::Service(flow)) => FlowCheck {
            conservative: s.strict,
            service: Some(ServiceCheck {
                curve: residual::corners(flow.curve.curve()),
                delay_bound_ns: flow.delay_bound()?.map(whole),
                backlog_bound_bytes: flow.backlog_bound()?.map(whole_bytes).transpose()?,
                min_later_ns: s.min_later.map(|later| later.0),
            }),
            ..none
        },
        _ => none,
    })
}

/// Rounded up; a bound that does not fit is as good as none.
fn whole(x: Rational) -> u64 {
    u64::try_from(x.ceil()).unwrap_or(u64::MAX)
}

/// Nanobits as bytes, rounded up.
fn whole_bytes(work: Rational) -> Result<u64, CurveError> {
    Ok(whole(work.over(NANOBITS_PER_BYTE.into())?))
}

/// What `later = "auto"` in all service curves would do for a refused scenario; `None` where they
/// have it already.
fn later_auto(scenario: &Scenario, policy: &str) -> Result<Option<LaterAuto>, CurveError> {
    let mut changed = scenario.clone();
    let mut any = false;
    for curve in changed.realtime.iter_mut().filter_map(|f| f.service_curve.as_mut()) {
        any |= curve.later != Later::Auto;
        curve.later = Later::Auto;
    }
    if !any {
        return Ok(None);
    }
    changed.set_link(scenario.link.clone());
    let later_ns = changed.auto_later().0;
    Ok(Some(LaterAuto { later_ns, admitted: admits(&changed, policy)? }))
}

/// Under `slack` with `always-check`: a packet goes beside silent flows, which have all their buckets
/// full, if it fits into what admission leaves.
fn idle_realtime(scenario: &Scenario, policy: &str, left: i64) -> Option<IdleRealtime> {
    let setup = scenario.setup();
    let max_immediate_bytes = u64::try_from(left).unwrap_or(0);
    let waits = always_checks(scenario, policy)
        && max_immediate_bytes < setup.wire.of_bytes(setup.max_packet).0;
    let release = Some(scenario.policy.options.release_idle.0).filter(|ns| *ns > 0);
    (waits && !scenario.realtime.is_empty())
        .then_some(IdleRealtime { max_immediate_bytes, idle_timeout_ns: release })
}

/// The rate beyond which the long-term rate of an envelope has no effect.
fn peak(envelope: &Envelope) -> Option<Rate> {
    match envelope.lines() {
        Some([.., before, _]) => Some(before.rate),
        _ => None,
    }
}

#[cfg(test)]
mod service_tests;
#[cfg(test)]
mod tests;
