//! Distributions of delay, their tails, and margins to deadlines.

use super::outcome::{FlowDetail, Outcome, PolicyDetail};
use super::tables::{deadline, ns, worst_lateness};
use crate::distribution::{Buckets, Tails, legend_of, quantile, quantiles, up_to};
use crate::figure::{Figure, Key};
use crate::number::span;
use crate::outcome::Runs as _;
use crate::plot::{Anchor, Axis, Body, Hue, Ink, Mark, Marker, Plot, Unit};
use laxity_results::FlowKind;

/// The distribution of a flow, up to its exact maximum.
fn exact(outcome: &Outcome, policy: &str, flow: &FlowDetail) -> Buckets {
    let result = outcome.first().and_then(|r| r.policies.get(policy)?.flows.get(&flow.flow));
    up_to(&flow.distribution, result.and_then(|r| r.max_ms))
}

fn names(details: &[PolicyDetail]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for kind in [FlowKind::Realtime, FlowKind::BestEffort] {
        for f in details.iter().flat_map(|p| &p.flows).filter(|f| f.kind == kind) {
            if !names.contains(&f.flow.as_str()) {
                names.push(&f.flow);
            }
        }
    }
    names
}

fn flow_title(details: &[PolicyDetail], name: &str) -> String {
    match details.iter().find_map(|p| p.flow(name)).map(|f| f.kind) {
        Some(FlowKind::Realtime) => format!("{name} (real-time)"),
        _ => format!("{name} (best effort)"),
    }
}

/// One panel for each flow, one line for each policy.
pub(crate) fn ccdf_figure(outcome: &Outcome, details: &[PolicyDetail]) -> Option<Figure> {
    let mut panels = Vec::new();
    for name in names(details) {
        let mut tails = Tails::new();
        let mut limit = None;
        for (place, policy) in details.iter().enumerate() {
            let Some(f) = policy.flow(name) else { continue };
            tails.add(place, &policy.policy, &exact(outcome, &policy.policy, f));
            limit = limit.or(f.deadline_ns);
        }
        let axes = ("delay", "share of packets with a longer delay", 1.0);
        let limit = limit.map(|deadline| ("deadline", deadline));
        panels.push(tails.plot(flow_title(details, name), axes, limit));
    }
    if panels.is_empty() {
        return None;
    }
    Some(
        Figure::new("ccdf", "How many packets wait longer", 3)
            .keyed(legend(details))
            .with(panels)
            .captioned(
                "Complementary distribution on a logarithmic scale: at 0.01 one packet in a \
                 hundred waits longer than the delay below. A line that ends before the deadline \
                 means that no packet missed it.",
            ),
    )
}

/// Boxes from the first to the third quartile, whiskers to the 1st and 99th percentile.
pub(crate) fn box_figure(outcome: &Outcome, details: &[PolicyDetail]) -> Option<Figure> {
    let mut panels = Vec::new();
    for name in names(details) {
        let present: Vec<(usize, &PolicyDetail, &FlowDetail)> =
            details.iter().enumerate().filter_map(|(i, p)| Some((i, p, p.flow(name)?))).collect();
        let (mut marks, mut right) = (Vec::new(), 1.0f64);
        let limit = present.iter().find_map(|(_, _, f)| f.deadline_ns);
        for (row, (i, policy, f)) in present.iter().enumerate() {
            let buckets = exact(outcome, &policy.policy, f);
            let at = |q| quantile(&buckets, q).map(|v| v as f64);
            let (y, hue) = (-(row as f64), Hue::Series(*i));
            let (Some(p1), Some(p25), Some(p50), Some(p75), Some(p99), Some(max)) =
                (at(10), at(250), at(500), at(750), at(990), at(1000))
            else {
                marks.push(Mark::Text {
                    at: (0.0, y),
                    shift: (6.0, 4.0),
                    text: "no packet sent".into(),
                    anchor: Anchor::Start,
                });
                continue;
            };
            right = right.max(max);
            let thin = Ink::new(hue);
            let flat = |a: f64, b: f64, ink: Ink| Mark::Segment {
                from: (a, y),
                to: (b, y),
                ink,
                arrow: false,
            };
            marks.push(flat(p1, p99, thin));
            marks.push(Mark::Bar { y, x: (p25, p75), thick: 12.0, hue, body: Body::Outline });
            marks.push(Mark::Bar { y, x: (p50, p50), thick: 16.0, hue, body: Body::Solid });
            marks.push(Mark::Bar { y, x: (p99, p99), thick: 8.0, hue, body: Body::Solid });
            marks.push(Mark::Dots {
                points: vec![(max, y)],
                ink: thin.marked(Some(Marker::Diamond)),
            });
        }
        right = limit.map_or(right, |d| right.max(d as f64));
        let x = Axis::linear("delay", Unit::Time, 0.0, right * 1.05);
        let limit = limit.map(|d| Mark::Vertical {
            x: d as f64,
            label: format!("deadline {}", span(d)),
            ink: Ink::limit(),
        });
        let y = Axis::names(present.iter().map(|(_, p, _)| p.policy.as_str()));
        panels.push(
            Plot::new(flow_title(details, name), x, y)
                .sized(380.0, 76.0 + 24.0 * present.len() as f64)
                .described(description(outcome, details, name))
                .hinted(present.iter().map(|(_, p, f)| sentence(outcome, p, f)).collect())
                .with_all(limit)
                .with_all(marks),
        );
    }
    if panels.is_empty() {
        return None;
    }
    Some(Figure::new("distribution", "Spread of delays", 3).with(panels).captioned(
        "Box: the middle half of all packets; thick stroke: median; line: 1st to 99th percentile; \
         diamond: the largest delay.",
    ))
}

