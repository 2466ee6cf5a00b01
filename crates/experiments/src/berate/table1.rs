//! Table 1: deadlines missed in six experiments.

use laxity_report::Figure;
use laxity_report::Key;
use laxity_report::plot::{Axis, Hue, Ink, Mark, Marker, Plot, Unit};
use laxity_sim::cpu::papers::berate::{Srtsim, experiment};

use crate::tasks::contenders::{
    BEBS, BEBS_CREDIT, BERATE, BEST, EEVDF, LINUX_24, LINUX_24_100, LINUX_24_800, LINUX_24_MEMORY,
};
use crate::tasks::{Contender, Rule, Runs, Scale, Trial, numbers};
use crate::{ExperimentError, Measured};

/// The published columns, then the measured ones.
const COLUMNS: [Contender; 9] =
    [LINUX_24, BERATE, LINUX_24_100, LINUX_24_800, BEST, BEBS, BEBS_CREDIT, EEVDF, LINUX_24_MEMORY];

/// Rows of the table.
pub const EXPERIMENTS: [u32; 6] = [1, 2, 3, 4, 5, 6];

/// The name of an experiment's system under a reading of srtsim.
pub fn system(number: u32, reading: &str) -> String {
    format!("experiment-{number}-{reading}")
}

/// The reading of srtsim under which the table is judged.
pub const STATED: &str = "stated";

/// A trial of an experiment, known when all its soft tasks are.
pub fn trial(scale: Scale, policy: Contender, number: u32, reading: &str, srtsim: Srtsim) -> Trial {
    let (tasks, count) = experiment(number, srtsim);
    let what = (numbers::missed as numbers::Numbers, count, Rule::NEAREST_TENTH);
    scale.trial(policy, &system(number, reading), tasks, what)
}

/// Number of soft tasks of an experiment.
pub fn soft_tasks(number: u32) -> usize {
    experiment(number, Srtsim::STATED).1
}

/// All columns of all rows.
pub fn trials(scale: Scale) -> Vec<Trial> {
    let each = COLUMNS.into_iter().flat_map(|p| EXPERIMENTS.map(|number| (p, number)));
    each.map(|(policy, number)| trial(scale, policy, number, STATED, Srtsim::STATED)).collect()
}

/// The cells of one column in one row.
fn cells(runs: &Runs, policy: Contender, number: u32, statistic: &str) -> Vec<Measured> {
    let cell = |task: usize| {
        let label = format!("experiment-{number}-srtsim-{}/{statistic}", task + 1);
        runs.row(policy, &system(number, STATED), &label, "%", task)
    };
    (0..soft_tasks(number)).filter_map(cell).collect()
}

/// The table.
pub fn rows(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    for policy in COLUMNS {
        for number in EXPERIMENTS {
            rows.extend(cells(runs, policy, number, "missed"));
        }
    }
    // Values that the paper measured on a real kernel, beside the same simulation.
    for policy in [LINUX_24_100, LINUX_24, BERATE, LINUX_24_MEMORY] {
        for number in EXPERIMENTS {
            rows.extend(cells(runs, policy, number, "missed-beside-kernel"));
        }
    }
    for policy in COLUMNS {
        for number in EXPERIMENTS {
            let label = format!("experiment-{number}-cpu-bound/share");
            let soft = soft_tasks(number);
            rows.extend(runs.row(policy, &system(number, STATED), &label, "%", soft));
        }
    }
    Ok(rows)
}

/// The table as dots.
pub fn figures(runs: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let shown = [LINUX_24, BERATE, BEST, BEBS, BEBS_CREDIT, EEVDF];
    let mut names = Vec::new();
    let mut places = Vec::new();
    for number in EXPERIMENTS {
        for task in 0..soft_tasks(number) {
            names.push(format!("{number}, srtsim {}", task + 1));
            places.push((number, task));
        }
    }
    let x = Axis::log("deadlines missed, %", Unit::Plain, 0.01, 100.0).with_zero();
    let mut y = Axis::names(names.iter().map(String::as_str));
    y.grid = true;
    const MARKERS: [Marker; 6] = [
        Marker::Ring,
        Marker::Circle,
        Marker::Cross,
        Marker::Triangle,
        Marker::Diamond,
        Marker::Square,
    ];
    let mut plot = Plot::new("", x, y)
        .sized(760.0, 340.0)
        .described("A row for each soft task of each experiment, a dot for each policy.");
    let mut keys = Vec::new();
    for (i, policy) in shown.iter().enumerate() {
        let ink = Ink::new(Hue::Series(i)).wide(1.6).marked(Some(MARKERS[i]));
        let point = |(row, (number, task)): (usize, &(u32, usize))| {
            (runs.mean(*policy, &system(*number, STATED), *task), -(row as f64))
        };
        let points = places.iter().enumerate().map(point).collect();
        plot = plot.with(Mark::Dots { points, ink });
        keys.push(Key::line(policy.title, ink));
    }
    let figure = Figure::new("berate-table1", "Deadlines missed in six experiments", 1)
        .keyed(keys)
        .with(vec![plot])
        .captioned(
            "Mean over runs, simulated; zero lies beyond the break, what is \
             less than 0.01 % at it. The reading of \
             BEST is uncertain. After Banachowski and Brandt (BeRate), Table 1.",
        );
    Ok(vec![figure])
}
