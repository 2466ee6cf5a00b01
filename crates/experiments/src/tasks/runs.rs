//! All trials that the wanted experiments need, each done once, on all cores.

use std::collections::BTreeMap;

use laxity_core::Span;
use laxity_report::Figure;
use laxity_sim::{Control, parallel};

use super::numbers::Numbers;
use super::{Contender, Repeated, Rule, Trial};
use crate::{ExperimentError, Finished, Job, Measured};
use laxity_sim::cpu::Task;

/// Length and largest number of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Simulated length of a run.
    pub length: Span,
    /// At most so many runs of one trial.
    pub most: u64,
}

impl Scale {
    /// Of a job.
    pub fn of(job: &Job) -> Scale {
        Scale { length: job.duration, most: job.seeds.len() as u64 }
    }

    /// A part of the runs, for experiments of very many trials.
    pub fn part(self, divisor: u64) -> Scale {
        Scale { most: self.most.div_ceil(divisor), ..self }
    }

    /// A trial at this scale, of which the first `judged` numbers must be known.
    pub fn trial(
        self,
        policy: Contender,
        system: &str,
        tasks: Vec<Task>,
        (numbers, judged, rule): (Numbers, usize, Rule),
    ) -> Trial {
        let Scale { length, most } = self;
        let key = format!("{}/{system}", policy.name);
        Trial { key, policy, tasks, length, most, numbers, judged, rule }
    }
}

/// An experiment: its trials, rows and figures.
pub struct Part {
    /// The end of its id.
    pub id: &'static str,
    /// None where a single run is exact.
    pub trials: fn(Scale) -> Vec<Trial>,
    /// Its numbers.
    pub rows: fn(&Runs) -> Result<Vec<Measured>, ExperimentError>,
    /// Its drawings.
    pub figures: fn(&Runs) -> Result<Vec<Figure>, ExperimentError>,
}

/// Trials that were finished.
#[derive(Debug)]
pub struct Runs {
    /// How long and how often.
    pub scale: Scale,
    done: BTreeMap<String, Repeated>,
}

/// The trials of all wanted parts, each once.
fn trials(parts: &[Part], job: &Job) -> Vec<Trial> {
    let mut distinct: BTreeMap<String, Trial> = BTreeMap::new();
    let wanted = parts.iter().filter(|p| job.wants(p.id));
    for trial in wanted.flat_map(|p| (p.trials)(Scale::of(job))) {
        // Experiments may want the same trial with different effort.
        match distinct.get(&trial.key) {
            Some(same) if same.most >= trial.most => {}
            _ => {
                distinct.insert(trial.key.clone(), trial);
            }
        }
    }
    let mut trials: Vec<Trial> = distinct.into_values().collect();
    // The dearest first, so that no core is left with one of them in the end.
    trials.sort_by_key(|t| std::cmp::Reverse((t.work(), t.tasks.len())));
    trials
}

/// Simulated nanoseconds of a job of these parts, if no run is spared.
pub fn work(parts: &[Part], job: &Job) -> u128 {
    trials(parts, job).iter().map(Trial::work).sum()
}

/// Measures those of these parts that a job wants.
///
/// # Errors
/// When a run cannot go on.
pub fn measure(parts: &[Part], job: &Job, control: &Control) -> Result<Finished, ExperimentError> {
    let trials = trials(parts, job);
    let done = parallel::all(&trials, control, |trial| {
        Ok::<_, ExperimentError>(trial.repeat(control)?.map(|done| (trial.key.clone(), done)))
    })?;
    let runs = Runs { scale: Scale::of(job), done: done.into_iter().flatten().collect() };
    let mut finished = Finished::default();
    for part in parts.iter().filter(|p| job.wants(p.id)) {
        if control.stopped() {
            break;
        }
        let id = format!("{}.{}", job.paper.name, part.id);
        let keys = (part.trials)(runs.scale);
        let longest = keys.iter().filter_map(|t| runs.done.get(&t.key)).map(|r| r.runs.len()).max();
        let seeds = (1..=longest.unwrap_or(0) as u64).collect();
        finished.measured.push((id.clone(), seeds, (part.rows)(&runs)?));
        let figures = (part.figures)(&runs)?;
        finished.figures.extend(figures.into_iter().map(|figure| (id.clone(), figure)));
    }
    Ok(finished)
}

impl Runs {
    /// Results of a trial.
    pub fn find(&self, policy: Contender, system: &str) -> Option<&Repeated> {
        self.done.get(&format!("{}/{system}", policy.name))
    }

    /// The mean of a number; not a number when the trial is not there.
    pub fn mean(&self, policy: Contender, system: &str, number: usize) -> f64 {
        self.find(policy, system).map_or(f64::NAN, |r| r.mean(number))
    }

    /// The same, with its confidence interval.
    pub fn known(&self, policy: Contender, system: &str, number: usize) -> Known {
        let half_width = self.find(policy, system).map_or(f64::NAN, |r| r.half_width(number));
        Known { mean: self.mean(policy, system, number), half_width }
    }

    /// A number as a row `policy/object/statistic`.
    pub fn row(
        &self,
        policy: Contender,
        system: &str,
        label: &str,
        unit: &'static str,
        number: usize,
    ) -> Option<Measured> {
        let label = format!("{}/{label}", policy.name);
        self.find(policy, system).map(|r| r.row(&label, unit, number))
    }
}

/// Smaller values count as zero in ratios: a microsecond in ms, a thousandth of anything else.
const NOTHING: f64 = 0.001;

/// A mean, and half the width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The mean.
    pub mean: f64,
    /// To either side of it.
    pub half_width: f64,
}

impl Known {
    /// The one with the greater mean.
    pub fn max(self, other: Known) -> Known {
        if other.mean > self.mean { other } else { self }
    }

    /// As nothing counts, and how much of that is uncertain.
    fn counted(self) -> (f64, f64) {
        let mean = self.mean.max(NOTHING);
        (mean, self.half_width / mean)
    }

    /// As a row.
    pub fn row(self, label: impl Into<String>, unit: &'static str) -> Measured {
        Measured::new(label, unit, vec![self.mean]).known_within(self.half_width)
    }
}

/// How many times one number is another, as a row. The uncertainties of both add up.
pub fn times(label: impl Into<String>, numerator: Known, denominator: Known) -> Measured {
    let (above, more) = numerator.counted();
    let (below, less) = denominator.counted();
    let ratio = above / below;
    Measured::new(label, "times", vec![ratio]).known_within(ratio * (more + less))
}
