//! Figure 4: packets served in a second, by class, as time goes on.

use laxity_report::Figure;
use laxity_report::plot::Unit;

use super::fig2::off_proportion;
use super::runs::{Runs, Scale};
use super::simulation::{INTERVAL, RunResult, Setting};
use super::variants::{DEFAULT, PAPER, ROLLING, Variant};
use super::workload::{CLASSES, class_name, window};
use crate::Measured;
use crate::draw::{Line, Panel, figure};

/// Streams of the two parts.
const UNDER: usize = 480;
const OVER: usize = 560;

/// Decisions in a second of the paper's machine: 480 streams, 25 packets each. A scale and no more.
const PER_SECOND: f64 = 12_000.0;

const UNIT: &str = "packets/s";

/// Runs of Figure 4(a).
pub fn under_settings(scale: &Scale) -> Vec<Setting> {
    scale.grid(&[PAPER, DEFAULT, ROLLING], &[UNDER])
}

/// Runs of Figure 4(b).
pub fn over_settings(scale: &Scale) -> Vec<Setting> {
    scale.grid(&[PAPER, DEFAULT], &[OVER])
}

/// Packets per second of a stream of each class, in one interval.
fn rates(result: &RunResult, interval: &[u32; CLASSES]) -> [f64; CLASSES] {
    let streams = (result.setting.streams / CLASSES) as f64;
    interval.map(|served| f64::from(served) / streams * PER_SECOND / INTERVAL as f64)
}

/// Of each stream, in the last interval.
fn last_rates(result: &RunResult) -> Vec<f64> {
    let rate = |served: &u64| *served as f64 * PER_SECOND / INTERVAL as f64;
    result.at_last.iter().map(rate).collect()
}

fn least(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(f64::MAX, f64::min)
}

fn most(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(0.0, f64::max)
}

fn first_rates(runs: &Runs, variant: Variant, streams: usize) -> Vec<Measured> {
    let row = |class: usize| {
        let first = |p: &RunResult| p.rates.first().map_or(0.0, |i| rates(p, i)[class]);
        let label = format!("{}/{}/first-rate", variant.name, class_name(class));
        Measured::new(label, UNIT, runs.each(variant, streams, first))
    };
    (0..CLASSES).map(row).collect()
}

/// Figure 4(a).
pub fn under(runs: &Runs) -> Vec<Measured> {
    let mut rows = Vec::new();
    for variant in [PAPER, DEFAULT, ROLLING] {
        let each = |of: fn(&[f64]) -> f64| runs.each(variant, UNDER, |p| of(&last_rates(p)));
        let label = |what| format!("{}/streams/{what}", variant.name);
        rows.push(Measured::new(label("least-last-rate"), UNIT, each(least)));
        rows.push(Measured::new(label("most-last-rate"), UNIT, each(most)));
    }
    let windows: [f64; CLASSES] = std::array::from_fn(|c| window(c) as f64);
    let off = |p: &RunResult| {
        p.rates.first().map_or(0.0, |first| off_proportion(&rates(p, first), &windows))
    };
    rows.push(Measured::new(
        "paper/classes/first-off-proportion",
        "%",
        runs.each(PAPER, UNDER, off),
    ));
    rows.extend(first_rates(runs, PAPER, UNDER));
    rows
}

/// Figure 4(b).
pub fn over(runs: &Runs) -> Vec<Measured> {
    let mut rows = Vec::new();
    let windows: [f64; CLASSES] = std::array::from_fn(|c| window(c) as f64);
    let served = |p: &RunResult| p.classes.map(|c| c.measures.served as f64);
    for variant in [PAPER, DEFAULT] {
        let name = variant.name;
        let spread = |p: &RunResult| {
            let last = last_rates(p);
            most(&last) - least(&last)
        };
        let values = runs.each(variant, OVER, spread);
        rows.push(Measured::new(format!("{name}/streams/last-rate-spread"), UNIT, values));
        let off = |p: &RunResult| off_proportion(&served(p), &windows);
        let values = runs.each(variant, OVER, off);
        rows.push(Measured::new(format!("{name}/classes/off-proportion"), "%", values));
        for class in 0..CLASSES {
            let each = |p: &RunResult| served(p)[class] / (OVER / CLASSES) as f64;
            let label = format!("{name}/{}/served-per-stream", class_name(class));
            rows.push(Measured::new(label, "packets", runs.each(variant, OVER, each)));
        }
    }
    rows
}

/// The drawing of Figure 4(a).
pub fn under_figure(runs: &Runs) -> Figure {
    rate_figure(runs, "dwcs-fig4a", UNDER, &[PAPER, ROLLING])
}

/// The drawing of Figure 4(b).
pub fn over_figure(runs: &Runs) -> Figure {
    rate_figure(runs, "dwcs-fig4b", OVER, &[PAPER, DEFAULT])
}

/// Intervals that are drawn: later ones show nothing new.
const DRAWN: usize = 50;

fn rate_figure(runs: &Runs, name: &str, streams: usize, shown: &[Variant]) -> Figure {
    let lines = |variant: Variant| {
        let line = |class: usize| {
            let points = runs.first(variant, streams).into_iter().flat_map(|p| {
                let intervals = p.rates.iter().take(DRAWN).enumerate();
                intervals.map(move |(i, at)| ((i as u64 * INTERVAL) as f64, rates(p, at)[class]))
            });
            let line = Line::new(format!("1/{}", window(class)), points.collect(), class);
            Line { ink: line.ink.marked(None), ..line }
        };
        (0..CLASSES).map(line).collect()
    };
    let panel = |variant: &Variant| Panel {
        title: variant.title,
        desc: "Packets per second and stream, one line for each class.",
        x: "packets served by all",
        y: "packets per second and stream",
        unit: Unit::Plain,
        log_from: None,
        lines: lines(*variant),
    };
    let panels: Vec<Panel> = shown.iter().map(panel).collect();
    let title = format!("Service rate, {streams} streams");
    let caption = format!(
        "Packets per second of a stream of each class at {PER_SECOND} decisions a second, in \
         intervals of {INTERVAL} decisions. After West, Schwan and Poellabauer, RTAS 1999, Figure 4."
    );
    figure(name, &title, &caption, &panels)
}
