//! West, Schwan, Poellabauer: "Scalable Scheduling Support for Loss and Delay Constrained Media
//! Streams", RTAS 1999: the figures of section 5.

mod checks;
mod cost;
mod fig2;
mod fig3;
mod fig4;
mod runs;
pub mod simulation;
pub mod variants;
pub mod workload;

use laxity_report::Figure;
use laxity_sim::Control;

use self::cost::Timing;
use self::runs::{Runs, Scale, distinct};
use self::simulation::Setting;
use self::workload::SERVICE;
use crate::{ExperimentError, Finished, Job, Measured, Paper};

/// The row of this paper.
pub const PAPER: Paper = Paper {
    name: "dwcs",
    title: "dynamic window-constrained scheduling of media streams",
    sheet: include_str!("../../../../experiments/dwcs/published.toml"),
    until_known: false,
    work,
    measure,
};

/// A figure from simulated runs, the same on every machine.
struct SimulatedFigure {
    id: &'static str,
    settings: fn(&Scale) -> Vec<Setting>,
    rows: fn(&Runs) -> Vec<Measured>,
    figures: fn(&Runs) -> Vec<Figure>,
}

const SIMULATED: [SimulatedFigure; 7] = [
    SimulatedFigure {
        id: "fig2a",
        settings: fig2::settings,
        rows: fig2::missed,
        figures: fig2::missed_figures,
    },
    SimulatedFigure {
        id: "fig2b",
        settings: fig2::settings,
        rows: fig2::violated,
        figures: fig2::violated_figures,
    },
    SimulatedFigure {
        id: "fig3",
        settings: fig3::settings,
        rows: fig3::rows,
        figures: |runs| vec![fig3::drawing(runs)],
    },
    SimulatedFigure {
        id: "fig4a",
        settings: fig4::under_settings,
        rows: fig4::under,
        figures: |runs| vec![fig4::under_figure(runs)],
    },
    SimulatedFigure {
        id: "fig4b",
        settings: fig4::over_settings,
        rows: fig4::over,
        figures: |runs| vec![fig4::over_figure(runs)],
    },
    SimulatedFigure {
        id: "fig7",
        settings: checks::settings,
        rows: checks::missed,
        figures: |runs| vec![checks::missed_figure(runs)],
    },
    SimulatedFigure {
        id: "fig8",
        settings: checks::settings,
        rows: checks::violated,
        figures: |runs| vec![checks::violated_figure(runs)],
    },
];

/// A timed figure.
struct Timed {
    id: &'static str,
    /// The reason why this machine cannot measure it, if it cannot.
    lacks: fn() -> Option<String>,
    measure: fn(&Control) -> Option<Timing>,
}

const TIMED: [Timed; 3] = [
    Timed { id: "fig5a", lacks: || None, measure: cost::structures },
    Timed { id: "fig5b", lacks: cost::no_semaphores, measure: cost::synchronisation },
    Timed { id: "fig6", lacks: || None, measure: cost::check_interval },
];

fn settings(job: &Job) -> Vec<Setting> {
    let scale = Scale::of(job);
    let wanted = SIMULATED.iter().filter(|p| job.wants(p.id));
    distinct(wanted.flat_map(|p| (p.settings)(&scale)))
}

/// Simulated nanoseconds of all runs.
fn work(job: &Job) -> u128 {
    settings(job).iter().map(|s| u128::from(s.packets) * u128::from(SERVICE.0)).sum()
}

fn measure(job: &Job, control: &Control) -> Result<Finished, ExperimentError> {
    let mut finished = Finished::default();
    let id = |short: &str| format!("{}.{short}", PAPER.name);
    let runs = Runs::of(Scale::of(job), &settings(job), control);
    for part in SIMULATED.iter().filter(|p| job.wants(p.id)) {
        let settings = (part.settings)(runs.scale());
        if !runs.have(&settings) {
            continue;
        }
        let random = settings.iter().any(|s| s.seed > 0);
        let seeds = if random { job.seeds.clone() } else { Vec::new() };
        finished.measured.push((id(part.id), seeds, (part.rows)(&runs)));
        let figures = (part.figures)(&runs).into_iter();
        finished.figures.extend(figures.map(|figure| (id(part.id), figure)));
    }
    // After the others, when the machine has nothing else to do.
    for part in TIMED.iter().filter(|p| job.wants(p.id)) {
        if let Some(why) = (part.lacks)() {
            finished.lacking.push((id(part.id), why));
        } else if let Some((rows, figure)) = (part.measure)(control) {
            finished.measured.push((id(part.id), Vec::new(), rows));
            finished.figures.push((id(part.id), figure));
        }
    }
    Ok(finished)
}
