//! Figure 1: the wait of a task that used idle time, and the tardiness of variable frames.

use laxity_core::{Span, Time};
use laxity_report::Figure;
use laxity_report::plot::Unit;
use laxity_sim::cpu::Cost;
use laxity_sim::cpu::papers::bebs::{HardLoad, Media, figure_1};
use laxity_sim::cpu::papers::ms;

use crate::draw::{Line, Panel, figure};
use crate::tasks::contenders::{BEBS_FIXED, CBS_FIXED, IRIS_FIXED};
use crate::tasks::progress::{Single, keys, single};
use crate::tasks::runs::times;
use crate::tasks::{Contender, Rule, Runs, Scale, Trial, numbers};
use crate::{ExperimentError, Measured};

const LENGTH: Span = ms(600);
/// When task 1 begins to need all its share.
const TURN: Time = Time(400_000_000);

fn play(policy: Contender) -> Result<Single, ExperimentError> {
    single(policy, &figure_1(), LENGTH)
}

/// Start and length of the longest wait of task 2.
fn longest_wait(run: &Single) -> (u64, u64) {
    let slices = run.recording.slices.iter().filter(|s| s.task.0 == 1);
    let mut last = Time::ZERO;
    let mut longest = (0, 0);
    for slice in slices {
        let wait = slice.from.since(last).0;
        if wait > longest.1 {
            longest = (last.0, wait);
        }
        last = slice.to;
    }
    let wait = run.end.since(last).0;
    if wait > longest.1 { (last.0, wait) } else { longest }
}

fn rows_of(policy: Contender) -> Result<Vec<Measured>, ExperimentError> {
    let run = play(policy)?;
    let (from, wait) = longest_wait(&run);
    let row = |label: &str, unit, value: f64| {
        Measured::new(format!("{}/{label}", policy.name), unit, vec![value])
    };
    let share = |task| {
        let after = run.end.since(TURN).0 as f64;
        run.executed(task, TURN, run.end) as f64 * 100.0 / after
    };
    Ok(vec![
        row("task-2/longest-wait", "ms", wait as f64 / 1e6),
        row("task-2/longest-wait-from", "ms", from as f64 / 1e6),
        row("task-1/share-after-400ms", "%", share(0)),
        row("task-2/share-after-400ms", "%", share(1)),
    ])
}

/// Figure 1(a).
pub fn starving(_: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    rows_of(CBS_FIXED)
}

/// Figure 1(b).
pub fn spared(_: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = rows_of(BEBS_FIXED)?;
    rows.extend(rows_of(IRIS_FIXED)?);
    Ok(rows)
}

fn progress(policy: Contender, name: &str) -> Result<Vec<Figure>, ExperimentError> {
    let plot = play(policy)?.plot("", &[0, 1], Time::ZERO, Time::ZERO + LENGTH);
    let title = format!("Progress of two tasks of equal share: {}", policy.title);
    let figure = Figure::new(name, title, 1)
        .keyed(keys(&["task 1, a tenth of the CPU until 400 ms", "task 2, all it can get"]))
        .with(vec![plot])
        .captioned(
            "CPU time of each so far. After Banachowski, Bisson and Brandt (BEBS), Figure 1(a, b).",
        );
    Ok(vec![figure])
}

/// The drawing of Figure 1(a).
pub fn progress_cbs(_: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    progress(CBS_FIXED, "bebs-fig1a")
}

/// The drawing of Figure 1(b).
pub fn progress_bebs(_: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    progress(BEBS_FIXED, "bebs-fig1b")
}

/// A reading of "computes periodic, variable-time frames" beside hard tasks.
struct Model {
    /// Follows the policy's in labels.
    name: &'static str,
    title: &'static str,
    frames: fn(Span) -> Cost,
    hard: HardLoad,
}

