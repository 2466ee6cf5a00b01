//! Why a scenario cannot be planned for a discipline.

use std::fmt;

use laxity_core::{Rate, Span};
use laxity_curve::CurveError;
use laxity_scenario::quantity::{print_bit_rate, print_span};

use super::Target;

/// Why a scenario cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// A deadline that the tree cannot keep, however much rate the flow gets.
    Deadline {
        /// The flow.
        flow: String,
        /// Its deadline.
        deadline: Span,
        /// The time that passes in the tree at any rate.
        least: Span,
        /// The tree.
        target: Target,
    },
    /// The flows together need more than the link.
    Sum {
        /// The flow that needs most.
        flow: String,
        /// The rate of the link.
        link: Rate,
        /// The tree.
        target: Target,
    },
    /// More deadlines than the tree has classes.
    Classes {
        /// The first flow beyond.
        flow: String,
        /// Distinct deadlines.
        deadlines: usize,
        /// Classes.
        classes: usize,
    },
    /// A flow with a service curve.
    ServiceCurve {
        /// The flow.
        flow: String,
    },
    /// A selection that no filter makes.
    Match {
        /// The flow.
        flow: String,
        /// Why.
        why: &'static str,
    },
    /// A value that the kernel cannot store.
    Range {
        /// Which key.
        key: &'static str,
        /// What it may be.
        what: &'static str,
    },
    /// More flows than classes can be numbered.
    TooManyFlows(usize),
    /// A curve leaves the range of exact numbers.
    Curve(CurveError),
}

impl PlanError {
    /// Whether the link is too small, in contrast to input that cannot be planned at any rate.
    pub fn is_refusal(&self) -> bool {
        matches!(self, PlanError::Deadline { .. } | PlanError::Sum { .. })
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Deadline { flow, deadline, least, target } => write!(
                f,
                "`{flow}`: deadline {} is not above {}, which {target} may need at any rate of the class: a packet of \
                 other traffic, and what other classes may send first; lengthen the deadline, lower \
                 `max_packet`, or use `laxity link up`",
                print_span(*deadline),
                print_span(*least)
            ),
            PlanError::Sum { flow, link, target } => write!(
                f,
                "[link] rate {}: the real-time flows need more under {target}, `{flow}` most; lengthen its \
                 deadline, lower its burst or rate, or use `laxity link up`",
                print_bit_rate(*link)
            ),
            PlanError::Classes { flow, deadlines, classes } => write!(
                f,
                "`{flow}`: {deadlines} different deadlines, but cbs has {classes} shaped classes; give flows one of \
                 {classes} deadlines, or plan for htb or hfsc"
            ),
            PlanError::ServiceCurve { flow } => write!(
                f,
                "`{flow}`: a `service_curve` is not planned; give it `deadline` and `envelope`"
            ),
            PlanError::Match { flow, why } => write!(f, "`{flow}`: match: {why}"),
            PlanError::Range { key, what } => write!(f, "{key}: {what}"),
            PlanError::TooManyFlows(n) => {
                write!(f, "{n} flows: at most 4000 classes are planned; join flows")
            }
            PlanError::Curve(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PlanError {}

impl From<CurveError> for PlanError {
    fn from(error: CurveError) -> PlanError {
        PlanError::Curve(error)
    }
}
