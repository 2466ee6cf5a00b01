//! Gantt chart of the schedule: a bar for each slice, with releases, deadlines and misses.

use super::outcome::{CpuJob, CpuOutcome, CpuPolicyDetail, CpuTaskDetail};
use crate::figure::{Figure, Key};
use crate::number::{count, span};
use crate::outcome::Runs as _;
use crate::plot::{Axis, Body, Dash, Hue, Ink, Mark, Marker, Plot, Schedule, Unit};

/// Rows beyond this are left out, which the caption states.
const MOST_ROWS: usize = 16;
/// CPUs beyond this are left out.
const MOST_CPUS: u32 = 16;
/// Most slices of a panel at natural size; the page's script draws all of them.
const MOST_SLICES: usize = 240;
/// Most slices and jobs of all policies that a page holds, of five bytes each.
const MOST_HELD: usize = 200_000;

/// One panel for each policy, over a window chosen for its misses or response times.
pub(super) fn figure(outcome: &CpuOutcome<'_>, details: &[CpuPolicyDetail]) -> Option<Figure> {
    let run = outcome.first()?;
    let (window, why) = window(details, run.duration_ns)?;
    // On one CPU the rows of tasks show everything.
    let cpus = if run.cpus > 1 { run.cpus.min(MOST_CPUS) } else { 0 };
    let known = held(details, run.duration_ns);
    let schedule = |policy| schedule(policy, (run.duration_ns, known), run.cpus);
    let panels = details.iter().map(|policy| {
        let mut plot = panel(policy, cpus, window);
        plot.schedule = Some(schedule(policy));
        plot
    });
    let panels: Vec<Plot> = panels.collect();
    let rows = details.first()?.tasks.len();
    let (from, to) = window;
    let mut caption = match to - from == run.duration_ns {
        true => "The whole run.".to_owned(),
        false => format!("{} of {}, {why}.", span(to - from), span(run.duration_ns)),
    };
    caption.push_str(" A bar is a task on a CPU.");
    let mut figure = Figure::new("gantt", "Schedule", 1);
    let shown = |t: &CpuTaskDetail| t.jobs.iter().any(|j| j.release <= to && j.end >= from);
    if details.iter().any(|p| p.tasks.iter().any(shown)) {
        caption.push_str(
            " Triangles are releases of jobs or wake-ups, lines deadlines, crosses deadlines that \
             were missed.",
        );
        figure = figure.keyed(vec![
            Key::line("release", release()),
            Key::line("deadline", deadline()),
            Key::line("missed", missed()),
        ]);
    }
    if known < run.duration_ns {
        caption.push_str(&format!(" One can scroll through the first {}.", span(known)));
    }
    if rows > MOST_ROWS {
        caption.push_str(&format!(" The first {MOST_ROWS} of {} tasks.", count(rows as u64)));
    }
    Some(figure.with(panels).captioned(caption))
}

/// The time up to which all policies together have no more slices and jobs than a page holds.
fn held(details: &[CpuPolicyDetail], duration: u64) -> u64 {
    let tasks = || details.iter().flat_map(|p| p.tasks.iter().take(MOST_ROWS));
    let slices = tasks().flat_map(|t| t.slices.iter().map(|s| s.from));
    let jobs = tasks().flat_map(|t| t.jobs.iter().map(|j| j.release));
    let mut at: Vec<u64> = slices.chain(jobs).collect();
    if at.len() <= MOST_HELD {
        return duration;
    }
    *at.select_nth_unstable(MOST_HELD).1
}

fn schedule(policy: &CpuPolicyDetail, span: (u64, u64), cpus: u32) -> Schedule {
    let rows = &policy.tasks[..policy.tasks.len().min(MOST_ROWS)];
    let of = |(i, task): (usize, &CpuTaskDetail)| {
        task.slices.iter().map(move |s| (s.cpu, s.from, s.to, i)).collect::<Vec<_>>()
    };
    let slices = rows.iter().enumerate().flat_map(of).collect();
    let jobs = |t: &CpuTaskDetail| t.jobs.iter().map(|j| (j.release, j.deadline, j.end)).collect();
    let names = rows.iter().enumerate().map(|(i, t)| (t.task.clone(), i + 1)).collect();
    Schedule::new(span, cpus.min(MOST_CPUS), names, slices, rows.iter().map(jobs).collect())
}

fn release() -> Ink {
    Ink::new(Hue::Ink).marked(Some(Marker::Triangle))
}

fn deadline() -> Ink {
    Ink::new(Hue::Muted).dashed(Dash::Solid).wide(1.5)
}

fn missed() -> Ink {
    Ink::new(Hue::Limit).wide(2.0).marked(Some(Marker::Cross))
}

/// The window that all panels show, and what it was chosen for.
fn window(details: &[CpuPolicyDetail], duration: u64) -> Option<((u64, u64), String)> {
    const LENGTHS: [u64; 13] = [
        10_000_000_000,
        5_000_000_000,
        2_000_000_000,
        1_000_000_000,
        500_000_000,
        200_000_000,
        100_000_000,
        50_000_000,
        20_000_000,
        10_000_000,
        5_000_000,
        2_000_000,
        1_000_000,
    ];
    if duration == 0 || details.iter().all(|p| p.tasks.iter().all(|t| t.slices.is_empty())) {
        return None;
    }
    let (at, why) = centre(details, duration);
    let place = |length: u64| {
        // The time before the instant matters more than the time after.
        let from = at.saturating_sub(length / 4 * 3).min(duration.saturating_sub(length));
        (from, from + length.min(duration))
    };
    let lengths = std::iter::once(duration).chain(LENGTHS.into_iter().filter(|l| *l < duration));
    let fits = |window: &(u64, u64)| details.iter().all(|p| slices(p, *window) <= MOST_SLICES);
    let windows: Vec<(u64, u64)> = lengths.map(place).collect();
    let found = windows.iter().find(|w| fits(w)).or(windows.last())?;
    Some((*found, why))
}

