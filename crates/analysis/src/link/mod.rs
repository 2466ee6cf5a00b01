//! Links: the admission test, suggestions, and the curves behind them.

mod rate_planner;
mod residual;
mod shedding;

use laxity_core::{Bytes, OptionValue, PolicyOptions as _, Rate};
use laxity_curve::{Envelope, LinkSpec, MAX_BURST, Residual};
use laxity_results::{CheckResult, FlowCheck, IdleRealtime};
use laxity_scenario::link::model::Scenario;
use laxity_scenario::quantity::{print_bytes, print_rate};

pub use rate_planner::{MIN_CHANGE_INTERVAL, MIN_RATE, RESTORE_AFTER, RateChange, RatePlanner};
pub use residual::{ResidualCurves, residual};
pub use shedding::{Shedding, shed};

use crate::AnalysisError;

/// Whether a policy lets best effort start only where it blocks no deadline.
fn always_checks(scenario: &Scenario, policy: &str) -> bool {
    scenario.policy.options.get(policy, "always-check") == Some(OptionValue::Bool(true))
}

/// The link as the admission test of a policy sees it.
fn link_spec(scenario: &Scenario, policy: &str) -> LinkSpec {
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
    let admitted = || {
        let flows = scenario.setup().flow_specs().ok()?;
        Some(laxity_curve::check(&link_spec(scenario, policy), &flows).ok()?.admitted)
    };
    keeps && admitted().unwrap_or(false)
}

/// The admission test of a scenario under a policy, with suggestions.
///
/// # Errors
/// See [`AnalysisError`].
pub fn analyse(scenario: &Scenario, policy: &str) -> Result<CheckResult, AnalysisError> {
    let setup = scenario.setup();
    let link = link_spec(scenario, policy);
    let flows = setup.flow_specs()?;
    let verdict = laxity_curve::check(&link, &flows)?;
    let suggestions = laxity_curve::suggest(&link, &flows)?;
    let residual = Residual::new(&link, &flows).ok();
    let names = scenario.realtime.iter().map(|f| f.name.clone());
    let rows = verdict.demand.iter().zip(suggestions).zip(&flows);
    let rows = rows.map(|((demand, s), flow)| FlowCheck {
        demand_bytes: demand.0,
        min_deadline_ns: s.min_deadline.map(|d| d.0),
        max_rate: s.max_rate.map(print_rate),
        max_burst: s.max_burst.map(print_bytes),
        rate_is_peak: s.max_rate.is_some() && s.max_rate == peak(&flow.envelope),
        burst_is_limit: s.max_burst == Some(MAX_BURST),
        conservative: s.strict,
    });
    let some = !scenario.realtime.is_empty();
    Ok(CheckResult {
        admitted: verdict.admitted,
        utilisation: verdict.load.0 as f64 / verdict.capacity.0 as f64,
        binding_interval_ns: verdict.binding_interval.and_then(|t| u64::try_from(t.floor()).ok()),
        slack_bytes: some.then_some(verdict.slack_bytes),
        flows: names.zip(rows).collect(),
        residual: residual.map(|r| residual::corners(r.effective())).unwrap_or_default(),
        idle_realtime: verdict
            .admitted
            .then(|| idle_realtime(scenario, policy, verdict.slack_bytes))
            .flatten(),
    })
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
mod tests;
