//! Descriptions of the options that several server policies share, for help texts.

use laxity_core::{Choice as _, OptionInfo, OptionKind, Span};

use super::{Basis, Load, Sample, Transition};
use crate::LONGEST_PERIOD;

/// Budgets, slices and ticks; shorter ones would make policies decide excessively often.
pub(crate) const TIME: OptionKind = OptionKind::Time(Span(10_000), LONGEST_PERIOD);
/// Margins and hysteresis, in thousandths.
const THOUSANDTHS: OptionKind = OptionKind::Integer(0, 100_000);

/// `sample`
pub(crate) const SAMPLE: OptionInfo = OptionInfo {
    name: "sample",
    kind: OptionKind::Choice(Sample::NAMES),
    required: false,
    default: "state",
    example: "\"job\"",
    summary: "Definition of one execution: until blocked or expired, until a context switch, or \
              from wake-up to sleep.",
    reference: None,
};
/// `sample` where its default is `job`
pub(crate) const SAMPLE_JOB: OptionInfo = OptionInfo { default: "job", ..SAMPLE };
/// `initial-average`
pub(crate) const INITIAL_AVERAGE: OptionInfo = OptionInfo {
    name: "initial-average",
    kind: TIME,
    required: false,
    default: "10 ms",
    example: "\"10 ms\"",
    summary: "Average execution before the first sample.",
    reference: None,
};
/// `margin`
pub(crate) const MARGIN: OptionInfo = OptionInfo {
    name: "margin",
    kind: THOUSANDTHS,
    required: false,
    default: "500",
    example: "500",
    summary: "Budget beyond the average execution, in thousandths of the average (C).",
    reference: None,
};
/// `min-budget`
pub(crate) const MIN_BUDGET: OptionInfo = OptionInfo {
    name: "min-budget",
    kind: TIME,
    required: false,
    default: "0.01 ms",
    example: "\"10 us\"",
    summary: "The least budget.",
    reference: None,
};
/// `max-budget`
pub(crate) const MAX_BUDGET: OptionInfo = OptionInfo {
    name: "max-budget",
    kind: TIME,
    required: false,
    default: "200 ms",
    example: "\"100 ms\"",
    summary: "The greatest budget (e_max).",
    reference: None,
};
/// `period-basis`
pub(crate) const BASIS: OptionInfo = OptionInfo {
    name: "period-basis",
    kind: OptionKind::Choice(Basis::NAMES),
    required: false,
    default: "budget",
    example: "\"budget\"",
    summary: "Basis of the period; `average` follows the paper's text and is unsafe.",
    reference: None,
};
/// `hysteresis`
pub(crate) const HYSTERESIS: OptionInfo = OptionInfo {
    name: "hysteresis",
    kind: THOUSANDTHS,
    required: false,
    default: "0",
    example: "100",
    summary: "A budget stays while the average is within so many thousandths of the one that gave it.",
    reference: None,
};
/// `load`
pub(crate) const LOAD: OptionInfo = OptionInfo {
    name: "load",
    kind: OptionKind::Choice(Load::NAMES),
    required: false,
    default: "live",
    example: "\"live\"",
    summary: "Best-effort tasks that count in the load.",
    reference: None,
};
/// `transition`
pub(crate) const TRANSITION: OptionInfo = OptionInfo {
    name: "transition",
    kind: OptionKind::Choice(Transition::NAMES),
    required: false,
    default: "zero-lag",
    example: "\"zero-lag\"",
    summary: "How bandwidth is reassigned; `stretch` and `neither` can make hard jobs late.",
    reference: None,
};
/// `min-best-effort-bw`
pub(crate) const MIN_BEST_EFFORT_BW: OptionInfo = OptionInfo {
    name: "min-best-effort-bw",
    kind: OptionKind::Integer(0, 1000),
    required: false,
    default: "50",
    example: "50",
    summary: "The share that hard reservations must leave, in thousandths (U_BE,min).",
    reference: None,
};
/// `period`
pub(crate) const EQUAL: OptionInfo = OptionInfo {
    name: "period",
    kind: TIME,
    required: false,
    default: "40 ms",
    example: "\"40 ms\"",
    summary: "Period of undeclared servers.",
    reference: None,
};