/// The largest delay of each real-time flow as a share of its deadline.
pub(crate) fn margin_figure(outcome: &Outcome) -> Option<Figure> {
    let policies = outcome.policies();
    let mut panels = Vec::new();
    for flow in outcome.flows(FlowKind::Realtime) {
        let Some(limit) = deadline(outcome, flow).filter(|d| *d > 0.0) else { continue };
        let used: Vec<Option<f64>> = policies
            .iter()
            .map(|p| worst_lateness(outcome, p, flow).map(|late| limit + late))
            .collect();
        let longest = used.iter().flatten().fold(limit, |a, b| a.max(*b));
        let x = Axis::linear("worst use of the deadline", Unit::Time, 0.0, longest * 1e6 * 1.1);
        let mut marks = Vec::new();
        let mut description = format!("Deadline {}.", span(ns(limit)));
        for (i, used) in used.iter().enumerate() {
            let y = -(i as f64);
            let Some(used) = used else { continue };
            let text = if *used > limit {
                format!("\u{2717} late by {}", span(rounded(used - limit)))
            } else {
                format!("{} left", span(rounded(limit - used)))
            };
            description.push_str(&format!(" {}: {text}.", policies[i]));
            marks.push(Mark::Bar {
                y,
                x: (0.0, used * 1e6),
                thick: 15.0,
                hue: Hue::Series(i),
                body: Body::Solid,
            });
            // Long bars hold their words, short ones have them behind.
            marks.push(if *used > longest * 0.5 {
                Mark::Inside { at: (0.0, y), text }
            } else {
                let (at, shift, anchor) = ((used * 1e6, y), (6.0, 4.0), Anchor::Start);
                Mark::Text { at, shift, text, anchor }
            });
        }
        marks.push(Mark::Vertical {
            x: limit * 1e6,
            label: format!("deadline {}", span(ns(limit))),
            ink: Ink::limit(),
        });
        panels.push(
            Plot::new(flow, x, Axis::names(policies.iter().copied()))
                .sized(380.0, 78.0 + 24.0 * policies.len() as f64)
                .described(description)
                .with_all(marks),
        );
    }
    if panels.is_empty() {
        return None;
    }
    Some(Figure::new("margin", "Margin to the deadline", 3).with(panels).captioned(
        "Bars end where the worst packet ended, counted from the time its deadline counts from; \
         what is left up to the dashed line is the least margin of the run.",
    ))
}

/// Three significant digits of a span in ms are enough for a label.
fn rounded(ms: f64) -> u64 {
    let exact = ns(ms.abs());
    let mut unit = 1;
    while exact / unit >= 1000 {
        unit *= 10;
    }
    exact / unit * unit
}

pub(crate) fn legend(details: &[PolicyDetail]) -> Vec<Key> {
    legend_of(details.iter().map(|p| p.policy.as_str()))
}

fn sentence(outcome: &Outcome, policy: &PolicyDetail, flow: &FlowDetail) -> String {
    quantiles(&policy.policy, &exact(outcome, &policy.policy, flow)).trim_end().into()
}

fn description(outcome: &Outcome, details: &[PolicyDetail], name: &str) -> String {
    let of = |policy: &PolicyDetail| Some(sentence(outcome, policy, policy.flow(name)?));
    details.iter().filter_map(of).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use laxity_results::{FlowResult, PolicyResult, SimulationResult};

    // Fails when the bounds are used unchanged: 4.99 ms lies in a bucket that ends after 5 ms.
    #[test]
    fn rounding_to_buckets_never_shows_a_miss() {
        let flow = FlowDetail {
            flow: "voice".into(),
            kind: FlowKind::Realtime,
            deadline_ns: Some(5_000_000),
            series: vec![],
            excerpt: vec![],
            distribution: vec![(1_000_000, 9), (5_046_271, 1)],
        };
        let result = FlowResult {
            kind: FlowKind::Realtime,
            packets: 10,
            bytes: 1000,
            mean_ms: Some(1.0),
            p50_ms: Some(1.0),
            p99_ms: Some(4.99),
            max_ms: Some(4.99),
            deadline_ms: Some(5.0),
            max_lateness_ms: Some(-0.01),
            deadline_misses: 0,
            dropped: 0,
            demoted: 0,
            demoted_mean_ms: None,
            demoted_max_ms: None,
            aqm_drops: None,
            ecn_marks: None,
            tcp: None,
            drop_reasons: Default::default(),
        };
        let policy = PolicyResult {
            utilisation: 0.1,
            best_effort_mean_ms: None,
            realtime_deadline_misses: 0,
            flows: [("voice".to_string(), result)].into(),
        };
        let run = SimulationResult {
            scenario: "s".into(),
            seed: Some(1),
            duration_ns: 1,
            policies: [("exact".to_string(), policy)].into(),
        };
        let buckets = exact(&Outcome::One(&run), "exact", &flow);
        assert_eq!(buckets, [(1_000_000, 9), (4_990_000, 1)]);
    }
}