fn slices(policy: &CpuPolicyDetail, (from, to): (u64, u64)) -> usize {
    let inside = |t: &CpuTaskDetail| {
        let first = t.slices.partition_point(|s| s.to <= from);
        t.slices.partition_point(|s| s.from < to).saturating_sub(first)
    };
    policy.tasks.iter().take(MOST_ROWS).map(inside).sum()
}

/// The instant to show: the worst miss, else the slowest response, else where the last
/// task begins.
fn centre(details: &[CpuPolicyDetail], duration: u64) -> (u64, String) {
    let mut worst: Option<(u64, &CpuJob, &str, &str)> = None;
    let mut slowest: Option<(u64, &CpuJob, &str, &str)> = None;
    for policy in details {
        for task in policy.tasks.iter().take(MOST_ROWS) {
            for job in &task.jobs {
                let late = job.tardiness();
                if late > worst.map_or(0, |w| w.0) {
                    worst = Some((late, job, &task.task, &policy.policy));
                }
                let response = job.end.saturating_sub(job.release);
                if response > slowest.map_or(0, |s| s.0) {
                    slowest = Some((response, job, &task.task, &policy.policy));
                }
            }
        }
    }
    match (worst, slowest) {
        (Some((late, job, task, policy)), _) => {
            (job.end, format!("where {task} was latest under {policy}, by {}", span(late)))
        }
        (None, Some((response, job, task, policy))) => {
            (job.end, format!("where {task} took longest under {policy}, {}", span(response)))
        }
        // Scripts have no jobs; all tasks are there when the last one has begun.
        _ => {
            let tasks = details.iter().flat_map(|p| p.tasks.iter().take(MOST_ROWS));
            let begins = tasks.filter_map(|t| t.slices.first()).map(|s| s.from).max();
            (begins.unwrap_or(duration / 2), "around where the last task ran first".to_owned())
        }
    }
}

fn panel(policy: &CpuPolicyDetail, cpus: u32, (from, to): (u64, u64)) -> Plot {
    let rows = &policy.tasks[..policy.tasks.len().min(MOST_ROWS)];
    let mut marks = Vec::new();
    let (mut late, mut due) = (0u64, 0u64);
    let clip = |ns: u64| ns.clamp(from, to) as f64;
    let inside = |ns: u64| ns >= from && ns <= to;
    for (i, task) in rows.iter().enumerate() {
        let y = -(i as f64) - f64::from(cpus);
        let first = task.slices.partition_point(|s| s.to <= from);
        let shown = task.slices[first..].iter().take_while(|s| s.from < to);
        for slice in shown.take(4 * MOST_SLICES) {
            let (hue, body) = (Hue::Series(i + 1), Body::Solid);
            let x = (clip(slice.from), clip(slice.to));
            marks.push(Mark::Bar { y, x, thick: 13.0, hue, body });
            if slice.cpu < cpus {
                marks.push(Mark::Bar { y: -f64::from(slice.cpu), x, thick: 13.0, hue, body });
            }
        }
        let jobs = || task.jobs.iter().take(1 << 20);
        let releases: Vec<_> = jobs().map(|j| j.release).filter(|r| inside(*r)).collect();
        let points = |at: &[u64], dy: f64| at.iter().map(|t| (*t as f64, y + dy)).collect();
        let deadlines: Vec<_> = jobs().filter(|j| j.deadline.is_some_and(inside)).collect();
        for job in deadlines.iter().take(4 * MOST_SLICES) {
            let x = job.deadline.unwrap_or(0) as f64;
            let (from, to) = ((x, y - 0.42), (x, y + 0.42));
            marks.push(Mark::Segment { from, to, ink: deadline(), arrow: false });
        }
        let crosses: Vec<u64> =
            deadlines.iter().filter(|j| j.tardiness() > 0).filter_map(|j| j.deadline).collect();
        (late, due) = (late + crosses.len() as u64, due + deadlines.len() as u64);
        let few = releases.len().min(4 * MOST_SLICES);
        marks.push(Mark::Dots { points: points(&releases[..few], -0.36), ink: release() });
        marks.push(Mark::Dots { points: points(&crosses, 0.0), ink: missed() });
    }
    let note = match (due, late) {
        (0, _) => String::new(),
        (_, 0) => "every deadline shown is met".to_owned(),
        (n, late) => format!("{} of {} deadlines shown are missed", count(late), count(n)),
    };
    let desc =
        format!("Which task runs under {} from {} to {}.", policy.policy, span(from), span(to));
    let x = Axis::linear("time", Unit::Time, from as f64, to as f64);
    let cpus: Vec<String> = (0..cpus).map(|cpu| format!("CPU {cpu}")).collect();
    let names = cpus.iter().map(String::as_str).chain(rows.iter().map(|t| t.task.as_str()));
    Plot::new(&policy.policy, x, Axis::names(names))
        .sized(1140.0, 74.0 + 24.0 * (cpus.len() + rows.len()) as f64)
        .noted(note)
        .described(desc)
        .with_all(marks)
}
