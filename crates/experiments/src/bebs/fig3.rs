//! Figure 3: tardiness and context switches against the period of the server.

use laxity_core::Span;
use laxity_report::Figure;
use laxity_report::plot::Unit;
use laxity_sim::cpu::Cost;
use laxity_sim::cpu::papers::bebs::Media;
use laxity_sim::cpu::papers::ms;

use crate::draw::{Line, Panel, figure};
use crate::tasks::contenders::{BEBS_FIXED, CBS_FIXED};
use crate::tasks::runs::times;
use crate::tasks::{Rule, Runs, Scale, Trial, numbers};
use crate::{ExperimentError, Measured};

/// Periods of the server in ms. Frames come every 40 ms.
const PERIODS: [u64; 6] = [5, 10, 20, 40, 80, 200];

fn system(period: u64) -> String {
    format!("media-period-{period}")
}

/// Normal frames of variability 0.4 at a load of 0.9.
pub fn trials(scale: Scale) -> Vec<Trial> {
    let frames: fn(Span) -> Cost = |mean| Cost::Gauss { mean, cv: 0.4 };
    let mut trials = Vec::new();
    for period in PERIODS {
        let media = Media { load: 900, server: ms(period), frames, hard_use: 100 };
        for policy in [BEBS_FIXED, CBS_FIXED] {
            let what = (numbers::tardiness as numbers::Numbers, 1, Rule::TENTH);
            trials.push(scale.trial(policy, &system(period), media.tasks(), what));
        }
    }
    trials
}

/// Tardiness, part (a), and switches, part (b).
pub fn rows(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    let mean = |policy, period, number| runs.mean(policy, &system(period), number);
    for policy in [BEBS_FIXED, CBS_FIXED] {
        for (low, high) in [(5, 40), (5, 200), (40, 200)] {
            let label = format!("{}/period-{low}/tardiness-over-{high}", policy.name);
            rows.push(times(label, mean(policy, low, 0), mean(policy, high, 0)));
        }
        let label = format!("{}/period-5/switches-over-200", policy.name);
        rows.push(times(label, mean(policy, 5, 1), mean(policy, 200, 1)));
    }
    for period in PERIODS {
        let label = |what| format!("bebs/period-{period}/{what}-over-cbs");
        let both = |number| (mean(BEBS_FIXED, period, number), mean(CBS_FIXED, period, number));
        let ((b, c), (bs, cs)) = (both(0), both(1));
        rows.push(times(label("tardiness"), b, c));
        rows.push(times(label("switches"), bs, cs));
    }
    for (number, what, unit) in [(0, "mean-tardiness", "ms"), (1, "switches", "1/s")] {
        for period in PERIODS {
            for policy in [BEBS_FIXED, CBS_FIXED] {
                let label = format!("period-{period}/{what}");
                rows.extend(runs.row(policy, &system(period), &label, unit, number));
            }
        }
    }
    Ok(rows)
}

/// The drawing.
pub fn figures(runs: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let lines = |number: usize, scale: f64| {
        let line = |(i, policy): (usize, crate::tasks::Contender)| {
            let point = |p: u64| (p as f64, runs.mean(policy, &system(p), number) * scale);
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
                   0.9. After Banachowski, Wu and Brandt (BEBS), Figure 3.";
    Ok(vec![figure("bebs-fig3", "The period of a server", caption, &panels)])
}
