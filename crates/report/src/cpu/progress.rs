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