/// The first gives the rows; the others are columns.
const MODELS: [Model; 8] = [
    Model {
        name: "",
        title: "normal, 0.4",
        frames: |mean| Cost::Gauss { mean, cv: 0.4 },
        hard: HardLoad::Steady(100),
    },
    Model {
        name: "-gauss-4-unused",
        title: "normal, 0.4; 20 % unused",
        frames: |mean| Cost::Gauss { mean, cv: 0.4 },
        hard: HardLoad::Steady(80),
    },
    Model {
        name: "-gauss-2",
        title: "normal, 0.2",
        frames: |mean| Cost::Gauss { mean, cv: 0.2 },
        hard: HardLoad::Steady(100),
    },
    Model {
        name: "-gop",
        title: "groups of pictures",
        frames: |mean| Cost::Gop { mean, cv: 0.1 },
        hard: HardLoad::Steady(100),
    },
    Model {
        name: "-ar-unused",
        title: "autoregressive; 20 % unused",
        frames: |mean| Cost::Autoregressive { mean, cv: 0.4, rho: 0.9 },
        hard: HardLoad::Steady(80),
    },
    Model {
        name: "-scenes",
        title: "scenes of 50 frames",
        frames: |mean| Cost::Scenes { mean, cv: 0.4, frames: 50 },
        hard: HardLoad::Steady(100),
    },
    Model {
        name: "-scenes-unused",
        title: "scenes; 40 % unused",
        frames: |mean| Cost::Scenes { mean, cv: 0.4, frames: 50 },
        hard: HardLoad::Steady(60),
    },
    Model {
        name: "-intermittent",
        title: "scenes; hard work every fifth second",
        frames: |mean| Cost::Scenes { mean, cv: 0.4, frames: 50 },
        hard: HardLoad::Intermittent,
    },
];

/// Loads in thousandths of the soft task's share.
const LOADS: [u64; 6] = [500, 600, 700, 800, 900, 950];

fn system(model: &Model, load: u64) -> String {
    format!("media{}-{load}", model.name)
}

/// Trials of Figure 1(c).
pub fn trials(scale: Scale) -> Vec<Trial> {
    let mut trials = Vec::new();
    for model in &MODELS {
        for load in LOADS {
            let media = Media { load, server: ms(40), frames: model.frames, hard: model.hard };
            for policy in [BEBS_FIXED, CBS_FIXED] {
                let what = (numbers::tardiness as numbers::Numbers, 1, Rule::TENTH);
                trials.push(scale.trial(policy, &system(model, load), media.tasks(), what));
            }
        }
    }
    trials
}

/// Figure 1(c).
pub fn tardiness(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    for model in &MODELS {
        for load in LOADS {
            let system = system(model, load);
            let mean = |policy| runs.known(policy, &system, 0);
            let label = format!("bebs{}/load-{}/tardiness-over-cbs", model.name, load / 10);
            rows.push(times(label, mean(BEBS_FIXED), mean(CBS_FIXED)));
        }
    }
    for model in &MODELS {
        for load in LOADS {
            let system = system(model, load);
            for policy in [BEBS_FIXED, CBS_FIXED] {
                let (name, reading) = (policy.name, model.name);
                let label = format!("{name}{reading}/load-{}/mean-tardiness", load / 10);
                rows.extend(runs.find(policy, &system).map(|r| r.row(&label, "ms", 0)));
            }
        }
    }
    Ok(rows)
}

/// The drawing of Figure 1(c).
pub fn figures(runs: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let panel = |model: &'static Model| Panel {
        title: model.title,
        desc: "Mean tardiness of frames rises with load, one line for each policy.",
        x: "load, % of what the soft task has",
        y: "mean tardiness",
        unit: Unit::Time,
        log_from: Some(1e3),
        lines: [BEBS_FIXED, CBS_FIXED]
            .into_iter()
            .enumerate()
            .map(|(i, policy)| {
                let point = |load: u64| {
                    let ms = runs.mean(policy, &system(model, load), 0);
                    (load as f64 / 10.0, ms * 1e6)
                };
                Line::new(policy.title, LOADS.map(point).into(), i)
            })
            .collect(),
    };
    let panels: Vec<Panel> = MODELS.iter().map(panel).collect();
    let caption = "Each panel is one reading of variable frames; where so much is unused, hard \
                   tasks use only part of what they reserved. After Banachowski, Bisson and Brandt \
                   (BEBS), Figure 1(c).";
    Ok(vec![figure("bebs-fig1c", "Tardiness of a soft task by load", caption, &panels)])
}
