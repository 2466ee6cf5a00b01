//! Distributions of queueing delay.

use super::outcome::{StreamOutcome, StreamPolicyDetail};
use crate::distribution::{ccdf, legend_of, quantile};
use crate::figure::Figure;
use crate::number::span;
use crate::plot::{Axis, Ink, Mark, Plot, Unit};

/// One panel for each class, one line for each policy.
pub(super) fn figure(
    outcome: &StreamOutcome<'_>,
    details: &[StreamPolicyDetail],
) -> Option<Figure> {
    let panels: Vec<Plot> =
        outcome.classes().into_iter().filter_map(|c| panel(outcome, details, c)).collect();
    if panels.is_empty() {
        return None;
    }
    Some(
        Figure::new("delay", "How many packets wait longer", 3)
            .keyed(legend_of(details.iter().map(|d| d.policy.as_str())))
            .with(panels)
            .captioned(
                "Share of the packets sent that waited longer, on a logarithmic scale; packets \
                 that were dropped do not count. The dashed line is the gap: the deadline of a \
                 packet that finds its queue empty.",
            ),
    )
}

fn panel(outcome: &StreamOutcome<'_>, details: &[StreamPolicyDetail], class: &str) -> Option<Plot> {
    let mut marks = Vec::new();
    let mut description = String::new();
    let (mut right, mut least) = (0.0f64, 0.1f64);
    for (i, policy) in details.iter().enumerate() {
        let Some(detail) = policy.classes.iter().find(|c| c.class == class) else { continue };
        let of = outcome.first().and_then(|r| r.policies.get(&policy.policy)?.classes.get(class));
        let max = of.and_then(|c| c.max_ms).map_or(u64::MAX, |ms| (ms * 1e6).round() as u64);
        // The last bucket's bound may lie beyond the largest delay.
        let buckets: Vec<(u64, u64)> =
            detail.distribution.iter().map(|(upper, n)| ((*upper).min(max), *n)).collect();
        let total = buckets.iter().map(|b| b.1).fold(0, u64::saturating_add);
        if total == 0 {
            continue;
        }
        let points = ccdf(&buckets);
        right = points.last().map_or(right, |p| right.max(p.0));
        least = least.min(1.0 / total as f64);
        let at = |q| quantile(&buckets, q).map_or("none".into(), span);
        description.push_str(&format!(
            "{}: median {}, 99th percentile {}, largest {}. ",
            policy.policy,
            at(500),
            at(990),
            at(1000)
        ));
        marks.push(Mark::Line { points, ink: Ink::series(i) });
    }
    if marks.is_empty() {
        return None;
    }
    let gap = outcome.first().and_then(|r| {
        r.policies.values().find_map(|p| p.classes.get(class)).and_then(|c| c.gap_ns)
    });
    right = gap.map_or(right, |gap| right.max(gap as f64)).max(1.0);
    let floor = libm::floor(libm::log10(least)).max(-9.0) as i32;
    let x = Axis::linear("delay", Unit::Time, 0.0, right * 1.04);
    let least = crate::ticks::decimal(1, floor);
    // Room above for the label of the dashed line.
    let y = Axis::log("share with a longer delay", Unit::Plain, least, 5.0);
    let gap = gap.map(|gap| Mark::Vertical {
        x: gap as f64,
        label: format!("gap {}", span(gap)),
        ink: Ink::limit(),
    });
    Some(
        Plot::new(class, x, y)
            .sized(380.0, 250.0)
            .described(description.trim_end())
            .with_all(marks)
            .with_all(gap),
    )
}
