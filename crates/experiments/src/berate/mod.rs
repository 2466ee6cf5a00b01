//! Banachowski and Brandt: "Better Real-time Response for Time-share Scheduling" (BeRate): table 1,
//! the runs of section 5, and section 2.2 on tick accounting.

mod accounting;
mod background;
mod progress;
mod sensitivity;
mod table1;

use laxity_sim::Control;

use crate::tasks::{Part, runs};
use crate::{ExperimentError, Finished, Job, Paper, live};

/// The row of this paper.
pub const PAPER: Paper = Paper {
    name: "berate",
    title: "deadlines for time-share tasks from the rate at which they use the CPU",
    sheet: include_str!("../../../../experiments/berate/published.toml"),
    until_known: true,
    work,
    measure,
};

const PARTS: [Part; 9] = [
    Part { id: "table1", trials: table1::trials, rows: table1::rows, figures: table1::figures },
    Part {
        id: "fig2",
        trials: progress::trials_2,
        rows: progress::rows_2,
        figures: progress::figures_2,
    },
    Part {
        id: "fig3",
        trials: progress::trials_3,
        rows: progress::rows_3,
        figures: progress::figures_3,
    },
    Part {
        id: "fig4",
        trials: progress::trials_4,
        rows: progress::rows_4,
        figures: progress::figures_4,
    },
    Part {
        id: "fig5",
        trials: progress::trials_5,
        rows: progress::rows_5,
        figures: progress::figures_5,
    },
    Part {
        id: "fig6",
        trials: progress::trials_6,
        rows: progress::rows_6,
        figures: progress::figures_6,
    },
    Part {
        id: "accounting",
        trials: |_| Vec::new(),
        rows: accounting::rows,
        figures: accounting::figures,
    },
    Part {
        id: "readings",
        trials: sensitivity::trials,
        rows: sensitivity::rows,
        figures: |_| Ok(Vec::new()),
    },
    Part {
        id: "background",
        trials: background::trials,
        rows: background::rows,
        figures: |_| Ok(Vec::new()),
    },
];

fn work(job: &Job) -> u128 {
    runs::work(&PARTS, job)
}

fn measure(job: &Job, control: &Control) -> Result<Finished, ExperimentError> {
    let mut finished = runs::measure(&PARTS, job, control)?;
    if job.wants("fig1") && !control.stopped() {
        let id = format!("{}.fig1", PAPER.name);
        let rows = live::only(&id);
        finished.measured.push((id, Vec::new(), rows));
    }
    Ok(finished)
}
