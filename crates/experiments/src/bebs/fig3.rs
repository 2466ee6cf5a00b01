//! Figure 3: tardiness and context switches against the period of the server.

use laxity_core::Span;
use laxity_report::Figure;
use laxity_report::plot::Unit;
use laxity_sim::cpu::Cost;
use laxity_sim::cpu::papers::bebs::{HardLoad, Media};
use laxity_sim::cpu::papers::ms;

use crate::draw::{Line, Panel, figure};
use crate::tasks::contenders::{BEBS_FIXED, CBS_FIXED};
use crate::tasks::runs::times;
use crate::tasks::{Rule, Runs, Scale, Trial, numbers};
use crate::{ExperimentError, Measured};

/// Periods of the server in ms. Frames come every 40 ms.
const PERIODS: [u64; 6] = [5, 10, 20, 40, 80, 200];

/// A reading of the workload, at a load of 0.9.
struct Reading {
    /// Follows the policy's name in labels.
    suffix: &'static str,
    frames: fn(Span) -> Cost,
    hard: HardLoad,
}

/// The first gives the rows and the figure; the other is a column.
const READINGS: [Reading; 2] = [
    Reading {
        suffix: "",
        frames: |mean| Cost::Gauss { mean, cv: 0.4 },
        hard: HardLoad::Steady(100),
    },
    Reading {
        suffix: "-intermittent",
        frames: |mean| Cost::Scenes { mean, cv: 0.4, frames: 50 },
        hard: HardLoad::Intermittent,
    },
];

fn system(reading: &Reading, period: u64) -> String {
    format!("media-period-{period}{}", reading.suffix)
}

/// Both readings at all periods.
pub fn trials(scale: Scale) -> Vec<Trial> {
    let mut trials = Vec::new();
    for reading in &READINGS {
        for period in PERIODS {
            let (frames, hard) = (reading.frames, reading.hard);
            let media = Media { load: 900, server: ms(period), frames, hard };
            for policy in [BEBS_FIXED, CBS_FIXED] {
                let what = (numbers::tardiness as numbers::Numbers, 1, Rule::TENTH);
                trials.push(scale.trial(policy, &system(reading, period), media.tasks(), what));
            }
        }
    }
    trials
}

/// Tardiness, part (a), and switches, part (b).
pub fn rows(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    for reading in &READINGS {
        let suffix = reading.suffix;
        let mean = |policy, period, number| runs.known(policy, &system(reading, period), number);
        for policy in [BEBS_FIXED, CBS_FIXED] {
            for (low, high) in [(5, 40), (5, 200), (40, 200)] {
                let label = format!("{}{suffix}/period-{low}/tardiness-over-{high}", policy.name);
                rows.push(times(label, mean(policy, low, 0), mean(policy, high, 0)));
            }
            let label = format!("{}{suffix}/period-5/switches-over-200", policy.name);
            rows.push(times(label, mean(policy, 5, 1), mean(policy, 200, 1)));
        }
        for period in PERIODS {
            let label = |what| format!("bebs{suffix}/period-{period}/{what}-over-cbs");
            let both = |number| (mean(BEBS_FIXED, period, number), mean(CBS_FIXED, period, number));
            let ((b, c), (bs, cs)) = (both(0), both(1));
            rows.push(times(label("tardiness"), b, c));
            rows.push(times(label("switches"), bs, cs));
        }
        for (number, what, unit) in [(0, "mean-tardiness", "ms"), (1, "switches", "1/s")] {
            for period in PERIODS {
                for policy in [BEBS_FIXED, CBS_FIXED] {
                    let label = format!("{}{suffix}/period-{period}/{what}", policy.name);
                    let system = system(reading, period);
                    rows.extend(runs.find(policy, &system).map(|r| r.row(&label, unit, number)));
                }
            }
        }
    }
    Ok(rows)
}

/// The drawing.
pub fn figures(runs: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let lines = |number: usize, scale: f64| {
        let line = |(i, policy): (usize, crate::tasks::Contender)| {
            let point =
                |p: u64| (p as f64, runs.mean(policy, &system(&READINGS[0], p), number) * scale);
            Line::new(policy.title, PERIODS.map(point).into(), i)
        };
        [BEBS_FIXED, CBS_FIXED].into_iter().enumerate().map(line).collect()
    };
    let panels = [
        Panel {
            title: "(a) tardiness",
            desc: "Mean tardiness against the period of the server.",
            x: "period of the server, ms",
            y: "mean tardiness",
            unit: Unit::Time,
            log_from: None,
            lines: lines(0, 1e6),
        },
        Panel {
            title: "(b) context switches",
            desc: "Context switches a second fall with the period of the server.",
            x: "period of the server, ms",
            y: "context switches a second",
            unit: Unit::Plain,
            log_from: None,
            lines: lines(1, 1.0),
        },
    ];
    let caption = "The system of Figure 1(c) with normal frames of variability 0.4 at a load of \
                   0.9. After Banachowski, Bisson and Brandt (BEBS), Figure 3.";
    Ok(vec![figure("bebs-fig3", "The period of a server", caption, &panels)])
}
