//! Repetition until a confidence interval is reached, as in the papers.

use laxity_core::{Span, Time};
use laxity_sim::Control;
use laxity_sim::cpu::{Machine, Measure, Task, run};

use super::Contender;
use super::numbers::Numbers;
use super::settled::Settled;
use crate::{ExperimentError, Measured};

/// The required confidence of a mean: its 95 % confidence interval reaches no further than the
/// greater of the two to either side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// As a fraction of the mean.
    pub relative: f64,
    /// In the unit of the numbers.
    pub absolute: f64,
}

impl Rule {
    /// BEBS, section 6: 95 % confidence of a tenth to either side. Values below a microsecond, in
    /// ms, count as zero.
    pub const TENTH: Rule = Rule { relative: 0.1, absolute: 0.001 };
    /// BeRate, section 5: percentages known to the nearest tenth.
    pub const NEAREST_TENTH: Rule = Rule { relative: 0.0, absolute: 0.05 };

    fn allows(&self, mean: f64, half_width: f64) -> bool {
        half_width <= (self.relative * mean.abs()).max(self.absolute)
    }
}

/// Least number of runs that gives their scatter.
const LEAST_RUNS: u64 = 8;

/// The first part of a run, one of so many, is not counted: adaptive servers need some 25 periods to
/// learn, and the papers' numbers are those of the long run.
const WARM_UP: u64 = 5;

/// One system under one policy, run under one seed after the other.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Names it among all trials.
    pub key: String,
    /// The policy.
    pub policy: Contender,
    /// The system.
    pub tasks: Vec<Task>,
    /// Simulated length of a run.
    pub length: Span,
    /// At most so many runs.
    pub most: u64,
    /// The numbers of each run.
    pub numbers: Numbers,
    /// Number of values, from the first on, that must be known.
    pub judged: usize,
    /// The required confidence.
    pub rule: Rule,
}

/// Results of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    /// The numbers of each run, by seed from 1 on.
    pub runs: Vec<Vec<f64>>,
    judged: usize,
    rule: Rule,
}

impl Trial {
    /// Simulated nanoseconds if no run is spared.
    pub fn work(&self) -> u128 {
        u128::from(self.length.0) * u128::from(self.most)
    }

    /// Runs until enough is known; `None` when stopped before.
    ///
    /// # Errors
    /// When a run cannot go on.
    pub fn repeat(&self, control: &Control) -> Result<Option<Repeated>, ExperimentError> {
        let mut all = Repeated { runs: Vec::new(), judged: self.judged, rule: self.rule };
        for seed in 1..=self.most {
            let Some(numbers) = self.once(seed, control)? else { return Ok(None) };
            all.runs.push(numbers);
            control.advance(self.length);
            if seed >= LEAST_RUNS && all.is_known() {
                control.advance(Span(self.length.0 * (self.most - seed)));
                break;
            }
        }
        Ok(Some(all))
    }

    fn once(&self, seed: u64, control: &Control) -> Result<Option<Vec<f64>>, ExperimentError> {
        let end = Time::ZERO + self.length;
        let from = Time(end.0 / WARM_UP);
        let mut settled = Settled { from, measure: Measure::new(self.tasks.len()) };
        let machine = Machine::single(end, seed);
        let mut policy = (self.policy.build)();
        let ending = run(&mut policy, &self.tasks, machine, &mut settled, control)?;
        if !ending.complete || control.stopped() {
            return Ok(None);
        }
        let mut measure = settled.measure;
        measure.finish(end);
        Ok(Some((self.numbers)(&measure, &self.tasks, end)))
    }
}

