//! Progress of tasks over time.

use laxity_core::{Span, Time};
use laxity_report::Key;
use laxity_report::plot::{Axis, Ink, Mark, Marker, Plot, Point, Unit};
use laxity_sim::Control;
use laxity_sim::cpu::{Machine, Measure, Recording, Task, run};

use super::Contender;
use crate::ExperimentError;

/// A single run in every detail.
#[derive(Debug)]
pub struct Single {
    /// The schedule.
    pub recording: Recording,
    /// The counts.
    pub measure: Measure,
    /// The end of the run.
    pub end: Time,
}

/// Runs a system once under the first seed.
///
/// # Errors
/// When the run cannot go on.
pub fn single(policy: Contender, tasks: &[Task], length: Span) -> Result<Single, ExperimentError> {
    let end = Time::ZERO + length;
    let mut seen = (Measure::new(tasks.len()), Recording::new());
    let mut built = (policy.build)();
    run(&mut built, tasks, Machine::single(end, 1), &mut seen, &Control::default())?;
    let (mut measure, recording) = seen;
    measure.finish(end);
    Ok(Single { recording, measure, end })
}

impl Single {
    /// CPU time of a task in `[from, to)`, in ns.
    pub fn executed(&self, task: usize, from: Time, to: Time) -> u64 {
        let slices = self.recording.slices.iter().filter(|s| s.task.index() == task);
        slices.map(|s| s.to.min(to).since(s.from.max(from)).0).sum()
    }

    /// The task's CPU time so far against time, in ns, at the ends of slices.
    fn progress(&self, task: usize, from: Time, to: Time) -> Vec<Point> {
        let mut sum = 0.0;
        let mut points = vec![(from.0 as f64, 0.0)];
        for slice in self.recording.slices.iter().filter(|s| s.task.index() == task) {
            let (begin, end) = (slice.from.max(from), slice.to.min(to));
            if begin < end {
                points.push((begin.0 as f64, sum));
                sum += end.since(begin).0 as f64;
                points.push((end.0 as f64, sum));
            }
        }
        points.push((to.0 as f64, sum));
        points
    }

    /// Progress of tasks over a window with a cross for each deadline missed. Tasks are drawn in the
    /// order given, each with its place there as its colour.
    pub fn plot(&self, title: &str, shown: &[usize], from: Time, to: Time) -> Plot {
        let lines: Vec<Vec<Point>> =
            shown.iter().map(|task| self.progress(*task, from, to)).collect();
        let top = lines.iter().flatten().map(|p| p.1).fold(0.0, f64::max);
        let x = Axis::linear("time", Unit::Time, from.0 as f64, to.0 as f64);
        let y = Axis::linear("CPU time", Unit::Time, 0.0, top * 1.05);
        let mut plot = Plot::new(title, x, y)
            .sized(440.0, 300.0)
            .described("One line for each task; crosses below a line are deadlines missed.");
        for (place, (task, line)) in shown.iter().zip(lines).enumerate() {
            let missed = self.recording.jobs.iter().filter(|(t, job)| {
                t.index() == *task && job.tardiness() > Span::ZERO && (from..to).contains(&job.end)
            });
            let ends: Vec<Time> = missed.map(|(_, job)| job.end).collect();
            let crosses =
                ends.iter().map(|end| (end.0 as f64, at(&line, end.0 as f64) - top * 0.04));
            let ink = Ink::series(place).marked(None);
            let cross = Ink::series(place).marked(Some(Marker::Cross));
            let points = crosses.collect();
            plot =
                plot.with(Mark::Line { points: line, ink }).with(Mark::Dots { points, ink: cross });
        }
        plot
    }
}

/// The value of a polyline.
fn at(line: &[Point], x: f64) -> f64 {
    line.iter().take_while(|p| p.0 <= x).last().map_or(0.0, |p| p.1)
}

/// The legend of such plots.
pub fn keys(names: &[&str]) -> Vec<Key> {
    let key = |(i, name): (usize, &&str)| Key::line(*name, Ink::series(i).marked(None));
    names.iter().enumerate().map(key).collect()
}
