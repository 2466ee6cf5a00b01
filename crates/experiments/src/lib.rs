//! The papers' experiments: rerun, and judged beside the published numbers.
//!
//! A paper is one row of [`PAPERS`].
//! A [`Sheet`], a data file under `experiments/`, holds its numbers, the reading of it and the
//! tolerances; its module measures without access to the published numbers.
//!
//! ```
//! use laxity_experiments::{Order, plan};
//! use laxity_sim::Control;
//!
//! let order = Order { only: vec!["fig8".into()], ..Order::default() };
//! let jobs = plan("low-delay", &order)?;
//! let outcome = jobs[0].run(&Control::default())?;
//! assert_eq!(outcome.reproduction.experiments[0].id, "low-delay.fig8");
//! # Ok::<(), laxity_experiments::ExperimentError>(())
//! ```
#![forbid(unsafe_code)]

pub mod bebs;
pub mod berate;
pub mod diagrams;
mod draw;
pub mod dwcs;
mod error;
pub mod judge;
mod live;
pub mod low_delay;
pub mod service_curves;
pub mod sheet;
mod tasks;

pub use error::ExperimentError;
pub use judge::Measured;
pub use sheet::Sheet;

use laxity_core::Span;
use laxity_report::Figure;
use laxity_results::Reproduction;
use laxity_scenario::quantity;
use laxity_sim::Control;

/// All papers, in the order in which they are run.
pub const PAPERS: &[Paper] =
    &[low_delay::PAPER, service_curves::PAPER, dwcs::PAPER, bebs::PAPER, berate::PAPER];

/// A paper whose experiments can be rerun.
#[derive(Debug)]
pub struct Paper {
    /// Name on the command line.
    pub name: &'static str,
    /// Its subject, in short.
    pub title: &'static str,
    /// The text of its [`Sheet`].
    pub sheet: &'static str,
    /// Whether runs end as soon as enough is known; seeds are then the most there may be.
    pub until_known: bool,
    /// Simulated nanoseconds of a job, for progress.
    pub work: fn(&Job) -> u128,
    /// Measures a job. When stopped, over the finished seeds.
    pub measure: fn(&Job, &Control) -> Result<Finished, ExperimentError>,
}

/// The experiments to run, and their length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Experiments to run, such as `low-delay.table2` or `table2`; all when empty.
    pub only: Vec<String>,
    /// Number of seeds, counted from 1; the sheet's number when absent.
    pub seeds: Option<u64>,
    /// Fewer seeds and shorter runs.
    pub quick: bool,
}

/// One paper's part of an order.
#[derive(Debug)]
pub struct Job {
    /// The paper.
    pub paper: &'static Paper,
    /// Its data.
    pub sheet: Sheet,
    /// Ids of the experiments wanted, in the sheet's order.
    pub ids: Vec<String>,
    /// Seeds to run, rising.
    pub seeds: Vec<u64>,
    /// Time over which packets arrive in each run.
    pub duration: Span,
    /// Whether runs are fewer and shorter than the sheet requires.
    pub quick: bool,
}

/// Measurements of a paper's module.
#[derive(Debug, Default)]
pub struct Finished {
    /// By experiment: its id, the seeds measured, and a value of each for every number.
    pub measured: Vec<(String, Vec<u64>, Vec<Measured>)>,
    /// Experiments that this machine cannot run, with what it lacks.
    pub lacking: Vec<(String, String)>,
    /// Figures for the page, with the id of their experiment.
    pub figures: Vec<(String, Figure)>,
}

/// A job done and judged.
#[derive(Debug)]
pub struct Outcome {
    /// The numbers.
    pub reproduction: Reproduction,
    /// Figures for the page, with the id of their experiment.
    pub figures: Vec<(String, Figure)>,
}

