//! Delay over time, as in the paper's Figures 4 and 5 (Chakraborty, Gries, Thiele, RTAS 2002).

use super::outcome::{FlowDetail, Outcome, PolicyDetail};
use crate::figure::Figure;
use crate::number::{Delays, span};
use crate::outcome::Runs as _;
use crate::page::{Block, Meta};
use crate::plot::{Axis, Hue, Ink, Mark, Marker, Plot, Point, Unit};
use laxity_results::FlowKind;

/// Headroom above the largest delay.
const HEAD: f64 = 1.08;

/// One real-time and one best-effort flow, the others in a collapsed part.
pub(crate) fn blocks(outcome: &Outcome, details: &[PolicyDetail], meta: &Meta) -> Vec<Block> {
    let names = flow_names(details);
    if names.is_empty() {
        return Vec::new();
    }
    let featured = featured(outcome, &names, meta);
    let window = meta.excerpt.or_else(|| excerpt_window(outcome, details));
    let mut out = Vec::new();
    let mut rest = Vec::new();
    for (name, _) in &names {
        let target = if featured.contains(name) { &mut out } else { &mut rest };
        target.extend(whole(outcome, details, name).map(Block::Figure));
        if let Some(window) = window {
            target.extend(excerpt(outcome, details, name, window).map(Block::Figure));
        }
    }
    if !rest.is_empty() {
        out.push(Block::More("All other flows over time".into(), rest));
    }
    out
}

/// Delay over time under each policy, for custom pages: for every flow of `details` a figure of
/// the whole run, and one of `window` (ns).
pub fn delay_figures<'a>(
    outcome: impl Into<Outcome<'a>>,
    details: &[PolicyDetail],
    window: (u64, u64),
) -> (Vec<Figure>, Vec<Figure>) {
    let outcome = outcome.into();
    let names = flow_names(details);
    let runs = names.iter().filter_map(|(name, _)| whole(&outcome, details, name)).collect();
    let excerpts = names.iter().filter_map(|(name, _)| excerpt(&outcome, details, name, window));
    (runs, excerpts.collect())
}

fn flow_names(details: &[PolicyDetail]) -> Vec<(String, FlowKind)> {
    let mut names: Vec<(String, FlowKind)> = Vec::new();
    for f in details.iter().flat_map(|p| &p.flows) {
        if !names.iter().any(|(n, _)| *n == f.flow) {
            names.push((f.flow.clone(), f.kind));
        }
    }
    names
}

/// The real-time flow that comes nearest its deadline and the best-effort flow with most bytes,
/// unless given.
fn featured(outcome: &Outcome, names: &[(String, FlowKind)], meta: &Meta) -> Vec<String> {
    if !meta.featured.is_empty() {
        return meta.featured.clone();
    }
    let score = |name: &str, kind: FlowKind| {
        let flows = outcome.first().into_iter().flat_map(|r| r.policies.values());
        flows
            .filter_map(|p| p.flows.get(name))
            .map(|f| match (kind, f.max_ms, f.deadline_ms) {
                (FlowKind::Realtime, Some(max), Some(d)) if d > 0.0 => max / d,
                (FlowKind::BestEffort, ..) => f.bytes as f64,
                _ => 0.0,
            })
            .fold(0.0, f64::max)
    };
    let best = |kind: FlowKind| {
        let mut best: Option<(f64, &String)> = None;
        for (name, k) in names.iter().filter(|(_, k)| *k == kind) {
            let s = score(name, *k);
            if best.is_none_or(|(b, _)| s > b) {
                best = Some((s, name));
            }
        }
        best.map(|(_, name)| name.clone())
    };
    [best(FlowKind::Realtime), best(FlowKind::BestEffort)].into_iter().flatten().collect()
}

/// A hundredth of the run around the largest best-effort delay under the first policy.
fn excerpt_window(outcome: &Outcome, details: &[PolicyDetail]) -> Option<(u64, u64)> {
    let duration = outcome.first()?.duration_ns;
    let flows = || details.first().into_iter().flat_map(|p| &p.flows);
    let of = |kind: FlowKind| {
        let points = flows().filter(|f| f.kind == kind).flat_map(|f| &f.series);
        points.max_by_key(|(at, delay)| (*delay, std::cmp::Reverse(*at))).copied()
    };
    let (at, _) = of(FlowKind::BestEffort).or_else(|| of(FlowKind::Realtime))?;
    let width = duration / 100;
    let from = at.saturating_sub(width / 2).min(duration.saturating_sub(width));
    (width > 0).then_some((from, from + width))
}

fn points(series: &[(u64, u64)]) -> Vec<Point> {
    series.iter().map(|(x, y)| (*x as f64, *y as f64)).collect()
}

