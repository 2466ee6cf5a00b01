//! Figure 2: deadlines missed and windows violated, by the number of streams.

use std::ops::RangeInclusive;

use laxity_report::Figure;
use laxity_report::plot::Unit;

use super::runs::{GAP, Runs, Scale};
use super::simulation::{Counts, RunResult, Setting};
use super::variants::{BASELINES, DEFAULT, FIFOS, PACED, PAPER, TOLERANCE_FIRST, Variant};
use super::workload::{CLASSES, class_name, window};
use crate::Measured;
use crate::draw::{Line, Panel, figure};

/// The paper's range. 496 and 504 stand on both sides of the server's rate.
const COUNTS: [usize; 20] = [
    80, 120, 160, 200, 240, 280, 320, 360, 400, 440, 480, 496, 504, 520, 560, 600, 640, 680, 720,
    760,
];

/// Counts at which the other policies run too.
const SPARSE: [usize; 8] = [80, 240, 400, 480, 504, 520, 560, 760];

/// Counts of which all numbers are printed.
const PRINTED: [usize; 4] = [240, 480, 504, 560];

/// Units of time in which the paper counts misses.
const PER: u64 = GAP;

/// Runs for either part.
pub fn settings(scale: &Scale) -> Vec<Setting> {
    let mut all = scale.grid(&[PAPER, DEFAULT], &COUNTS);
    all.extend(scale.grid(&FIFOS, &COUNTS));
    all.extend(scale.grid(&[TOLERANCE_FIRST], &SPARSE));
    all.extend(scale.grid(&BASELINES, &SPARSE));
    all.extend(scale.grid(&PACED, &SPARSE));
    all
}

fn variants() -> impl Iterator<Item = Variant> {
    [PAPER, DEFAULT, TOLERANCE_FIRST].into_iter().chain(FIFOS).chain(BASELINES).chain(PACED)
}

/// The count of one of the two parts.
#[derive(Clone, Copy)]
struct Part {
    name: &'static str,
    unit: &'static str,
    of: fn(&Counts) -> u64,
}

const MISSED: Part = Part { name: "missed", unit: "deadlines", of: |c| c.measures.missed };
const VIOLATED: Part = Part { name: "violated", unit: "windows", of: |c| c.violated };

impl Part {
    fn total(self, result: &RunResult) -> f64 {
        (self.of)(&result.total()) as f64
    }

    fn by_class(self, result: &RunResult) -> [f64; CLASSES] {
        result.classes.map(|c| (self.of)(&c) as f64)
    }

    /// All variants at some counts of streams, then the classes of two of them.
    fn rows(self, runs: &Runs) -> Vec<Measured> {
        let mut rows = Vec::new();
        for variant in variants() {
            for n in PRINTED {
                let label = format!("{}/{n}-streams/{}", variant.name, self.name);
                let values = runs.each(variant, n, |p| self.total(p));
                rows.push(Measured::new(label, self.unit, values));
            }
        }
        for variant in [PAPER, DEFAULT] {
            for n in [480, 560] {
                for class in 0..CLASSES {
                    let (policy, class_name) = (variant.name, class_name(class));
                    let label = format!("{policy}/{class_name}/{}-at-{n}", self.name);
                    let values = runs.each(variant, n, |p| self.by_class(p)[class]);
                    rows.push(Measured::new(label, self.unit, values));
                }
            }
        }
        rows
    }

    /// Deviation of the classes from shares in proportion to their tolerances.
    fn proportions(self, runs: &Runs) -> Vec<Measured> {
        let tolerated: [f64; CLASSES] = std::array::from_fn(|c| 1.0 / window(c) as f64);
        let off = |n: usize| {
            let values = runs.each(PAPER, n, |p| off_proportion(&self.by_class(p), &tolerated));
            Measured::new(format!("paper/{n}-streams/off-proportion"), "%", values)
        };
        let ratio = |n: usize| {
            let first_to_last = |p: &RunResult| {
                let by_class = self.by_class(p);
                by_class[0] / by_class[CLASSES - 1].max(1.0)
            };
            let label = format!("paper/{n}-streams/1-80-to-1-150");
            Measured::new(label, "times", runs.each(PAPER, n, first_to_last))
        };
        let counts = [480, 520, 560, 760];
        let mut rows = counts.map(off).to_vec();
        rows.extend(counts.map(ratio));
        let ordered = |n: &&usize| {
            runs.first(PAPER, **n).is_some_and(|p| self.by_class(p).is_sorted_by(|a, b| a >= b))
        };
        let share = COUNTS.iter().filter(ordered).count() as f64 / COUNTS.len() as f64;
        rows.push(Measured::new("paper/classes/ordered", "% of counts", vec![share * 100.0]));
        rows
    }

