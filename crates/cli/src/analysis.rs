//! From a scenario to a verdict and the curves behind it.

use laxity_core::{Bytes, Rate};
use laxity_curve::{
    Curve, CurveError, Envelope, LinkSpec, MAX_BURST, Residual, check_shifted_line,
    check_two_segment, fit_shifted_line, fit_two_segment,
};
use laxity_experiments::polyline::{bytes, float, polyline};
use laxity_link::slack;
use laxity_report::ResidualPlot;
use laxity_scenario::model::Scenario;
use laxity_scenario::quantity::{print_bytes, print_rate};
use laxity_scenario::result::{CheckResult, FlowCheck, Silence};

/// The link as the admission test of a policy sees it.
fn link_spec(scenario: &Scenario, policy: &str) -> LinkSpec {
    let mut link = scenario.setup().link_spec();
    if policy == slack::INFO.name && scenario.policy.always_check {
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

/// The admission test of a scenario under the policy that it uses, with suggestions.
pub fn check(scenario: &Scenario) -> Result<CheckResult, CurveError> {
    let setup = scenario.setup();
    let link = link_spec(scenario, &scenario.policy.use_);
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
        strict: s.strict,
    });
    let some = !scenario.realtime.is_empty();
    Ok(CheckResult {
        admitted: verdict.admitted,
        utilisation: verdict.load.0 as f64 / verdict.capacity.0 as f64,
        binding_interval_ns: verdict.binding_interval.and_then(|t| u64::try_from(t.floor()).ok()),
        slack_bytes: some.then_some(verdict.slack_bytes),
        flows: names.zip(rows).collect(),
        residual: residual.map(|r| corners(r.effective())).unwrap_or_default(),
        silence: verdict.admitted.then(|| silence(scenario, verdict.slack_bytes)).flatten(),
    })
}

/// Under `slack` with `always-check`: a packet goes beside silent flows, all of whose buckets are
/// full, if it fits into what admission leaves.
fn silence(scenario: &Scenario, left: i64) -> Option<Silence> {
    let policy = &scenario.policy;
    let setup = scenario.setup();
    let at_once_bytes = u64::try_from(left).unwrap_or(0);
    let checks = policy.use_ == slack::INFO.name && policy.always_check;
    let waits = checks && at_once_bytes < setup.wire.of_bytes(setup.max_packet).0;
    let release = Some(policy.release_idle.0).filter(|ns| *ns > 0);
    (waits && !scenario.realtime.is_empty())
        .then_some(Silence { at_once_bytes, release_idle_ns: release })
}

/// The rate beyond which the long-term rate of an envelope has no effect.
fn peak(envelope: &Envelope) -> Option<Rate> {
    match envelope.lines() {
        Some([.., before, _]) => Some(before.rate),
        _ => None,
    }
}

/// Corner points for printing: time rounded down, bytes, slope in B/s.
fn corners(curve: &Curve) -> Vec<(u64, f64, f64)> {
    let row = |p: &laxity_curve::Piece| {
        let time = u64::try_from(p.start.floor()).ok()?;
        Some((time, bytes(p.at(p.start).ok()?), float(p.slope) / 8.0))
    };
    curve.pieces().iter().filter_map(row).collect()
}

/// The curves of the paper's Figure 8 for a scenario, as far as they exist.
pub fn residual_plot(scenario: &Scenario) -> Option<ResidualPlot> {
    let setup = scenario.setup();
    let residual = setup.residual().ok()?;
    let guarantee = scenario.policy.guarantee;
    let last = corners(residual.effective()).last()?.0 as f64;
    let end = last * 1.3 + 1e6;
    let shifted = match scenario.policy.shifted_line {
        Some(line) => check_shifted_line(&residual, guarantee, &line).map(|()| line),
        None => fit_shifted_line(&residual, guarantee),
    };
    let two = match scenario.policy.two_segment {
        Some(line) => check_two_segment(&residual, guarantee, &line).map(|()| line),
        None => fit_two_segment(&residual, guarantee),
    };
    let mut approximations = Vec::new();
    if let Ok(line) = shifted {
        let (slope, shift) = (line.slope.0 as f64 / 8e9, line.shift.0 as f64);
        let points =
            vec![(0.0, 0.0), (shift, 0.0), (end.max(shift), slope * (end - shift).max(0.0))];
        approximations.push(("shifted-line".to_owned(), points));
    }
    if let Ok(line) = two {
        let (first, second) = (line.first.0 as f64 / 8e9, line.second.0 as f64 / 8e9);
        let corner = line.corner.0 as f64;
        let at_corner = first * corner;
        let points = vec![
            (0.0, 0.0),
            (corner, at_corner),
            (end.max(corner), at_corner + second * (end - corner).max(0.0)),
        ];
        approximations.push(("two-segment".to_owned(), points));
    }
    Some(ResidualPlot {
        residual: polyline(residual.deadlines(), end),
        effective: polyline(residual.effective(), end),
        approximations,
        near_ns: None,
        whole_ns: Some(end),
    })
}
