//! Chakraborty, Gries, Thiele: "Supporting a Low Delay Best-Effort Class in the Presence of
//! Real-Time Traffic", RTAS 2002: the tables and figures of section 5 and the appendix.

mod curves;
mod over_time;
mod runs;
mod tables;
mod textbook;

pub(crate) use curves::Broken;

use std::path::Path;

use laxity_report::Figure;
use laxity_scenario::link::model::{Restart, Scenario};
use laxity_sim::Control;

use crate::{ExperimentError, Finished, Job, Paper};

/// The row of this paper.
pub const PAPER: Paper = Paper {
    name: "low-delay",
    title: "low-delay best effort beside real-time flows on a link",
    sheet: include_str!("../../../../experiments/low-delay/published.toml"),
    until_known: false,
    work: runs::work,
    measure,
};

const LINK: &str = include_str!("../../../../experiments/low-delay/access-link.toml");

/// The paper's columns: the standard scheme, then its two approximations.
pub const COLUMNS: [&str; 3] = ["background", "shifted-line", "two-segment"];

/// The standard scheme.
const REFERENCE: &str = COLUMNS[0];

/// The link of section 5: Tables 3 and 4, Figure 8.
///
/// In the text history is forgotten when nothing waits. The published means fit forgetting it when the
/// link idles: mail under the shifted line, 2.28 ms in the paper, has 2.00 ms so and 1.86 otherwise.
///
/// # Errors
/// Only when the file of this crate is broken.
pub fn scenario() -> Result<Scenario, ExperimentError> {
    let mut scenario = Scenario::parse(LINK, Path::new("low-delay/access-link.toml"))?;
    scenario.policy.options.restart = Restart::Idle;
    Ok(scenario)
}

/// The drawing of Figure 8.
///
/// # Errors
/// Only when the file of this crate is broken.
pub fn fig8_drawing() -> Result<Option<Figure>, ExperimentError> {
    Ok(curves::fig8(&scenario()?)?.1)
}

fn measure(job: &Job, control: &Control) -> Result<Finished, ExperimentError> {
    let scenario = scenario()?;
    let mut finished = Finished::default();
    let runs = runs::Runs::of(job, &scenario, control)?;
    if !runs.seeds.is_empty() {
        let mut add = |short: &str, rows| {
            let id = format!("{}.{short}", PAPER.name);
            finished.measured.push((id, runs.seeds.clone(), rows));
        };
        if job.wants("table1") {
            let mut rows = tables::delays(&runs, tables::Statistic::Max);
            rows.extend(tables::maxima_claims(&runs, &scenario));
            add("table1", rows);
        }
        if job.wants("table2") {
            let mut rows = tables::delays(&runs, tables::Statistic::Mean);
            rows.extend(runs::SUFFIXES.into_iter().flat_map(|s| tables::mean_claims(&runs, s)));
            rows.extend(tables::printed_percentages(&job.sheet));
            add("table2", rows);
        }
        if job.wants("fig4") {
            add("fig4", over_time::whole(&runs));
        }
    }
    if (job.wants("fig4") || job.wants("fig5")) && !control.stopped() {
        let excerpt = over_time::Excerpt::of(&runs, &scenario, control)?;
        // One that was stopped half-way shows too few packets.
        if !control.stopped() {
            for (short, figures) in excerpt.figures(&runs, &scenario) {
                if job.wants(short) {
                    let id = format!("{}.{short}", PAPER.name);
                    finished.figures.extend(figures.into_iter().map(|f| (id.clone(), f)));
                }
            }
            if job.wants("fig5") {
                let id = format!("{}.fig5", PAPER.name);
                let first = runs.seeds.iter().take(1).copied().collect();
                finished.measured.push((id, first, excerpt.rows(&scenario)));
            }
        }
    }
    if job.wants("fig8") {
        let id = format!("{}.fig8", PAPER.name);
        let (rows, figure) = curves::fig8(&scenario)?;
        finished.measured.push((id.clone(), Vec::new(), rows));
        finished.figures.extend(figure.map(|f| (id, f)));
    }
    Ok(finished)
}