    /// Where `PAPER` and FIFO change places under each model of bursts, within a range of counts:
    /// the count of streams at which FIFO begins to have more, or to have fewer.
    fn crossings(
        self,
        runs: &Runs,
        range: RangeInclusive<usize>,
        fifo_rises: bool,
    ) -> Vec<Measured> {
        let counts = || COUNTS.into_iter().filter(|n| range.contains(n));
        let crossing = |fifo: Variant, place: usize| {
            let lead = |n: usize| {
                let dwcs = runs.first(PAPER, n).map(|p| self.total(p))?;
                let baseline = *runs.each(fifo, n, |p| self.total(p)).get(place)?;
                let lead = if fifo_rises { baseline - dwcs } else { dwcs - baseline };
                Some((n as f64, lead))
            };
            crossing(&counts().filter_map(lead).collect::<Vec<_>>())
        };
        let row = |fifo: Variant| {
            let seeds = runs.scale().settings(fifo, *range.start()).len();
            let values = (0..seeds).map(|place| crossing(fifo, place)).collect();
            Measured::new(format!("{}/all/crossing", fifo.name), "streams", values)
        };
        FIFOS.into_iter().map(row).collect()
    }

    /// By class, then all together.
    fn figures(self, runs: &Runs, name: &str, title: &str) -> Vec<Figure> {
        let label = format!("{} {}", self.unit, self.name);
        let by_class = |variant: Variant| {
            let line = |class: usize| {
                let point = |n| Some((n as f64, self.by_class(runs.first(variant, n)?)[class]));
                let points = COUNTS.into_iter().filter_map(point).collect();
                Line::new(format!("1/{}", window(class)), points, class)
            };
            (0..CLASSES).map(line).collect()
        };
        let all = |(place, variant): (usize, Variant)| {
            let point = |n| {
                let values = runs.each(variant, n, |p| self.total(p));
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                (!values.is_empty()).then_some((n as f64, mean))
            };
            Line::new(variant.title, COUNTS.into_iter().filter_map(point).collect(), place)
        };
        let panel = |title, desc, lines| Panel {
            title,
            desc,
            x: "streams",
            y: &label,
            unit: Unit::Plain,
            log_from: Some(10.0),
            lines,
        };
        let classes = "One line for each class: few below 500 streams, then a steep rise.";
        let policies = "One line for each policy. They come together above 500 streams.";
        let panels = [
            panel(PAPER.title, classes, by_class(PAPER)),
            panel(DEFAULT.title, classes, by_class(DEFAULT)),
        ];
        let bursts = [PAPER, DEFAULT].into_iter().chain(FIFOS).enumerate().map(all).collect();
        let paced = [PAPER, DEFAULT].into_iter().chain(PACED).enumerate().map(all).collect();
        let totals = [
            panel("Beside FIFO", policies, bursts),
            panel("Beside others, paced and dropping as the default does", policies, paced),
        ];
        let caption = format!(
            "{title}, over {} units of time; each stream has a packet due every {GAP} units and a \
             packet takes one. Lines lie on the lower edge where there are fewer than ten. The \
             setting is that of West, Schwan and Poellabauer, RTAS 1999, Figure 2.",
            laxity_report::number::count(runs.scale().packets()),
        );
        vec![
            figure(&format!("{name}-classes"), &format!("{title} by class"), &caption, &panels),
            figure(name, &format!("{title} by all classes"), &caption, &totals),
        ]
    }
}

/// Figure 2(a).
pub fn missed(runs: &Runs) -> Vec<Measured> {
    let most = |n: usize| {
        let most = |p: &RunResult| MISSED.by_class(p).into_iter().fold(0.0, f64::max);
        runs.each(PAPER, n, most).into_iter().fold(0.0, f64::max)
    };
    let below =
        COUNTS.into_iter().filter(|n| *n < 500 && n % 40 == 0).map(most).fold(0.0, f64::max);
    let mut rows = vec![
        Measured::new("paper/classes/most-missed-to-480", MISSED.unit, vec![below]),
        Measured::new("paper/classes/most-missed-at-496", MISSED.unit, vec![most(496)]),
    ];
    for n in [480, 520, 560, 760] {
        for variant in [PAPER, DEFAULT, FIFOS[0]] {
            let label = format!("{}/{n}-streams/missed-per-{PER}", variant.name);
            let values = runs.each(variant, n, |p| p.missed_per(PER));
            rows.push(Measured::new(label, MISSED.unit, values));
        }
    }
    rows.extend(MISSED.proportions(runs));
    // Above, every policy that keeps the server busy misses as many.
    rows.extend(MISSED.crossings(runs, 80..=496, true));
    rows.push(none_up_to(runs, DEFAULT, MISSED, 496));
    rows.extend(MISSED.rows(runs));
    rows
}

