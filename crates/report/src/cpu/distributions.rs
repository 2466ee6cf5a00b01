//! Response times and tardiness as distributions.

use super::outcome::{CpuOutcome, CpuPolicyDetail, CpuTaskDetail};
use crate::distribution::{Buckets, Tails, legend_of, total, up_to};
use crate::figure::Figure;
use crate::number::count;
use crate::outcome::Runs as _;
use crate::plot::Plot;
use laxity_results::CpuTaskResult;

/// Panels beyond this are left out, which the caption states.
const MOST_PANELS: usize = 12;

/// Distribution of response times: a panel for each task that has jobs, a line for each policy.
pub(super) fn response(outcome: &CpuOutcome<'_>, details: &[CpuPolicyDetail]) -> Option<Figure> {
    let buckets =
        |task: &CpuTaskDetail, of: &CpuTaskResult| up_to(&task.response, of.max_response_ms);
    let figure =
        figure(outcome, details, ("response", "How many jobs take longer"), buckets, true)?;
    let caption = "Share of jobs whose end came later after their release, on a logarithmic scale. \
                   The dashed line is the deadline.";
    Some(captioned(figure, caption, outcome, |t| t.mean_response_ms.is_some()))
}

/// Distribution of tardiness: the same, for tasks with a late job.
pub(super) fn tardiness(outcome: &CpuOutcome<'_>, details: &[CpuPolicyDetail]) -> Option<Figure> {
    let late = |t: &CpuTaskResult| t.deadline_misses > 0;
    let buckets = |task: &CpuTaskDetail, of: &CpuTaskResult| {
        let mut all = vec![(0, of.jobs.saturating_sub(of.deadline_misses))];
        all.extend(up_to(&task.tardiness, of.max_tardiness_ms));
        all
    };
    let mut figure =
        figure(outcome, details, ("tardiness", "How many jobs are later"), buckets, false)?;
    figure
        .panels
        .retain(|p| outcome.items().into_iter().any(|t| t == p.title && outcome.any(t, late)));
    let caption = "Share of jobs that ended later than so long after their deadline, on a \
                   logarithmic scale; only tasks of which any job was late.";
    (!figure.panels.is_empty()).then(|| captioned(figure, caption, outcome, late))
}

fn captioned(
    figure: Figure,
    caption: &str,
    outcome: &CpuOutcome<'_>,
    has: impl Fn(&CpuTaskResult) -> bool,
) -> Figure {
    let all = outcome.items().into_iter().filter(|t| outcome.any(t, &has)).count();
    match all > figure.panels.len() {
        true => {
            let shown = format!(" {} of {} tasks.", figure.panels.len(), count(all as u64));
            figure.captioned(format!("{caption}{shown}"))
        }
        false => figure.captioned(caption),
    }
}

fn figure(
    outcome: &CpuOutcome<'_>,
    details: &[CpuPolicyDetail],
    (name, title): (&str, &str),
    buckets: impl Fn(&CpuTaskDetail, &CpuTaskResult) -> Buckets,
    deadline: bool,
) -> Option<Figure> {
    let panels = outcome.items().into_iter();
    let panels = panels.filter_map(|task| panel(outcome, details, task, &buckets, deadline));
    let panels: Vec<Plot> = panels.take(MOST_PANELS).collect();
    let legend = legend_of(details.iter().map(|d| d.policy.as_str()));
    (!panels.is_empty()).then(|| Figure::new(name, title, 3).keyed(legend).with(panels))
}

fn panel(
    outcome: &CpuOutcome<'_>,
    details: &[CpuPolicyDetail],
    name: &str,
    buckets: &impl Fn(&CpuTaskDetail, &CpuTaskResult) -> Buckets,
    deadline: bool,
) -> Option<Plot> {
    let mut tails = Tails::new();
    let mut due = None;
    for (place, policy) in details.iter().enumerate() {
        let Some(task) = policy.tasks.iter().find(|t| t.task == name) else { continue };
        let of = outcome.first().and_then(|r| r.policies.get(&policy.policy)?.tasks.get(name));
        let Some(of) = of else { continue };
        due = due.or(task.deadline_ns.filter(|_| deadline));
        let buckets = buckets(task, of);
        if total(&buckets) > 0 {
            tails.add(place, &policy.policy, &buckets);
        }
    }
    let axis = if deadline { "response time" } else { "tardiness" };
    // Room above 1 for the label of the dashed line.
    let axes = (axis, "share that takes longer", 5.0);
    (!tails.is_empty()).then(|| tails.plot(name, axes, due.map(|due| ("deadline", due))))
}
