//! Distributions of queueing delay.

use super::outcome::{StreamOutcome, StreamPolicyDetail};
use crate::distribution::{Tails, legend_of, total, up_to};
use crate::figure::Figure;
use crate::outcome::Runs as _;
use crate::plot::Plot;

/// One panel for each class, one line for each policy.
pub(super) fn figure(
    outcome: &StreamOutcome<'_>,
    details: &[StreamPolicyDetail],
) -> Option<Figure> {
    let panels: Vec<Plot> =
        outcome.items().into_iter().filter_map(|c| panel(outcome, details, c)).collect();
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
    let mut tails = Tails::new();
    for (place, policy) in details.iter().enumerate() {
        let Some(detail) = policy.classes.iter().find(|c| c.class == class) else { continue };
        let of = outcome.first().and_then(|r| r.policies.get(&policy.policy)?.classes.get(class));
        let buckets = up_to(&detail.distribution, of.and_then(|c| c.max_ms));
        if total(&buckets) > 0 {
            tails.add(place, &policy.policy, &buckets);
        }
    }
    let gap = outcome.first().and_then(|r| {
        r.policies.values().find_map(|p| p.classes.get(class)).and_then(|c| c.gap_ns)
    });
    // Room above 1 for the label of the dashed line.
    let axes = ("delay", "share with a longer delay", 5.0);
    (!tails.is_empty()).then(|| tails.plot(class, axes, gap.map(|gap| ("gap", gap))))
}
