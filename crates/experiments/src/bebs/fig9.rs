//! Figure 9: all kinds of tasks together.

use laxity_core::{Span, Time};
use laxity_report::Figure;
use laxity_report::plot::{Ink, Unit};
use laxity_sim::cpu::papers::bebs::figure_9;
use laxity_sim::cpu::papers::ms;

use crate::draw::{Line, Panel, figure};
use crate::tasks::Runs;
use crate::tasks::contenders::{BEBS, BEBS_CREDIT};
use crate::tasks::progress::{Single, single};
use crate::{ExperimentError, Measured};

const SECONDS: u64 = 60;
/// Instants at which the hard and the soft task join.
const HARD_FROM: u64 = 20;
const SOFT_FROM: u64 = 30;
const GREEDY: [usize; 3] = [0, 1, 2];
const HARD: usize = 3;
const SOFT: usize = 4;

/// Per cent of the CPU that a task has in each second.
fn shares(run: &Single, task: usize) -> Vec<f64> {
    let second = |n: u64| Time::ZERO + ms(1000 * n);
    (0..SECONDS).map(|n| run.executed(task, second(n), second(n + 1)) as f64 / 1e7).collect()
}

fn extremes(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::MAX, 0.0), |(low, high), v| (v.min(low), v.max(high)))
}

/// The text's claims about the figure, also for the rule that is not in the paper.
pub fn rows(_: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    for policy in [BEBS, BEBS_CREDIT] {
        let run = single(policy, &figure_9(), ms(1000 * SECONDS))?;
        let mut add = |label: &str, unit, value: f64| {
            rows.push(Measured::new(format!("{}/{label}", policy.name), unit, vec![value]));
        };
        // Bandwidth may have to be released first, so the start is a little later.
        let first = run.recording.slices.iter().find(|s| s.task.index() == HARD);
        let from = Time::ZERO + ms(1000 * HARD_FROM);
        let delay = first.map_or(f64::NAN, |s| s.from.since(from).0 as f64 / 1e6);
        let (least, most) = extremes(&shares(&run, HARD)[HARD_FROM as usize + 1..]);
        add("real-time/least-share", "%", least);
        add("real-time/most-share", "%", most);
        add("real-time/first-runs-after", "ms", delay);
        for (name, task) in [("real-time", HARD), ("soft", SOFT)] {
            let task = &run.measure.tasks[task];
            add(&format!("{name}/missed"), "jobs", task.missed as f64);
            add(&format!("{name}/missed-share"), "%", task.missed_percent().unwrap_or(f64::NAN));
        }
        let late = Time::ZERO + ms(1000 * SOFT_FROM);
        let missed = run
            .recording
            .jobs
            .iter()
            .filter(|(task, job)| task.index() == SOFT && job.tardiness() > Span::ZERO);
        let last = missed.map(|(_, job)| job.end.since(late).0 as f64 / 1e9).next_back();
        add("soft/last-miss-after", "s", last.unwrap_or(0.0));
        let rest = GREEDY.map(|t| run.executed(t, late, run.end) as f64);
        let (least, most) = extremes(&rest);
        add("greedy/least-over-most", "times", least / most);
        let length = Span(run.end.since(late).0).0 as f64;
        add("soft/share", "%", run.executed(SOFT, late, run.end) as f64 * 100.0 / length);
        add("greedy/share", "%", rest.iter().sum::<f64>() * 100.0 / 3.0 / length);
    }
    Ok(rows)
}

/// The drawing.
pub fn figures(_: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let run = single(BEBS, &figure_9(), ms(1000 * SECONDS))?;
    let line = |(place, task, name): (usize, usize, &str)| {
        let points = shares(&run, task).into_iter().enumerate();
        let points = points.map(|(n, share)| (n as f64 + 0.5, share)).collect();
        Line { ink: Ink::series(place).marked(None), ..Line::new(name, points, place) }
    };
    let lines = [
        (0, GREEDY[0], "greedy"),
        (3, GREEDY[1], "greedy, the second"),
        (4, GREEDY[2], "greedy, the third"),
        (1, HARD, "real-time, 40 %"),
        (2, SOFT, "soft, 12 %"),
    ];
    let panel = Panel {
        title: "",
        desc: "The real-time task keeps 40 % from 20 s on, the soft one 12 % from 30 s on.",
        x: "time, s",
        y: "share of the CPU, %",
        unit: Unit::Plain,
        log_from: None,
        lines: lines.map(line).into(),
    };
    let caption = "Share of each task in every second, under BEBS. After Banachowski, Bisson and Brandt \
                   (BEBS), Figure 9.";
    Ok(vec![figure("bebs-fig9", "All kinds of tasks together", caption, &[panel])])
}