/// Figure 2(b).
pub fn violated(runs: &Runs) -> Vec<Measured> {
    let mut rows = Vec::new();
    for n in [480, 496, 504, 520, 560] {
        let share = |p: &RunResult| {
            let total = p.total();
            total.violated as f64 / total.windows.max(1) as f64 * 100.0
        };
        let label = format!("paper/{n}-streams/violated-share");
        rows.push(Measured::new(label, "%", runs.each(PAPER, n, share)));
    }
    rows.extend(VIOLATED.proportions(runs));
    // Below, neither has any to speak of; above, all windows are violated.
    rows.extend(VIOLATED.crossings(runs, 400..=560, false));
    rows.push(none_up_to(runs, DEFAULT, VIOLATED, 504));
    rows.extend(VIOLATED.rows(runs));
    for variant in [PAPER, DEFAULT, TOLERANCE_FIRST] {
        for n in PRINTED {
            let values = runs.each(variant, n, |p| p.total().measures.rule_c as f64);
            let label = format!("{}/{n}-streams/rule-c", variant.name);
            rows.push(Measured::new(label, "misses", values));
        }
    }
    rows
}

/// The most of a variant at any count up to `last`.
fn none_up_to(runs: &Runs, variant: Variant, part: Part, last: usize) -> Measured {
    let counts = COUNTS.into_iter().filter(|n| *n <= last);
    let each = counts.flat_map(|n| runs.each(variant, n, |p| part.total(p)));
    let label = format!("{}/all/most-{}-to-{last}", variant.name, part.name);
    Measured::new(label, part.unit, vec![each.fold(0.0, f64::max)])
}

/// The drawings of Figure 2(a).
pub fn missed_figures(runs: &Runs) -> Vec<Figure> {
    MISSED.figures(runs, "dwcs-fig2a", "Deadlines missed")
}

/// The drawings of Figure 2(b).
pub fn violated_figures(runs: &Runs) -> Vec<Figure> {
    VIOLATED.figures(runs, "dwcs-fig2b", "Windows violated")
}

/// Deviation of the shares of `values` from those of `weights`: the largest difference, in percent
/// of the expected share.
pub fn off_proportion(values: &[f64], weights: &[f64]) -> f64 {
    let (sum, weight) = (values.iter().sum::<f64>(), weights.iter().sum::<f64>());
    if sum == 0.0 {
        return 0.0;
    }
    let off = values.iter().zip(weights).map(|(v, w)| (v / sum * weight / w - 1.0).abs());
    off.fold(0.0, f64::max) * 100.0
}

/// Where a line through (x, lead) first rises above zero for good: the x between the last point at
/// or below zero and the next. The first x when none is, the last when the last is.
fn crossing(lead: &[(f64, f64)]) -> f64 {
    let last_below = lead.iter().rposition(|(_, lead)| *lead <= 0.0);
    match last_below {
        None => lead.first().map_or(0.0, |p| p.0),
        Some(i) => match (lead[i], lead.get(i + 1)) {
            ((x, _), None) => x,
            ((x, below), Some((next, above))) => x + (next - x) * -below / (above - below),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a crossing is sought from the left; tried.
    #[test]
    fn crossings_and_deviations_of_small_series() {
        assert_eq!(off_proportion(&[2.0, 1.0], &[20.0, 10.0]), 0.0);
        assert_eq!(off_proportion(&[3.0, 1.0], &[1.0, 1.0]), 50.0);
        assert_eq!(off_proportion(&[0.0, 0.0], &[1.0, 1.0]), 0.0);
        let lead = [(80.0, 5.0), (120.0, -1.0), (160.0, -3.0), (200.0, 1.0), (240.0, 9.0)];
        assert_eq!(crossing(&lead), 190.0);
        assert_eq!(crossing(&lead[3..]), 200.0);
        assert_eq!(crossing(&lead[..3]), 160.0);
    }
}
