//! Figure 3: misses in time.

use laxity_report::plot::{Axis, Hue, Ink, Mark, Marker, Plot, Unit};
use laxity_report::{Figure, Key};

use super::runs::{Runs, Scale};
use super::simulation::{RunResult, Setting};
use super::variants::{BASELINES, DEFAULT, FIFOS, PACED, PAPER, TOLERANCE_FIRST, Variant};
use super::workload::window;
use crate::Measured;

const COUNTS: [usize; 2] = [560, 760];

/// Windows that are drawn.
const WINDOWS: u64 = 5;

/// The count of streams that is drawn.
const DRAWN: usize = 560;

fn variants() -> impl Iterator<Item = Variant> {
    [PAPER, DEFAULT, TOLERANCE_FIRST].into_iter().chain(FIFOS).chain(BASELINES).chain(PACED)
}

/// The runs.
pub fn settings(scale: &Scale) -> Vec<Setting> {
    scale.grid(&variants().collect::<Vec<_>>(), &COUNTS)
}

/// Longest runs of deadlines missed, and of packets late or dropped.
pub fn rows(runs: &Runs) -> Vec<Measured> {
    let misses = |p: &RunResult| p.total().measures.longest_run as f64;
    let packets = |p: &RunResult| p.total().late_run as f64;
    let mut rows = Vec::new();
    for n in COUNTS {
        for variant in [PAPER, DEFAULT] {
            let ratio_of = |of: &dyn Fn(&RunResult) -> f64| {
                let dwcs = runs.first(variant, n).map_or(f64::NAN, of);
                runs.each(FIFOS[0], n, of).iter().map(|fifo| dwcs / fifo).collect::<Vec<_>>()
            };
            let label = |what| format!("{}/{n}-streams/{what}-over-fifo", variant.name);
            rows.push(Measured::new(label("longest-run"), "times", ratio_of(&misses)));
            rows.push(Measured::new(label("late-run"), "times", ratio_of(&packets)));
        }
        for variant in variants() {
            let label = |what| format!("{}/{n}-streams/{what}", variant.name);
            let longest = runs.each(variant, n, misses);
            rows.push(Measured::new(label("longest-run"), "deadlines", longest));
            let late = runs.each(variant, n, packets);
            rows.push(Measured::new(label("late-run"), "packets", late));
        }
    }
    rows
}

/// Every deadline of one stream over some windows.
pub fn drawing(runs: &Runs) -> Figure {
    let shown = [PAPER, FIFOS[0], FIFOS[4], DEFAULT];
    let slots = (WINDOWS * window(0)) as usize;
    let mut axis = Axis::names(shown.iter().map(|v| v.title));
    axis.grid = false;
    let x = Axis::linear("deadlines of the stream", Unit::Plain, 0.0, slots as f64);
    let mut plot = Plot::new(format!("A stream of 1/{} among {DRAWN}", window(0)), x, axis)
        .sized(900.0, 190.0)
        .described(
            "For each policy a row of dots, one for each deadline that was missed: evenly spread \
             under the default, in runs under the others.",
        );
    for edge in 1..WINDOWS {
        let ink = Ink::new(Hue::Muted).wide(1.0);
        let x = (edge * window(0)) as f64;
        plot = plot.with(Mark::Vertical { x, label: String::new(), ink });
    }
    for (row, variant) in shown.iter().enumerate() {
        let outcomes = runs.first(*variant, DRAWN).map_or(&[][..], |p| &p.first_stream);
        // Late in the run, after the effects of the start.
        let last = outcomes.len().saturating_sub(outcomes.len() % slots + slots);
        let missed = outcomes[last..].iter().take(slots).enumerate().filter(|(_, missed)| **missed);
        let points = missed.map(|(i, _)| (i as f64 + 0.5, -(row as f64))).collect();
        let ink = Ink::new(Hue::Series(row)).wide(1.2).marked(Some(Marker::Cross));
        plot = plot.with(Mark::Dots { points, ink });
    }
    let ink = Ink::new(Hue::Ink).wide(1.2).marked(Some(Marker::Cross));
    Figure::new("dwcs-fig3", "Misses in time", 1)
        .keyed(vec![Key::line("deadline missed", ink)])
        .with(vec![plot])
        .captioned(format!(
            "{} deadlines of the first stream, {WINDOWS} windows of {}, near the end of the run. \
             After West, Schwan and Poellabauer, RTAS 1999, Figure 3, which draws fifteen of a \
             stream that tolerates 1/3.",
            slots,
            window(0),
        ))
}
