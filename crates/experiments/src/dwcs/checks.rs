//! Figures 7 and 8: checking deadlines less often.

use laxity_report::Figure;
use laxity_report::plot::Unit;

use super::runs::{GAP, Runs, Scale};
use super::simulation::{RunResult, Setting};
use super::variants::{DEFAULT, PAPER, SETTLED, Variant};
use crate::Measured;
use crate::draw::{Line, Panel, figure};

/// Streams, from light load to overload.
const COUNTS: [usize; 4] = [80, 240, 480, 760];

/// The count of streams at which variants are compared.
const MOST: usize = 760;

/// Units of time between deadlines in the two parts of each figure.
pub const GAPS: [u64; 2] = [200, GAP];

/// Services between two checks.
pub const PERIODS: [u32; 5] = [1, 4, 12, 25, 50];

/// Periods at which other variants run, and of which numbers are printed.
const SHOWN: [u32; 3] = [1, 12, 50];

fn at(scale: &Scale, variant: Variant, streams: usize, gap: u64, every: u32) -> Vec<Setting> {
    let settings = scale.settings(variant, streams);
    settings.into_iter().map(|s| Setting { gap, every, ..s }).collect()
}

/// The runs.
pub fn settings(scale: &Scale) -> Vec<Setting> {
    let mut all = Vec::new();
    for gap in GAPS {
        for every in PERIODS {
            for n in COUNTS {
                all.extend(at(scale, PAPER, n, gap, every));
            }
        }
        for every in SHOWN {
            for variant in [SETTLED, DEFAULT] {
                all.extend(at(scale, variant, MOST, gap, every));
            }
        }
    }
    all
}

fn one(runs: &Runs, variant: Variant, n: usize, gap: u64, every: u32) -> Option<&RunResult> {
    runs.find(at(runs.scale(), variant, n, gap, every).first()?)
}

/// The count of one of the two figures.
#[derive(Clone, Copy)]
struct Count {
    name: &'static str,
    unit: &'static str,
    of: fn(&RunResult) -> u64,
}

/// Whether the scheduler noticed or not.
const MISSED: Count = Count {
    name: "missed",
    unit: "deadlines",
    of: |p| p.total().measures.missed + p.total().measures.hidden,
};
const VIOLATED: Count = Count { name: "violated", unit: "windows", of: |p| p.total().violated };
const RULE_C: Count = Count { name: "rule-c", unit: "misses", of: |p| p.total().measures.rule_c };
const HIDDEN: Count = Count { name: "hidden", unit: "packets", of: |p| p.total().measures.hidden };

impl Count {
    fn rows(self, runs: &Runs) -> Vec<Measured> {
        let mut rows = Vec::new();
        let cases = [(PAPER, 480), (PAPER, MOST), (SETTLED, MOST), (DEFAULT, MOST)];
        for (variant, n) in cases {
            for gap in GAPS {
                for every in SHOWN {
                    let label =
                        format!("{}/{n}-streams-{gap}/{}-p{every}", variant.name, self.name);
                    let value = one(runs, variant, n, gap, every).map(|p| (self.of)(p) as f64);
                    rows.push(Measured::new(label, self.unit, value.into_iter().collect()));
                }
            }
        }
        rows
    }

    /// Growth in percent when deadlines are checked once in `every` services.
    fn growth(self, runs: &Runs) -> Vec<Measured> {
        let mut rows = Vec::new();
        let cases = [(PAPER, 480), (PAPER, MOST), (SETTLED, MOST), (DEFAULT, MOST)];
        for (variant, n) in cases {
            for gap in GAPS {
                for every in [12, 50] {
                    let number = |every| one(runs, variant, n, gap, every).map(self.of);
                    let growth = number(1).zip(number(every)).map(|(always, periodic)| {
                        (periodic as f64 / always.max(1) as f64 - 1.0) * 100.0
                    });
                    let name = variant.name;
                    let label = format!("{name}/{n}-streams-{gap}/{}-growth-p{every}", self.name);
                    rows.push(Measured::new(label, "%", growth.into_iter().collect()));
                }
            }
        }
        rows
    }

    fn figure(self, runs: &Runs, name: &str, title: &str) -> Figure {
        let panel_title = GAPS.map(|gap| format!("Deadlines {gap} units apart"));
        let label = format!("{} {}", self.unit, self.name);
        let panels = [0, 1].map(|i| {
            let gap = GAPS[i];
            let line = |place: usize, n: usize| {
                let point = |every: u32| {
                    Some((f64::from(every), (self.of)(one(runs, PAPER, n, gap, every)?) as f64))
                };
                let points = PERIODS.into_iter().filter_map(point).collect();
                Line::new(format!("{n} streams"), points, place)
            };
            Panel {
                title: &panel_title[i],
                desc: "Nearly level lines, one for each number of streams.",
                x: "services between two checks of deadlines",
                y: &label,
                unit: Unit::Plain,
                log_from: Some(10.0),
                lines: COUNTS.into_iter().enumerate().map(|(i, n)| line(i, n)).collect(),
            }
        });
        let caption = format!(
            "DWCS as printed over {} units of time. After West, Schwan and Poellabauer, RTAS 1999, \
             Figures 7 and 8.",
            laxity_report::number::count(runs.scale().packets()),
        );
        figure(name, title, &caption, &panels)
    }
}

/// Figure 7.
pub fn missed(runs: &Runs) -> Vec<Measured> {
    let mut rows = MISSED.growth(runs);
    rows.extend(MISSED.rows(runs));
    rows.extend(HIDDEN.rows(runs));
    rows
}

/// Figure 8.
pub fn violated(runs: &Runs) -> Vec<Measured> {
    let mut rows = VIOLATED.growth(runs);
    rows.extend(RULE_C.growth(runs));
    rows.extend(VIOLATED.rows(runs));
    rows.extend(RULE_C.rows(runs));
    rows
}

/// The drawing of Figure 7.
pub fn missed_figure(runs: &Runs) -> Figure {
    MISSED.figure(runs, "dwcs-fig7", "Deadlines missed when they are checked less often")
}

/// The drawing of Figure 8.
pub fn violated_figure(runs: &Runs) -> Figure {
    VIOLATED.figure(runs, "dwcs-fig8", "Windows violated when deadlines are checked less often")
}
