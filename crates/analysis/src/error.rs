//! Why a scenario cannot be analysed.

use std::fmt;

use laxity_curve::CurveError;
use laxity_sim::cpu::RecordingError;

/// Why a scenario cannot be analysed.
#[derive(Debug)]
#[non_exhaustive]
pub enum AnalysisError {
    /// A curve leaves the range of exact numbers.
    Curve(CurveError),
    /// The policy serves no flows with service curves.
    ServiceCurve {
        /// The policy.
        policy: String,
        /// The first such flow.
        flow: String,
    },
    /// A file of tasks that the scenario names cannot be used.
    Recording(RecordingError),
}

impl fmt::Display for AnalysisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnalysisError::Curve(error) => error.fmt(f),
            AnalysisError::ServiceCurve { policy, flow } => write!(
                f,
                "`{policy}` cannot keep the service curve of `{flow}`; choose `exact`, `slack` or \
                 another policy that keeps deadlines by EDF, or give the flow an `envelope` and a `deadline`"
            ),
            AnalysisError::Recording(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AnalysisError {}

impl From<CurveError> for AnalysisError {
    fn from(error: CurveError) -> AnalysisError {
        AnalysisError::Curve(error)
    }
}

impl From<RecordingError> for AnalysisError {
    fn from(error: RecordingError) -> AnalysisError {
        AnalysisError::Recording(error)
    }
}
