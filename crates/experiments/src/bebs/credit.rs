//! The improved rule, `bebs-credit`, beside others: its gains and costs. Not in the
//! papers.

use laxity_core::Span;
use laxity_report::Figure;
use laxity_report::plot::{Anchor, Axis, Body, Hue, Mark, Plot, Unit};
use laxity_sim::cpu::Task;
use laxity_sim::cpu::papers::bebs::{figure_1, interactive, waking_for_good};
use laxity_sim::cpu::papers::berate::{Shape, Srtsim, experiment};
use laxity_sim::cpu::papers::{cpu_bound, ms};

use crate::draw::{Line, Panel, figure};
use crate::tasks::contenders::{
    BEBS, BEBS_CREDIT, BEBS_FIXED, BEBS_JOB, BERATE, CBS, CBS_FIXED, EEVDF, EEVDF_BELOW,
};
use crate::tasks::progress::single;
use crate::tasks::{Contender, Rule, Runs, Scale, Trial, numbers};
use crate::{ExperimentError, Measured};

const COMPARED: [Contender; 6] = [BEBS, BEBS_JOB, BEBS_CREDIT, CBS, BERATE, EEVDF];
const EXPERIMENTS: [u32; 3] = [1, 2, 3];
/// Means in thousandths of the fair share.
const LOADS: [u64; 7] = [700, 750, 800, 850, 900, 950, 1000];
/// Loads and variabilities of which numbers are printed.
const PRINTED: [u64; 4] = [700, 800, 900, 1000];
const VARIABILITY: [f64; 3] = [0.1, 0.2, 0.4];

/// There are so many trials that each gets a part of the runs.
const PART: u64 = 4;

fn system(number: u32, cv: f64, load: u64) -> String {
    format!("experiment-{number}-cv-{cv}-load-{load}")
}

/// Loads of an experiment: the first is drawn too.
fn loads(number: u32) -> &'static [u64] {
    if number == 1 { &LOADS } else { &PRINTED }
}

/// Trials of the comparison by load.
pub fn trials(scale: Scale) -> Vec<Trial> {
    let what = |judged| (numbers::missed as numbers::Numbers, judged, Rule::NEAREST_TENTH);
    let mut trials = Vec::new();
    for number in EXPERIMENTS {
        for cv in VARIABILITY {
            for load in loads(number) {
                let srtsim = Srtsim { shape: Shape::Gauss(cv), scale: *load, ..Srtsim::STATED };
                for policy in COMPARED {
                    let (tasks, count) = experiment(number, srtsim);
                    let system = system(number, cv, *load);
                    trials.push(scale.part(PART).trial(policy, &system, tasks, what(count)));
                }
            }
        }
    }
    trials
}

/// Deadlines missed by load, variability and experiment.
pub fn rows(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    for number in EXPERIMENTS {
        let (_, count) = experiment(number, Srtsim::STATED);
        for cv in VARIABILITY {
            for load in PRINTED {
                for policy in COMPARED {
                    for task in 0..count {
                        let label = format!(
                            "experiment-{number}-srtsim-{}-cv-{cv}/missed-at-load-{}",
                            task + 1,
                            load / 10
                        );
                        rows.extend(runs.row(policy, &system(number, cv, load), &label, "%", task));
                    }
                }
            }
        }
    }
    Ok(rows)
}

/// The page: deadlines missed against load.
pub fn figures(runs: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let titles = VARIABILITY.map(|cv| format!("variability {cv}"));
    let panels: Vec<Panel> = VARIABILITY
        .iter()
        .zip(&titles)
        .map(|(cv, title)| Panel {
            title,
            desc: "Deadlines missed rise with load, one line for each policy.",
            x: "demand, % of the fair share",
            y: "deadlines missed, %",
            unit: Unit::Plain,
            log_from: Some(0.01),
            lines: COMPARED
                .iter()
                .enumerate()
                .map(|(i, policy)| {
                    let point = |load: u64| {
                        (load as f64 / 10.0, runs.mean(*policy, &system(1, *cv, load), 0))
                    };
                    Line::new(policy.title, LOADS.map(point).into(), i)
                })
                .collect(),
        })
        .collect();
    let caption = "A soft task of 25 frames a second beside a CPU-bound one, as in experiment 1 of \
                   BeRate's Table 1, by demand; zero lies beyond the break, what is less \
                   than 0.01 % at it. BEBS with credit \
                   gives the same guarantee as BEBS.";
    Ok(vec![figure("bebs-credit", "Deadlines missed by a soft task", caption, &panels)])
}

