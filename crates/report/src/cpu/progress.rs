//! Cumulative CPU time of each task against time.

use super::outcome::{CpuOutcome, CpuPolicyDetail, CpuTaskDetail};
use crate::figure::{Figure, Key};
use crate::number::{count, span};
use crate::outcome::Runs as _;
use crate::plot::{Axis, Ink, Mark, Plot, Point, Unit};

/// Lines beyond this are left out, which the caption states.
const MOST_LINES: usize = 12;

/// One panel for each policy, one line for each task.
pub(super) fn figure(outcome: &CpuOutcome<'_>, details: &[CpuPolicyDetail]) -> Option<Figure> {
    let duration = outcome.first()?.duration_ns as f64;
    let tasks = &details.first()?.tasks;
    let top = details.iter().flat_map(|p| &p.tasks).take(MOST_LINES * details.len());
    let top = top.map(|t| total(t) as f64).fold(1.0, f64::max);
    let panels: Vec<Plot> = details
        .iter()
        .map(|policy| {
            let lines = policy.tasks.iter().take(MOST_LINES).enumerate();
            let marks = lines.map(|(i, task)| Mark::Line {
                points: points(task, duration),
                ink: Ink::series(i + 1),
            });
            let texts: Vec<String> = policy
                .tasks
                .iter()
                .take(MOST_LINES)
                .map(|t| format!("{}: {}", t.task, span(total(t))))
                .collect();
            let x = Axis::linear("time", Unit::Time, 0.0, duration);
            let y = Axis::linear("CPU time", Unit::Time, 0.0, top * 1.04);
            Plot::new(&policy.policy, x, y)
                .sized(560.0, 280.0)
                .described(format!("CPU time at the end. {}.", texts.join(", ")))
                .with_all(marks)
        })
        .collect();
    if panels.is_empty() || tasks.is_empty() {
        return None;
    }
    let legend = tasks.iter().take(MOST_LINES).enumerate();
    let legend = legend.map(|(i, t)| Key::line(t.task.as_str(), Ink::series(i + 1)));
    let mut caption =
        "CPU time that each task has had so far. The steepness is its share; a level \
                       piece is time in which it slept or waited."
            .to_owned();
    if tasks.len() > MOST_LINES {
        let all = count(tasks.len() as u64);
        caption.push_str(&format!(" The first {MOST_LINES} of {all} tasks."));
    }
    Some(
        Figure::new("progress", "Progress of each task", 2)
            .keyed(legend.collect())
            .with(panels)
            .captioned(caption),
    )
}

/// For each policy but the first, how much more CPU time each task has had than under the first.
pub(super) fn differences(outcome: &CpuOutcome<'_>, details: &[CpuPolicyDetail]) -> Option<Figure> {
    let duration = outcome.first()?.duration_ns as f64;
    let (first, others) = details.split_first()?;
    type Line = (Vec<Point>, Ink);
    let line = |i: usize, task: &CpuTaskDetail| -> Option<Line> {
        let reference = first.tasks.iter().find(|t| t.task == task.task)?;
        let points = difference(&points(task, duration), &points(reference, duration));
        Some((points, Ink::series(i + 1)))
    };
    let lines = |policy: &CpuPolicyDetail| -> Vec<Line> {
        let tasks = policy.tasks.iter().take(MOST_LINES).enumerate();
        tasks.filter_map(|(i, task)| line(i, task)).collect()
    };
    let all: Vec<(&CpuPolicyDetail, Vec<Line>)> =
        others.iter().map(|policy| (policy, lines(policy))).collect();
    let values = || all.iter().flat_map(|(_, lines)| lines).flat_map(|(p, _)| p).map(|p| p.1);
    let most = values().map(f64::abs).fold(0.0, f64::max);
    if most == 0.0 {
        return None;
    }
    let panels: Vec<Plot> = all
        .into_iter()
        .map(|(policy, lines)| {
            let ends = policy.tasks.iter().zip(&lines).map(|(task, (points, _))| {
                let end = points.last().map_or(0.0, |p| p.1);
                let sign = if end < 0.0 { "behind" } else { "ahead" };
                format!("{}: {} {sign}", task.task, span(end.abs() as u64))
            });
            let ends = ends.collect::<Vec<_>>().join(", ");
            let x = Axis::linear("time", Unit::Time, 0.0, duration);
            let y = Axis::linear("more CPU time", Unit::Time, -most * 1.04, most * 1.04);
            let marks = lines.into_iter().map(|(points, ink)| Mark::Line { points, ink });
            Plot::new(&policy.policy, x, y)
                .sized(560.0, 280.0)
                .described(format!("Against {} at the end. {ends}.", first.policy))
                .with_all(marks)
        })
        .collect();
    let tasks = first.tasks.iter().take(MOST_LINES).enumerate();
    let legend = tasks.map(|(i, t)| Key::line(t.task.as_str(), Ink::series(i + 1)));
    Some(
        Figure::new(
            "progress-difference",
            format!("Progress beyond that under {}", first.policy),
            2,
        )
        .keyed(legend.collect())
        .with(panels)
        .captioned(format!(
            "CPU time that each task has had so far, less what it has had by then under {}. \
                 A line that rises gains, one that falls loses.",
            first.policy
        )),
    )
}

/// The first polyline less the second, at the corners of both; both rise in x.
fn difference(a: &[Point], b: &[Point]) -> Vec<Point> {
    let mut corners: Vec<f64> = a.iter().chain(b).map(|p| p.0).collect();
    corners.sort_unstable_by(f64::total_cmp);
    corners.dedup();
    let (mut i, mut j) = (0, 0);
    let at = |points: &[Point], k: &mut usize, x: f64| -> f64 {
        while *k + 1 < points.len() && points[*k + 1].0 <= x {
            *k += 1;
        }
        match (points.get(*k), points.get(*k + 1)) {
            (Some(p), Some(q)) if q.0 > p.0 => p.1 + (x - p.0) / (q.0 - p.0) * (q.1 - p.1),
            (Some(p), _) => p.1,
            (None, _) => 0.0,
        }
    };
    corners.into_iter().map(|x| (x, at(a, &mut i, x) - at(b, &mut j, x))).collect()
}

fn total(task: &CpuTaskDetail) -> u64 {
    task.slices.iter().map(|s| s.to.saturating_sub(s.from)).fold(0, u64::saturating_add)
}

fn points(task: &CpuTaskDetail, end: f64) -> Vec<Point> {
    let mut had = 0u64;
    let mut points = vec![(0.0, 0.0)];
    for slice in &task.slices {
        points.push((slice.from as f64, had as f64));
        had = had.saturating_add(slice.to.saturating_sub(slice.from));
        points.push((slice.to as f64, had as f64));
    }
    points.push((end, had as f64));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a corner of either line is left out, or the last piece is not interpolated.
    #[test]
    fn differences_have_the_corners_of_both() {
        let a = [(0.0, 0.0), (4.0, 4.0), (10.0, 4.0)];
        let b = [(0.0, 0.0), (2.0, 0.0), (10.0, 8.0)];
        let want = [(0.0, 0.0), (2.0, 2.0), (4.0, 2.0), (10.0, -4.0)];
        assert_eq!(difference(&a, &b), want);
    }
}
