//! Response times and tardiness as distributions.

use super::outcome::{CpuOutcome, CpuPolicyDetail, CpuTaskDetail};
use crate::distribution::{ccdf, legend_of, quantile};
use crate::figure::Figure;
use crate::number::{count, span};
use crate::plot::{Axis, Ink, Mark, Plot, Unit};
use laxity_results::CpuTaskResult;

/// Panels beyond this are left out, which the caption states.
const MOST_PANELS: usize = 12;

type Buckets = Vec<(u64, u64)>;

/// Distribution of response times: a panel for each task that has jobs, a line for each policy.
pub(super) fn response(outcome: &CpuOutcome<'_>, details: &[CpuPolicyDetail]) -> Option<Figure> {
    let buckets = |task: &CpuTaskDetail, of: &CpuTaskResult| {
        // The last bucket's bound may lie beyond the largest.
        let max = of.max_response_ms.map_or(u64::MAX, |ms| (ms * 1e6).round() as u64);
        task.response.iter().map(|(upper, n)| ((*upper).min(max), *n)).collect()
    };
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
        let max = of.max_tardiness_ms.map_or(u64::MAX, |ms| (ms * 1e6).round() as u64);
        let mut all = vec![(0, of.jobs.saturating_sub(of.deadline_misses))];
        all.extend(task.tardiness.iter().map(|(upper, n)| ((*upper).min(max), *n)));
        all
    };
    let mut figure =
        figure(outcome, details, ("tardiness", "How many jobs are later"), buckets, false)?;
    figure
        .panels
        .retain(|p| outcome.tasks().into_iter().any(|t| t == p.title && outcome.any(t, late)));
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
    let all = outcome.tasks().into_iter().filter(|t| outcome.any(t, &has)).count();
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
    let panels = outcome.tasks().into_iter();
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
    let mut marks = Vec::new();
    let mut description = String::new();
    let mut due = None;
    let (mut right, mut least) = (0.0f64, 0.1f64);
    for (i, policy) in details.iter().enumerate() {
        let Some(task) = policy.tasks.iter().find(|t| t.task == name) else { continue };
        let of = outcome.first().and_then(|r| r.policies.get(&policy.policy)?.tasks.get(name));
        let Some(of) = of else { continue };
        due = due.or(task.deadline_ns.filter(|_| deadline));
        let buckets = buckets(task, of);
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
    right = due.map_or(right, |due| right.max(due as f64)).max(1.0);
    let floor = libm::floor(libm::log10(least)).max(-9.0) as i32;
    let axis = if deadline { "response time" } else { "tardiness" };
    let x = Axis::linear(axis, Unit::Time, 0.0, right * 1.04);
    // Room above for the label of the dashed line.
    let y = Axis::log("share that takes longer", Unit::Plain, crate::ticks::decimal(1, floor), 5.0);
    let due = due.map(|due| Mark::Vertical {
        x: due as f64,
        label: format!("deadline {}", span(due)),
        ink: Ink::limit(),
    });
    Some(
        Plot::new(name, x, y)
            .sized(380.0, 250.0)
            .described(description.trim_end())
            .with_all(marks)
            .with_all(due),
    )
}
