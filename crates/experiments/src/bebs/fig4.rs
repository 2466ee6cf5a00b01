//! Figure 4: fixed periods beside periods that adapt.

use laxity_report::Figure;
use laxity_report::plot::{Axis, Body, Hue, Mark, Plot, Unit};
use laxity_sim::cpu::papers::bebs::figure_4;
use laxity_sim::cpu::papers::ms;

use crate::tasks::contenders::{BEBS_CREDIT, BEBS_FIXED, BEBS_JOB};
use crate::tasks::runs::times;
use crate::tasks::{Contender, Rule, Runs, Scale, Trial, numbers};
use crate::{ExperimentError, Measured};

/// The rule for periods of servers.
struct Setting {
    name: &'static str,
    title: &'static str,
    policy: Contender,
    period: Option<u64>,
}

const fn fixed(name: &'static str, title: &'static str, period: u64) -> Setting {
    Setting { name, title, policy: BEBS_FIXED, period: Some(period) }
}

const fn adaptive(name: &'static str, title: &'static str, policy: Contender) -> Setting {
    Setting { name, title, policy, period: None }
}

const SETTINGS: [Setting; 6] = [
    fixed("fixed-20", "20 ms", 20),
    fixed("fixed-40", "40 ms", 40),
    fixed("fixed-200", "200 ms", 200),
    adaptive("adaptive", "adaptive", BEBS_FIXED),
    adaptive("adaptive-job", "adaptive, whole jobs", BEBS_JOB),
    adaptive("adaptive-credit", "with credit", BEBS_CREDIT),
];

/// Demand of the soft tasks, in hundredths of their share.
const DEMANDS: [u64; 2] = [90, 80];

fn system(setting: &Setting, percent: u64) -> String {
    format!("{}-{percent}", setting.name)
}

/// All settings at both demands.
pub fn trials(scale: Scale) -> Vec<Trial> {
    let mut trials = Vec::new();
    for percent in DEMANDS {
        for setting in &SETTINGS {
            let tasks = figure_4(percent, setting.period.map(ms));
            let what = (numbers::missed_and_switches as numbers::Numbers, 2, Rule::NEAREST_TENTH);
            trials.push(scale.trial(setting.policy, &system(setting, percent), tasks, what));
        }
    }
    trials
}

/// The figure's order, and the values behind it.
pub fn rows(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    for percent in DEMANDS {
        let of = |place: usize, number| {
            let setting = &SETTINGS[place];
            runs.known(setting.policy, &system(setting, percent), number)
        };
        let missed = |place| of(place, 0).max(of(place, 1));
        for (place, setting) in SETTINGS.iter().enumerate().take(4) {
            let label = format!("{}/demand-{percent}/most-missed", setting.name);
            rows.push(missed(place).row(label, "%"));
        }
        for (place, name) in [(0, "fixed-20"), (1, "fixed-40")] {
            let label = format!("{name}/demand-{percent}/switches-over-adaptive");
            rows.push(times(label, of(place, 2), of(3, 2)));
        }
        let label = format!("adaptive/demand-{percent}/switches-over-fixed-200");
        rows.push(times(label, of(3, 2), of(2, 2)));
        let label = format!("fixed-200/demand-{percent}/missed-over-fixed-20");
        rows.push(times(label, missed(2), missed(0)));
    }
    for percent in DEMANDS {
        for setting in &SETTINGS {
            let Some(run) = runs.find(setting.policy, &system(setting, percent)) else { continue };
            let name = setting.name;
            rows.push(run.row(format!("{name}/25-fps-{percent}/missed"), "%", 0));
            rows.push(run.row(format!("{name}/12-fps-{percent}/missed"), "%", 1));
            rows.push(run.row(format!("{name}/demand-{percent}/switches"), "1/s", 2));
            rows.push(run.row(format!("{name}/demand-{percent}/late-hard-jobs"), "jobs", 3));
        }
    }
    Ok(rows)
}

fn bars(title: &str, label: &str, values: &[f64]) -> Plot {
    let top = values.iter().copied().fold(0.0, f64::max);
    let x = Axis::linear(label, Unit::Plain, 0.0, top * 1.3);
    let y = Axis::names(SETTINGS.iter().map(|s| s.title));
    let mut plot =
        Plot::new(title, x, y).sized(440.0, 240.0).described("One bar for each setting.");
    for (place, value) in values.iter().enumerate() {
        plot = plot.with(Mark::Bar {
            y: -(place as f64),
            x: (0.0, *value),
            thick: 16.0,
            hue: Hue::Series(1 + usize::from(SETTINGS[place].period.is_none())),
            body: Body::Solid,
        });
        plot = plot.with(Mark::Text {
            at: (*value, -(place as f64)),
            shift: (4.0, 4.0),
            text: laxity_report::number::short((value * 10.0).round() / 10.0),
            anchor: laxity_report::plot::Anchor::Start,
        });
    }
    plot
}

/// The drawing, at the higher demand.
pub fn figures(runs: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let all = |number: usize| -> Vec<f64> {
        let of = |s: &Setting| runs.mean(s.policy, &system(s, DEMANDS[0]), number);
        SETTINGS.iter().map(of).collect()
    };
    let panels = vec![
        bars("25 frames a second", "deadlines missed, %", &all(0)),
        bars("12.5 frames a second", "deadlines missed, %", &all(1)),
        bars("All tasks", "context switches a second", &all(2)),
    ];
    let figure = Figure::new("bebs-fig4", "Fixed and adaptive periods", 2)
        .with(panels)
        .captioned(format!(
            "Five hard tasks of a tenth each, three CPU-bound ones and two soft ones that need {} % of \
             their share. After Banachowski, Bisson and Brandt (BEBS), Figure 4; the last two settings \
             are not in the paper.",
            DEMANDS[0]
        ));
    Ok(vec![figure])
}