/// The jobs of `laxity reproduce PAPER`; `all` stands for every paper.
///
/// # Errors
/// No paper or experiment has that name; the known ones are named. No seeds.
pub fn plan(paper: &str, order: &Order) -> Result<Vec<Job>, ExperimentError> {
    let papers: Vec<_> = PAPERS.iter().filter(|p| paper == "all" || paper == p.name).collect();
    if papers.is_empty() {
        return Err(ExperimentError::UnknownPaper { name: paper.to_owned() });
    }
    let sheets = papers.into_iter().map(|p| Ok((p, Sheet::parse(p.name, p.sheet)?)));
    let sheets = sheets.collect::<Result<Vec<_>, ExperimentError>>()?;
    let known = || sheets.iter().flat_map(|(_, s)| s.experiment.iter().map(|e| e.id.as_str()));
    let names = |id: &str, name: &str| {
        id == name || id.split_once('.').is_some_and(|(_, short)| short == name)
    };
    if let Some(name) = order.only.iter().find(|name| !known().any(|id| names(id, name))) {
        let known = known().map(str::to_owned).collect();
        return Err(ExperimentError::UnknownExperiment { name: name.clone(), known });
    }
    let mut jobs = Vec::new();
    for (paper, sheet) in sheets {
        let wanted = |id: &str| order.only.is_empty() || order.only.iter().any(|n| names(id, n));
        let ids = sheet.experiment.iter().map(|e| e.id.clone()).filter(|id| wanted(id));
        let ids: Vec<_> = ids.collect();
        if ids.is_empty() {
            continue;
        }
        let (seeds, duration) = match order.quick {
            true => (sheet.quick.seeds, &sheet.quick.duration),
            false => (sheet.seeds, &sheet.duration),
        };
        let duration = quantity::span(duration)
            .map_err(|e| ExperimentError::sheet(paper.name, format!("duration: {}", e.reason())))?;
        let seeds = order.seeds.unwrap_or(seeds);
        if seeds == 0 || seeds > MOST_SEEDS {
            return Err(ExperimentError::Seeds { given: seeds });
        }
        let quick = order.quick;
        jobs.push(Job { paper, sheet, ids, seeds: (1..=seeds).collect(), duration, quick });
    }
    Ok(jobs)
}

/// More would take hours.
pub const MOST_SEEDS: u64 = 1000;

impl Job {
    /// Whether an experiment is wanted, by the part of its id after the paper's name.
    pub fn wants(&self, short: &str) -> bool {
        self.ids.iter().any(|id| id.strip_prefix(self.paper.name) == Some(&format!(".{short}")))
    }

    /// Simulated nanoseconds to do.
    pub fn work(&self) -> u128 {
        (self.paper.work)(self)
    }

    /// Runs and judges the experiments. The same job gives the same outcome on any number of
    /// threads. When `control` stops it, the outcome covers the seeds that were finished and holds
    /// no experiment when none was.
    ///
    /// # Errors
    /// When the sheet and the measurement do not fit together or a scenario cannot be run; neither
    /// depends on the order.
    pub fn run(&self, control: &Control) -> Result<Outcome, ExperimentError> {
        let Finished { measured, lacking, figures } = (self.paper.measure)(self, control)?;
        let mut experiments = Vec::new();
        for entry in self.sheet.experiment.iter().filter(|e| self.ids.contains(&e.id)) {
            let Some((_, seeds, rows)) = measured.iter().find(|(id, ..)| *id == entry.id) else {
                if let Some((_, what)) = lacking.iter().find(|(id, _)| *id == entry.id) {
                    experiments.push(judge::unmeasured(entry, what));
                    continue;
                }
                if control.stopped() {
                    continue;
                }
                let what = format!("{} was not measured", entry.id);
                return Err(ExperimentError::sheet(self.paper.name, what));
            };
            let extent = judge::Extent { seeds, quick: self.quick };
            let mut judged = judge::judge(entry, extent, rows)
                .map_err(|what| ExperimentError::sheet(self.paper.name, what))?;
            live::add_live_values(self.paper.name, entry, &mut judged)?;
            experiments.push(judged);
        }
        let reproduction = Reproduction {
            paper: self.paper.name.to_owned(),
            quick: self.quick,
            duration: quantity::print_span(self.duration),
            claims: judge::claims(&experiments),
            experiments,
        };
        Ok(Outcome { reproduction, figures })
    }
}
