//! Descriptions of the options that several server policies share, for help texts.

use laxity_core::{OptionInfo, OptionKind};

/// `sample`
pub(crate) const SAMPLE: OptionInfo = OptionInfo {
    name: "sample",
    kind: OptionKind::Choice(&["state", "switch", "job"]),
    default: "state",
    summary: "Definition of one execution: until blocked or expired, until a context switch, or \
              from wake-up to sleep.",
};
/// `sample` where its default is `job`
pub(crate) const SAMPLE_JOB: OptionInfo = OptionInfo { default: "job", ..SAMPLE };
/// `first`
pub(crate) const FIRST: OptionInfo = OptionInfo {
    name: "first",
    kind: OptionKind::Time,
    default: "10 ms",
    summary: "Average execution before the first sample.",
};
/// `margin`
pub(crate) const MARGIN: OptionInfo = OptionInfo {
    name: "margin",
    kind: OptionKind::Integer,
    default: "500",
    summary: "Budget beyond the average execution, in thousandths of the average (C).",
};
/// `least`
pub(crate) const LEAST: OptionInfo = OptionInfo {
    name: "least",
    kind: OptionKind::Time,
    default: "0.01 ms",
    summary: "The least budget.",
};
/// `most`
pub(crate) const MOST: OptionInfo = OptionInfo {
    name: "most",
    kind: OptionKind::Time,
    default: "200 ms",
    summary: "The greatest budget (e_max).",
};
/// `period`
pub(crate) const BASIS: OptionInfo = OptionInfo {
    name: "period",
    kind: OptionKind::Choice(&["budget", "average"]),
    default: "budget",
    summary: "Basis of the period; `average` follows the paper's text and is unsafe.",
};
/// `hysteresis`
pub(crate) const LAZY: OptionInfo = OptionInfo {
    name: "lazy",
    kind: OptionKind::Integer,
    default: "0",
    summary: "Budgets stay while the average is within so many thousandths of what they rest on.",
};
/// `load`
pub(crate) const LOAD: OptionInfo = OptionInfo {
    name: "load",
    kind: OptionKind::Choice(&["live", "unblocked"]),
    default: "live",
    summary: "Best-effort tasks that count in the load.",
};
/// `transition`
pub(crate) const TRANSITION: OptionInfo = OptionInfo {
    name: "transition",
    kind: OptionKind::Choice(&["zero-lag", "stretch", "wait", "stretch-and-wait", "neither"]),
    default: "zero-lag",
    summary: "How bandwidth is reassigned; `stretch` and `neither` can make hard jobs late.",
};
/// `best_effort_bw_min`
pub(crate) const LEAST_BEST_EFFORT: OptionInfo = OptionInfo {
    name: "least-best-effort",
    kind: OptionKind::Integer,
    default: "50",
    summary: "The share that hard reservations must leave, in thousandths (U_BE,min).",
};
/// `equal period`
pub(crate) const EQUAL: OptionInfo = OptionInfo {
    name: "period",
    kind: OptionKind::Time,
    default: "40 ms",
    summary: "Period of undeclared servers.",
};