/// Systems in which a task that used idle time waits when another wakes for good.
fn gaps() -> [(&'static str, Span, Vec<Task>); 2] {
    // By the figure's servers under policies that take declarations, by share under others.
    let long = vec![waking_for_good(ms(10_000)), cpu_bound("task 2")];
    [("figure-1", ms(600), figure_1()), ("ten-seconds", ms(20_000), long)]
}

fn longest_wait(policy: Contender, tasks: &[Task], length: Span) -> Result<f64, ExperimentError> {
    Ok(single(policy, tasks, length)?.measure.tasks[1].longest_gap.0 as f64 / 1e6)
}

const GAPPED: [Contender; 6] = [BEBS_FIXED, BEBS_JOB, BEBS_CREDIT, CBS_FIXED, BERATE, EEVDF];

/// How long a CPU-bound task waits when another wakes for good.
pub fn gap_rows(_: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    for (name, length, tasks) in gaps() {
        for policy in GAPPED {
            let wait = longest_wait(policy, &tasks, length)?;
            let label = format!("{}/{name}/longest-wait", policy.name);
            rows.push(Measured::new(label, "ms", vec![wait]));
        }
    }
    Ok(rows)
}

/// Bars of the same.
pub fn gap_figures(_: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let titles = ["2 ms in 20 until 0.4 s", "2 ms in 20 until 10 s"];
    let mut panels = Vec::new();
    for ((_, length, tasks), title) in gaps().into_iter().zip(titles) {
        let waits = GAPPED.map(|policy| longest_wait(policy, &tasks, length));
        let waits = waits.into_iter().collect::<Result<Vec<f64>, _>>()?;
        let top = waits.iter().copied().fold(0.0, f64::max) * 1e6;
        let x = Axis::linear("longest wait", Unit::Time, 0.0, top * 1.3);
        let y = Axis::names(GAPPED.iter().map(|p| p.title));
        let mut plot = Plot::new(title, x, y).sized(440.0, 240.0).described("One bar each.");
        for (place, wait) in waits.iter().enumerate() {
            let y = -(place as f64);
            plot = plot
                .with(Mark::Bar {
                    y,
                    x: (0.0, wait * 1e6),
                    thick: 16.0,
                    hue: Hue::Series(place),
                    body: Body::Solid,
                })
                .with(Mark::Text {
                    at: (wait * 1e6, y),
                    shift: (4.0, 4.0),
                    text: format!("{wait:.0} ms"),
                    anchor: Anchor::Start,
                });
        }
        panels.push(plot);
    }
    let figure =
        Figure::new("bebs-credit-gap", "Wait of a task that used idle time", 2).with(panels).captioned(
            "A CPU-bound task uses the time that another leaves idle, until that one wakes for good. \
             The longest time that the first waits for the CPU. After BEBS, Figure 1(a, b).",
        );
    Ok(vec![figure])
}

const RESPONDING: [Contender; 5] = [BEBS, BEBS_CREDIT, CBS, BERATE, EEVDF_BELOW];
/// Bursts of the interactive task in microseconds.
const BURSTS: [u64; 3] = [50, 2000, 5000];
const HARD: [u64; 5] = [0, 1, 2, 3, 4];

fn response_system(burst: u64, hard: u64) -> String {
    format!("burst-{burst}-us-{hard}-hard")
}

/// Trials of figure 7(b) at several bursts.
pub fn response_trials(scale: Scale) -> Vec<Trial> {
    let mut trials = Vec::new();
    for burst in BURSTS {
        for hard in HARD {
            for policy in RESPONDING {
                let tasks = interactive(1, hard, Span(burst * 1000));
                let what = (numbers::response as numbers::Numbers, 1, Rule::TENTH);
                trials.push(scale.trial(policy, &response_system(burst, hard), tasks, what));
            }
        }
    }
    trials
}

/// Response of an interactive task beside hard ones.
pub fn response_rows(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    for burst in BURSTS {
        for hard in HARD {
            let system = response_system(burst, hard);
            for policy in RESPONDING {
                for (number, what) in [(0, "mean-response"), (1, "p99-response")] {
                    let label = format!("{system}/{what}");
                    rows.extend(runs.row(policy, &system, &label, "ms", number));
                }
            }
        }
    }
    Ok(rows)
}

/// The same as lines.
pub fn response_figures(runs: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let titles = BURSTS.map(|burst| format!("bursts of {} ms", burst as f64 / 1000.0));
    let panels: Vec<Panel> = BURSTS
        .iter()
        .zip(&titles)
        .map(|(burst, title)| Panel {
            title,
            desc: "Mean response against the number of hard tasks.",
            x: "hard tasks of 15 %",
            y: "mean response",
            unit: Unit::Time,
            log_from: Some(1e3),
            lines: RESPONDING
                .iter()
                .enumerate()
                .map(|(i, policy)| {
                    let mean = |n| runs.mean(*policy, &response_system(*burst, n), 0) * 1e6;
                    Line::new(policy.title, HARD.map(|n| (n as f64, mean(n))).into(), i)
                })
                .collect(),
        })
        .collect();
    let caption = "Mean time from an event to the CPU for an interactive task beside one CPU-bound \
                   task and hard ones, as in Figure 7(b) of the paper on BEBS, by its execution \
                   time after each event. BeRate schedules hard tasks as best effort.";
    Ok(vec![figure("bebs-credit-response", "Response of an interactive task", caption, &panels)])
}
