//! Bars for each class and policy: misses beside the tolerance, violated windows, longest runs.

use super::outcome::{StreamOutcome, slots, tolerance};
use crate::cells::percent;
use crate::figure::Figure;
use crate::number::count;
use crate::outcome::Runs as _;
use crate::plot::{Anchor, Axis, Body, Hue, Ink, Mark, Plot, Unit};
use laxity_results::StreamClassResult;

/// One bar: its length and label.
struct Bar {
    value: f64,
    text: String,
}

/// A panel of bars, one for each policy, the longest of all panels at `longest`.
fn panel(
    class: &str,
    policies: &[&str],
    label: &str,
    bars: &[Option<Bar>],
    limit: Option<(f64, String)>,
) -> Plot {
    let of_limit = limit.as_ref().map_or(0.0, |l| l.0);
    let longest = bars.iter().flatten().map(|b| b.value).fold(of_limit, f64::max);
    let longest = if longest > 0.0 { longest } else { 1.0 };
    let mut marks = Vec::new();
    let mut description = limit.as_ref().map_or(String::new(), |(_, label)| format!("{label}. "));
    for (i, bar) in bars.iter().enumerate() {
        let y = -(i as f64);
        let Some(Bar { value, text }) = bar else {
            let text = "no packet".to_owned();
            marks.push(Mark::Text { at: (0.0, y), shift: (6.0, 4.0), text, anchor: Anchor::Start });
            continue;
        };
        description.push_str(&format!("{}: {text}. ", policies[i]));
        let (hue, body) = (Hue::Series(i), Body::Solid);
        marks.push(Mark::Bar { y, x: (0.0, *value), thick: 15.0, hue, body });
        let text = text.clone();
        // Long bars hold their label, short ones have it behind.
        marks.push(if *value > longest * 0.45 {
            Mark::Inside { at: (0.0, y), text }
        } else {
            Mark::Text { at: (*value, y), shift: (6.0, 4.0), text, anchor: Anchor::Start }
        });
    }
    let mut names = Axis::names(policies.iter().copied());
    let mut rows = policies.len() as f64;
    if let Some((x, label)) = limit {
        // The label of the dashed line is above the bars.
        names.max += 0.75;
        rows += 0.75;
        marks.push(Mark::Vertical { x, label, ink: Ink::limit() });
    }
    let x = Axis::linear(label, Unit::Plain, 0.0, longest * 1.1);
    Plot::new(class, x, names)
        .sized(380.0, 78.0 + 24.0 * rows)
        .described(description.trim_end())
        .with_all(marks)
}

fn figure<'a>(
    outcome: &StreamOutcome<'a>,
    name: &str,
    title: &str,
    axis: &str,
    bar: impl Fn(&'a str, &'a str) -> Option<Bar>,
    limit: impl Fn(&StreamClassResult) -> Option<(f64, String)>,
) -> Option<Figure> {
    let policies = outcome.policies();
    let panels: Vec<Plot> = outcome
        .items()
        .into_iter()
        .map(|class| {
            let bars: Vec<_> = policies.iter().map(|policy| bar(policy, class)).collect();
            let limit = outcome.any(class).and_then(&limit);
            panel(&outcome.label(class), &policies, axis, &bars, limit)
        })
        .collect();
    (!panels.is_empty()).then(|| Figure::new(name, title, 3).with(panels))
}

/// Share of deadlines missed, beside the tolerance of each class.
pub(super) fn missed(outcome: &StreamOutcome<'_>) -> Option<Figure> {
    let bar = |policy, class| {
        let all = outcome.sum(policy, class, slots);
        let missed = outcome.sum(policy, class, |c| c.deadline_misses);
        let share = missed as f64 / all as f64;
        (all > 0).then(|| {
            let allowed = outcome.any(class).and_then(tolerance).map_or(1.0, |t| t.0);
            let sign = if share > allowed { "\u{2717} " } else { "" };
            Bar { value: share * 100.0, text: format!("{sign}{}%", percent(share)) }
        })
    };
    let limit = |class: &StreamClassResult| {
        let (share, _) = tolerance(class)?;
        Some((share * 100.0, format!("tolerated {}%", percent(share))))
    };
    let figure = figure(outcome, "missed", "Missed and tolerated", "% of deadlines", bar, limit)?;
    Some(figure.captioned(
        "Of all packets sent and deadlines missed. The dashed line is what the class tolerates on \
         average; a window may be violated below it.",
    ))
}

/// Share of windows violated.
pub(super) fn windows(outcome: &StreamOutcome<'_>) -> Option<Figure> {
    let bar = |policy, class| {
        let (_, y) = outcome.any(class).filter(|c| c.gap_ns.is_some()).and_then(tolerance)?;
        let all = outcome.sum(policy, class, slots).div_ceil(y);
        let violated = outcome.sum(policy, class, |c| c.tumbling_violations);
        // The last window of a stream may be begun only.
        let share = (violated as f64 / all as f64).min(1.0);
        let text = match violated {
            0 => "none".to_owned(),
            n => format!("{} ({}%)", count(n), percent(share)),
        };
        (all > 0).then_some(Bar { value: share * 100.0, text })
    };
    let figure = figure(outcome, "windows", "How many windows", "% of windows", bar, |_| None)?;
    Some(figure.captioned(
        "Windows of y packets, back to back from the start of each stream, with more than x \
         missed.",
    ))
}

/// The longest run of misses.
pub(super) fn runs(outcome: &StreamOutcome<'_>) -> Option<Figure> {
    let bar = |policy, class| {
        let longest = outcome.each(policy, class).map(|c| c.max_consecutive_misses).max()?;
        let text = if longest == 0 { "none".to_owned() } else { count(longest) };
        Some(Bar { value: longest as f64, text })
    };
    let title = "The longest run";
    let figure = figure(outcome, "runs", title, "deadlines in a row", bar, |_| None)?;
    Some(
        figure.captioned(
            "Of the worst stream of the class. A gap in the sound or picture is as long.",
        ),
    )
}
