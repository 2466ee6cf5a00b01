//! Reasons for which a scenario cannot run in the kernel, and deviations from it.

use std::fmt;

use laxity_curve::{CurveError, Verdict};
use laxity_link::config::LinkConfigError;
use laxity_link::registry::BuildError;

/// Reason for which a scenario cannot run in the kernel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// The set is not admitted: some deadline could be missed.
    NotAdmitted(Box<Verdict>),
    /// The policy does not exist or is not supported in the kernel.
    NotLive {
        /// The policy asked for.
        policy: String,
    },
    /// Flows have service curves, which the programs do not serve under this policy.
    CurvesUnder {
        /// The policy.
        policy: String,
    },
    /// Reservations cannot be taken from flows of a link where some have service curves.
    CurvesShed,
    /// Best effort is ordered by curves of classes; the programs know weights only.
    FairServiceCurve,
    /// A limit of the programs is exceeded.
    TooMany {
        /// The limited quantity.
        what: &'static str,
        /// The flow concerned.
        of: Option<String>,
        /// The number found.
        found: usize,
        /// The maximum.
        most: usize,
    },
    /// A number that the programs, which count in 64 bits, cannot hold.
    OutOfRange {
        /// The number.
        what: String,
        /// Remedy that brings it into range.
        remedy: String,
    },
    /// The policy could not be built.
    Build(BuildError),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::NotAdmitted(verdict) if verdict.overload => write!(
                f,
                "not admitted: the real-time flows ask for {} in the long run, the link has {}; \
                 `laxity check` says what would be admitted",
                verdict.load, verdict.capacity
            ),
            PlanError::NotAdmitted(verdict) => write!(
                f,
                "not admitted: {} B are lacking in the interval that binds; `laxity check` says \
                 which flows ask for them and what would be admitted",
                verdict.slack_bytes.unsigned_abs()
            ),
            PlanError::NotLive { policy } => {
                write!(f, "policy `{policy}` does not run in the kernel; these do:")?;
                super::policies().try_for_each(|name| write!(f, " {name}"))
            }
            PlanError::CurvesUnder { policy } => write!(
                f,
                "`{policy}` serves no service curves in the kernel; choose `exact`, or run the link \
                 in user space with `laxity link bridge`"
            ),
            PlanError::CurvesShed => write!(
                f,
                "flows of a link with service curves keep their reservations; choose a rate at \
                 which all of them are admitted"
            ),
            PlanError::FairServiceCurve => write!(
                f,
                "the kernel's programs order best effort by weights, not by curves; choose \
                 `fair_queue = \"wf2q+\"`, or run the link in user space with `laxity link bridge`"
            ),
            PlanError::TooMany { what, of, found, most } => {
                let of = of.as_ref().map_or(String::new(), |flow| format!(" of {flow}"));
                write!(f, "{found} {what}{of}: the kernel's programs hold at most {most}")
            }
            PlanError::OutOfRange { what, remedy } => {
                write!(f, "{what} is beyond the range of the kernel's programs: {remedy}")
            }
            PlanError::Build(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PlanError {}

impl From<BuildError> for PlanError {
    fn from(error: BuildError) -> Self {
        PlanError::Build(error)
    }
}

impl From<CurveError> for PlanError {
    fn from(error: CurveError) -> Self {
        PlanError::Build(error.into())
    }
}

impl From<LinkConfigError> for PlanError {
    fn from(error: LinkConfigError) -> Self {
        PlanError::Build(error.into())
    }
}

/// A deviation of the kernel from the scenario; none affects a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// WF2Q+ orders the best-effort classes instead of packetised GPS: the same delay bound, and
    /// no class ahead of its share.
    Wf2qPlusForWfq,
    /// Weights without a common multiple in range: shares are exact to the part that is named.
    RoundedShares {
        /// Denominator of the relative error.
        parts: u64,
    },
    /// The residual capacity has more corners than the programs hold: its inverse runs a little above
    /// it between some of them, so deadlines of best effort come later there.
    FewerCorners {
        /// Corners of the curve.
        found: usize,
        /// Corners kept.
        kept: usize,
    },
    /// The limit in packets is lower than the buffer's limit in bytes would allow.
    FewerSlots {
        /// Best effort or real time.
        best_effort: bool,
        /// The limit in packets.
        packets: u64,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Wf2qPlusForWfq => write!(
                f,
                "wf2q+ orders the best-effort classes in the kernel, in place of wfq; \
                 `fair_queue = \"wf2q+\"` says so in the scenario"
            ),
            Notice::RoundedShares { parts } => {
                write!(f, "weights have no small common multiple; shares are exact to 1/{parts}")
            }
            Notice::FewerCorners { found, kept } => write!(
                f,
                "the residual capacity has {found} corners, {kept} of them in the kernel; \
                 best-effort deadlines come a little later between the others"
            ),
            Notice::FewerSlots { best_effort, packets } => write!(
                f,
                "at most {packets} {} packets wait in the kernel, however small they are",
                if *best_effort { "best-effort" } else { "real-time" }
            ),
        }
    }
}
