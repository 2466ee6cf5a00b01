//! Banachowski, Bisson, Brandt: "Integrating Best-Effort Scheduling into a Real-Time System"
//! (BEBS): the figures of sections 4 and 6, its guarantees, and the rule that repairs the
//! claims that did not hold.

mod credit;
mod fig1;
mod fig2;
mod fig3;
mod fig4;
mod fig9;
mod guarantee;
mod overhead;
mod response;

use laxity_sim::Control;

use crate::tasks::{Part, runs};
use crate::{ExperimentError, Finished, Job, Paper, live};

/// The row of this paper.
pub const PAPER: Paper = Paper {
    name: "bebs",
    title: "best-effort bandwidth servers: best-effort tasks under EDF",
    sheet: include_str!("../../../../experiments/bebs/published.toml"),
    until_known: true,
    work,
    measure,
};

const PARTS: [Part; 15] = [
    Part { id: "fig1a", trials: |_| Vec::new(), rows: fig1::starving, figures: fig1::progress_cbs },
    Part { id: "fig1b", trials: |_| Vec::new(), rows: fig1::spared, figures: fig1::progress_bebs },
    Part { id: "fig1c", trials: fig1::trials, rows: fig1::tardiness, figures: fig1::figures },
    Part { id: "fig2", trials: |_| Vec::new(), rows: fig2::rows, figures: fig2::figures },
    Part { id: "fig3", trials: fig3::trials, rows: fig3::rows, figures: fig3::figures },
    Part { id: "fig4", trials: fig4::trials, rows: fig4::rows, figures: fig4::figures },
    Part {
        id: "fig6",
        trials: response::trials_6,
        rows: response::rows_6,
        figures: response::figures_6,
    },
    Part {
        id: "fig7",
        trials: response::trials_7,
        rows: response::rows_7,
        figures: response::figures_7,
    },
    Part {
        id: "fig8",
        trials: response::trials_8,
        rows: response::rows_8,
        figures: response::figures_8,
    },
    Part { id: "fig9", trials: |_| Vec::new(), rows: fig9::rows, figures: fig9::figures },
    Part {
        id: "bounds",
        trials: |_| Vec::new(),
        rows: guarantee::bounds,
        figures: |_| Ok(Vec::new()),
    },
    Part {
        id: "guarantee",
        trials: guarantee::trials,
        rows: guarantee::rows,
        figures: |_| Ok(Vec::new()),
    },
    Part { id: "credit", trials: credit::trials, rows: credit::rows, figures: credit::figures },
    Part {
        id: "credit-gap",
        trials: |_| Vec::new(),
        rows: credit::gap_rows,
        figures: credit::gap_figures,
    },
    Part {
        id: "credit-response",
        trials: credit::response_trials,
        rows: credit::response_rows,
        figures: credit::response_figures,
    },
];

fn work(job: &Job) -> u128 {
    runs::work(&PARTS, job)
}

fn measure(job: &Job, control: &Control) -> Result<Finished, ExperimentError> {
    let mut finished = runs::measure(&PARTS, job, control)?;
    // After the others, when the machine has nothing else to do.
    if job.wants("fig5") {
        if let Some(mut rows) = overhead::rows(control) {
            rows.extend(live::only(&format!("{}.fig5", PAPER.name)));
            finished.measured.push((format!("{}.fig5", PAPER.name), Vec::new(), rows));
        }
    }
    Ok(finished)
}