/// Top of the common delay axis.
fn top<'a>(flows: impl Iterator<Item = &'a FlowDetail>, window: Option<(u64, u64)>) -> f64 {
    let mut top = 1.0f64;
    for f in flows {
        let inside = |p: &&(u64, u64)| window.is_none_or(|(a, b)| p.0 >= a && p.0 <= b);
        let values = f.series.iter().chain(&f.excerpt).filter(inside).map(|p| p.1);
        top = values.chain(f.deadline_ns).map(|v| v as f64).fold(top, f64::max);
    }
    top * HEAD
}

fn whole(outcome: &Outcome, details: &[PolicyDetail], name: &str) -> Option<Figure> {
    let end = outcome.first()?.duration_ns as f64;
    let top = top(details.iter().filter_map(|p| p.flow(name)), None);
    let panels = panels(outcome, details, name, |f, i| {
        let x = Axis::linear("time", Unit::Time, 0.0, end);
        let y = Axis::linear("delay", Unit::Time, 0.0, top);
        (x, y, Mark::Skyline { points: points(&f.series), hue: Hue::Series(i) })
    });
    let figure = figure(details, name, "whole run", "over time", panels)?;
    Some(figure.captioned(format!(
        "Every pixel column shows the largest delay of {name} in it, under each policy on the same \
         axes.{}",
        deadline_text(details, name)
    )))
}

fn excerpt(
    outcome: &Outcome,
    details: &[PolicyDetail],
    name: &str,
    (from, to): (u64, u64),
) -> Option<Figure> {
    let top = top(details.iter().filter_map(|p| p.flow(name)), Some((from, to)));
    let mut every = true;
    let mut panels = panels(outcome, details, name, |f, i| {
        let source = if f.excerpt.is_empty() { &f.series } else { &f.excerpt };
        every &= !f.excerpt.is_empty();
        let x = Axis::linear("time", Unit::Time, from as f64, to as f64);
        let y = Axis::linear("delay", Unit::Time, 0.0, top);
        let ink = Ink::new(Hue::Series(i)).marked(Some(Marker::Circle));
        (x, y, Mark::Stems { points: points(source), ink })
    });
    for p in &mut panels {
        p.note.clear();
    }
    let figure = figure(details, name, "excerpt", "excerpt", panels)?;
    let what = if every { "One stem for each packet" } else { "The larger delays" };
    Some(figure.captioned(format!(
        "{what} of {name} that arrived between {} and {}.{}",
        span(from),
        span(to),
        deadline_text(details, name)
    )))
}

fn panels(
    outcome: &Outcome,
    details: &[PolicyDetail],
    name: &str,
    mut make: impl FnMut(&FlowDetail, usize) -> (Axis, Axis, Mark),
) -> Vec<Plot> {
    let mut out = Vec::new();
    for (i, policy) in details.iter().enumerate() {
        let Some(f) = policy.flow(name) else { continue };
        let (x, y, mark) = make(f, i);
        let result = outcome.first().and_then(|r| r.policies.get(&policy.policy)?.flows.get(name));
        let note = result.and_then(|r| Some((r.mean_ms?, r.max_ms?))).map(|(mean, max)| {
            let unit = Delays::of([mean, max].into_iter());
            format!("mean {}, max {} {}", unit.text(mean), unit.text(max), unit.unit)
        });
        let note = note.unwrap_or_else(|| "no packet".into());
        let desc = format!("Delay of {name} under {}: {note}.", policy.policy);
        let limit = f.deadline_ns.map(|d| Mark::Horizontal {
            y: d as f64,
            label: format!("deadline {}", span(d)),
            ink: Ink::limit(),
        });
        out.push(
            Plot::new(&policy.policy, x, y)
                .sized(width(details.len()), 180.0)
                .noted(note)
                .described(desc)
                .with(mark)
                .with_all(limit),
        );
    }
    out
}

/// The panel width at which a row of panels is as wide as a page at natural size.
fn width(panels: usize) -> f64 {
    match panels {
        0..=2 => 560.0,
        4 => 280.0,
        _ => 380.0,
    }
}

fn figure(
    details: &[PolicyDetail],
    name: &str,
    title: &str,
    stem: &str,
    panels: Vec<Plot>,
) -> Option<Figure> {
    let kind = details.iter().find_map(|p| p.flow(name))?.kind;
    let kind = match kind {
        FlowKind::Realtime => "real-time",
        FlowKind::BestEffort => "best effort",
    };
    let columns = if panels.len() > 4 { 3 } else { panels.len() };
    let file = format!("{stem} {name}");
    Some(Figure::new(file, format!("{name} ({kind}), {title}"), columns).with(panels))
}

fn deadline_text(details: &[PolicyDetail], name: &str) -> String {
    let deadline = details.iter().find_map(|p| p.flow(name)?.deadline_ns);
    deadline.map_or(String::new(), |d| format!(" The dashed line is its deadline, {}.", span(d)))
}
