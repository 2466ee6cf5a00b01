//! The compared policies: DWCS as printed, DWCS by default, and others.

use std::num::NonZeroU32;

use laxity_dwcs::{Check, Late, Options, RuleA};

use super::workload::Bursts;

/// A policy under one setting, with its name in labels.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// In labels.
    pub name: &'static str,
    /// In figures.
    pub title: &'static str,
    /// The scheduler that runs.
    pub kind: Kind,
    /// The treatment of late packets.
    pub late: Late,
}

/// Names differ.
impl PartialEq for Variant {
    fn eq(&self, other: &Variant) -> bool {
        self.name == other.name
    }
}

/// The scheduler that runs.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// DWCS.
    Dwcs(fn() -> Options),
    /// The policy of this name.
    Baseline(&'static str, fn() -> Options),
    /// Order of arrival.
    Fifo(Bursts),
}

/// As printed: streams are always backlogged and served however early, late packets are sent.
fn printed() -> Options {
    Options::paper()
}

fn rolling() -> Options {
    Options { rule_a: RuleA::Rolling, ..Options::paper() }
}

fn settled() -> Options {
    Options { settle: true, ..Options::paper() }
}

/// Late packets dropped, no packet sent more than one gap before its deadline.
fn paced() -> Options {
    Options::default()
}

const fn variant(name: &'static str, title: &'static str, kind: Kind, late: Late) -> Variant {
    Variant { name, title, kind, late }
}

const fn dwcs(name: &'static str, title: &'static str, of: fn() -> Options, late: Late) -> Variant {
    variant(name, title, Kind::Dwcs(of), late)
}

const fn fifo(name: &'static str, title: &'static str, bursts: Bursts) -> Variant {
    variant(name, title, Kind::Fifo(bursts), Late::Send)
}

/// DWCS as the paper prints it.
pub const PAPER: Variant = dwcs("paper", "DWCS as printed", printed, Late::Send);
/// The default of `laxity-dwcs`.
pub const DEFAULT: Variant = dwcs("default", "DWCS by default", paced, Late::Drop);
/// Tolerances first, all else as by default.
pub const TOLERANCE_FIRST: Variant =
    dwcs("tolerance-first", "tolerance first", Options::tolerance_first, Late::Drop);
/// As printed but for rule (A), which is that of 2000/2004.
pub const ROLLING: Variant = dwcs("paper-rolling", "rolling (A)", rolling, Late::Send);
/// As printed, the misses of the chosen stream counted before it is served.
pub const SETTLED: Variant = dwcs("paper-settle", "settled", settled, Late::Send);

/// FIFO under the burst models, the one that the paper describes first.
pub const FIFOS: [Variant; 5] = [
    fifo("fifo-20pm10", "FIFO, 20 \u{b1} 10", Bursts::Shuffled { mean: 20, spread: 10 }),
    fifo("fifo", "FIFO, single packets", Bursts::Fixed { size: 1 }),
    fifo("fifo-20", "FIFO, always 20", Bursts::Fixed { size: 20 }),
    fifo("fifo-20pm19", "FIFO, 20 \u{b1} 19", Bursts::Shuffled { mean: 20, spread: 19 }),
    fifo("fifo-poisson", "FIFO, Poisson bursts", Bursts::Poisson { size: 20 }),
];

/// Other policies in the setting of the paper.
pub const BASELINES: [Variant; 4] = [
    variant("edf", "EDF", Kind::Baseline("edf", printed), Late::Send),
    variant("static-priority", "priority", Kind::Baseline("static-priority", printed), Late::Send),
    variant("wfq", "WFQ", Kind::Baseline("wfq", printed), Late::Send),
    variant("dbp", "DBP", Kind::Baseline("dbp", printed), Late::Send),
];

/// The same as the default runs: paced, late packets dropped.
pub const PACED: [Variant; 4] = [
    variant("edf-paced", "EDF", Kind::Baseline("edf", paced), Late::Drop),
    variant(
        "static-priority-paced",
        "priority",
        Kind::Baseline("static-priority", paced),
        Late::Drop,
    ),
    variant("wfq-paced", "WFQ", Kind::Baseline("wfq", paced), Late::Drop),
    variant("dbp-paced", "DBP", Kind::Baseline("dbp", paced), Late::Drop),
];

/// Checks deadlines after every `every` services.
pub fn check(options: Options, every: u32) -> Options {
    Options { check: NonZeroU32::new(every).map_or(Check::ALWAYS, Check::Every), ..options }
}
