//! Live measurements beside simulated ones: `experiments/live-cpu.toml`, which `make
//! compare-cpu` measures and writes.

use laxity_results::{Experiment, ReproductionVerdict};
use serde::Deserialize;

use crate::judge::within;
use crate::sheet::Entry;
use crate::{ExperimentError, Measured};

const MEASURED: &str = include_str!("../../../experiments/live-cpu.toml");

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    /// Release of the kernel.
    kernel: String,
    /// Year, month and day.
    measured: String,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// Id of the experiment.
    experiment: String,
    /// `policy/object/statistic`, as there.
    label: String,
    unit: String,
    /// The scheduler that ran as the policy.
    scheduler: String,
    value: f64,
}

impl Sheet {
    fn parse(text: &str) -> Result<Sheet, String> {
        let mut sheet: Sheet = toml::from_str(text).map_err(|e| e.to_string())?;
        let ratios: Vec<Row> = sheet.rows.iter().filter_map(|r| sheet.over_eevdf(r)).collect();
        sheet.rows.extend(ratios);
        Ok(sheet)
    }

    /// Run time of hackbench relative to that under the kernel's own scheduler.
    fn over_eevdf(&self, row: &Row) -> Option<Row> {
        let (policy, rest) = row.label.split_once('/')?;
        if !rest.ends_with("/hackbench") || policy == KERNELS {
            return None;
        }
        let baseline = format!("{KERNELS}/{rest}");
        let same = |r: &&Row| r.experiment == row.experiment && r.label == baseline;
        let kernels = self.rows.iter().find(same)?;
        Some(Row {
            experiment: row.experiment.clone(),
            label: format!("{}-over-linux", row.label),
            unit: "times".into(),
            scheduler: format!("{} over {}", row.scheduler, kernels.scheduler),
            value: (row.value / kernels.value * 1e3).round() / 1e3,
        })
    }
}

/// The policy that is the live kernel's own scheduler.
const KERNELS: &str = "eevdf";

/// The live rows of an experiment that is not simulated; [`add_live_values`] reports unreadable ones.
pub fn only(experiment: &str) -> Vec<Measured> {
    let rows = Sheet::parse(MEASURED).map(|sheet| sheet.rows).unwrap_or_default();
    let rows = rows.into_iter().filter(|r| r.experiment == experiment);
    let measured = rows.filter_map(|r| {
        let unit = ["%", "s", "times"].into_iter().find(|unit| *unit == r.unit)?;
        Some(Measured::new(r.label, unit, vec![r.value]))
    });
    measured.collect()
}

/// Fills in the live measurements.
///
/// # Errors
/// When the data file is none, or has a row in another unit.
pub fn add_live_values(
    paper: &'static str,
    entry: &Entry,
    experiment: &mut Experiment,
) -> Result<(), ExperimentError> {
    fill(MEASURED, entry, experiment)
        .map_err(|what| ExperimentError::sheet(paper, format!("live-cpu.toml: {what}")))
}

fn fill(text: &str, entry: &Entry, experiment: &mut Experiment) -> Result<(), String> {
    let sheet = Sheet::parse(text)?;
    let mut schedulers: Vec<&str> = Vec::new();
    for live in sheet.rows.iter().filter(|r| r.experiment == experiment.id) {
        let Some(row) = experiment.rows.iter_mut().find(|r| r.label == live.label) else {
            continue;
        };
        if row.unit != live.unit {
            return Err(format!("{}: in {}, {} there", live.label, live.unit, row.unit));
        }
        row.live = Some(live.value);
        row.live_scheduler = Some(live.scheduler.clone());
        // A measurement of another scheduler does not bear on the claim.
        let policy = row.label.split_once('/').map_or("", |(policy, _)| policy);
        let published = entry.rows.iter().find(|p| p.label == row.label);
        let own = published.and_then(|p| p.live.clone());
        let own = own.unwrap_or_else(|| format!("laxity-{policy}"));
        let measured = live.scheduler.split(" over ").next();
        let range = published.and_then(|p| p.range()).filter(|_| measured == Some(own.as_str()));
        row.live_verdict = range.map(|range| within(range, live.value));
        if row.live_verdict == Some(ReproductionVerdict::Differs) {
            let why = published.and_then(|p| p.differs_live.clone());
            row.why += &why.map_or_else(String::new, |why| format!(" Live: {why}"));
        }
        if !schedulers.contains(&live.scheduler.as_str()) {
            schedulers.push(&live.scheduler);
        }
    }
    if !schedulers.is_empty() {
        experiment.reading += &format!(
            " Live: {} on Linux {} in a virtual machine with one processor, {}; shorter runs.",
            schedulers.join(", "),
            sheet.kernel,
            sheet.measured
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use laxity_sim::Control;

    use super::*;
    use crate::{Order, plan};

    /// Fails when a label of the data file has no row.
    #[test]
    fn every_live_row_is_in_the_sheet() {
        let sheet = Sheet::parse(MEASURED).expect("a sheet");
        assert!(!sheet.rows.is_empty());
        let mut only: Vec<String> = sheet.rows.iter().map(|r| r.experiment.clone()).collect();
        only.dedup();
        let order = Order { only, seeds: Some(1), quick: true };
        let jobs = plan("all", &order).expect("known experiments");
        let mut places = Vec::new();
        for job in jobs {
            let outcome = job.run(&Control::default()).expect("a run");
            for experiment in outcome.reproduction.experiments {
                let filled = experiment.rows.iter().filter(|r| r.live.is_some());
                places.extend(filled.map(|r| (experiment.id.clone(), r.label.clone())));
            }
        }
        for row in sheet.rows {
            let place = (row.experiment, row.label);
            assert!(places.contains(&place), "{place:?} is no row of an experiment");
        }
    }
}