impl Repeated {
    /// One of the numbers, by seed.
    pub fn each(&self, number: usize) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.get(number).copied()).collect()
    }

    /// Mean over the runs.
    pub fn mean(&self, number: usize) -> f64 {
        self.moments(number).0
    }

    fn moments(&self, number: usize) -> (f64, f64) {
        let (mut sum, mut squares, n) = (0.0, 0.0, self.runs.len() as f64);
        for run in &self.runs {
            sum += run[number];
        }
        let mean = sum / n;
        for run in &self.runs {
            squares += (run[number] - mean) * (run[number] - mean);
        }
        (mean, squares)
    }

    /// Half the width of the 95 % confidence interval of a mean, by Student's distribution.
    pub fn half_width(&self, number: usize) -> f64 {
        let freedom = self.runs.len().saturating_sub(1) as f64;
        if freedom < 1.0 {
            return f64::INFINITY;
        }
        let (_, squares) = self.moments(number);
        student(freedom) * (squares / freedom / self.runs.len() as f64).sqrt()
    }

    /// Whether all that must be known is.
    pub fn is_known(&self) -> bool {
        (0..self.judged).all(|i| self.rule.allows(self.mean(i), self.half_width(i)))
    }

    /// A row of one number, saying how well it is known.
    pub fn row(&self, label: impl Into<String>, unit: &'static str, number: usize) -> Measured {
        let row = Measured::new(label, unit, self.each(number)).noted(self.note(number));
        row.known_within(self.half_width(number))
    }

    /// The confidence interval of a number.
    fn note(&self, number: usize) -> String {
        let (n, mean, half) = (self.runs.len(), self.mean(number), self.half_width(number));
        if number >= self.judged || !half.is_finite() {
            return String::new();
        }
        let mut note = format!("95 %: \u{b1}{} over {n} runs", rough(half));
        if !self.rule.allows(mean, half) {
            let required = (self.rule.relative * mean.abs()).max(self.rule.absolute);
            note += &format!(", the most; the paper's rule requires \u{b1}{}", rough(required));
        }
        note + "."
    }
}

/// Two significant digits.
fn rough(v: f64) -> String {
    if v == 0.0 {
        return "0".into();
    }
    let digits = (1.0 - v.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{v:.digits$}")
}

/// The 97.5 % point of Student's distribution: the expansion of Cornish and Fisher about that of
/// the normal, within 0.5 % from 4 degrees of freedom on.
fn student(freedom: f64) -> f64 {
    let z = 1.959_964;
    let z3 = z * z * z;
    let (z5, z7) = (z3 * z * z, z3 * z3 * z);
    let first = (z3 + z) / 4.0;
    let second = (5.0 * z5 + 16.0 * z3 + 3.0 * z) / 96.0;
    let third = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / 384.0;
    z + first / freedom + second / (freedom * freedom) + third / (freedom * freedom * freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(runs: &[f64], rule: Rule) -> Repeated {
        Repeated { runs: runs.iter().map(|v| vec![*v]).collect(), judged: 1, rule }
    }

    // Fails when the normal distribution stands in for Student's; tried.
    #[test]
    fn confidence_intervals_use_student_t() {
        for (freedom, table) in [(4.0, 2.7764), (9.0, 2.2622), (30.0, 2.0423), (120.0, 1.9799)] {
            assert!((student(freedom) / table - 1.0).abs() < 0.005, "{freedom}");
        }
        // Mean 3, deviation 1.5811, of five.
        let r = repeated(&[1.0, 2.0, 3.0, 4.0, 5.0], Rule::TENTH);
        assert_eq!(r.mean(0), 3.0);
        assert!((r.half_width(0) - 1.9632).abs() < 0.01, "{}", r.half_width(0));
    }

    // Fails when the interval's whole width is compared, or the relative rule is of the first run.
    #[test]
    fn rules_match_the_papers() {
        assert!(Rule::TENTH.allows(10.0, 1.0) && !Rule::TENTH.allows(10.0, 1.001));
        assert!(Rule::NEAREST_TENTH.allows(10.0, 0.05));
        assert!(!Rule::NEAREST_TENTH.allows(10.0, 0.051));
        assert!(repeated(&[0.0; 8], Rule::TENTH).is_known());
        assert!(!repeated(&[0.0, 9.0], Rule::TENTH).is_known());
    }
}
