//! Registry of link policies by name.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;

use laxity_core::{PolicyInfo, Rate, Span};
use laxity_curve::{
    CurveError, FitError, InverseCurve, Residual, ShiftedLine, TwoSegment, check_line,
    check_shifted_line, check_two_segment, fit_line, fit_shifted_line, fit_two_segment,
};

use crate::LinkPolicy;
use crate::assign::{
    Algorithm3, Algorithm3Printed, Assigner, Background, BestEffortFirst, Exact, Fifo, History,
    Shifted, TotalBandwidthServer, TwoSegments,
};
use crate::config::{BestEffortClass, FairQueue, LinkConfig, LinkConfigError};
use crate::pipeline::{
    BestEffort, ByDeadline, Committed, Curves, Discipline, Managed, NoCurves, Pipeline, Served,
};
use crate::proportional_share::{self, ProportionalShare};
use crate::slack::{self, Slack};

/// Finds a policy by name.
pub fn find(name: &str) -> Option<&'static PolicyInfo> {
    POLICIES.iter().find(|p| p.name == name)
}

/// Why a policy could not be built.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// No policy has this name.
    Unknown(String),
    /// The configuration of the link is invalid.
    LinkConfig(LinkConfigError),
    /// The residual capacity could not be computed.
    Curve(CurveError),
    /// No line is safe, or the configured one is not.
    Fit {
        /// The policy.
        policy: &'static str,
        /// The error of the fit or check.
        error: FitError,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Unknown(name) => {
                write!(f, "no policy is called `{name}`; there are")?;
                for p in POLICIES {
                    write!(f, " {}", p.name)?;
                }
                Ok(())
            }
            BuildError::LinkConfig(e) => e.fmt(f),
            BuildError::Curve(e) => e.fmt(f),
            BuildError::Fit { policy, error } => write!(f, "{policy}: {error}"),
        }
    }
}

impl core::error::Error for BuildError {}

impl From<LinkConfigError> for BuildError {
    fn from(e: LinkConfigError) -> Self {
        BuildError::LinkConfig(e)
    }
}

impl From<CurveError> for BuildError {
    fn from(e: CurveError) -> Self {
        BuildError::Curve(e)
    }
}

/// Receives a policy as its concrete type, so that a simulation of it is monomorphic; boxed where flows have service
/// curves or packets are chosen at each decision, which takes far longer than a call.
pub trait Visitor {
    /// Result of the visit.
    type Output;
    /// Visits the policy.
    fn visit<P: LinkPolicy + Send + 'static>(self, policy: P) -> Self::Output;
}

struct Boxed;

impl Visitor for Boxed {
    type Output = Box<dyn LinkPolicy + Send>;
    fn visit<P: LinkPolicy + Send + 'static>(self, policy: P) -> Self::Output {
        Box::new(policy)
    }
}

/// Builds a policy by name.
///
/// # Errors
/// See [`BuildError`].
pub fn build(name: &str, config: &LinkConfig) -> Result<Box<dyn LinkPolicy + Send>, BuildError> {
    visit_with::<true, _>(name, config, Boxed)
}

/// Builds a policy by name and hands it to `visitor`.
///
/// # Errors
/// See [`BuildError`].
pub fn visit<V: Visitor>(
    name: &str,
    config: &LinkConfig,
    visitor: V,
) -> Result<V::Output, BuildError> {
    // With all of their types each visitor would be four times as much code.
    if has_curves(config) || is_chosen_late(config) {
        return Ok(visitor.visit(build(name, config)?));
    }
    visit_with::<false, V>(name, config, visitor)
}

fn has_curves(config: &LinkConfig) -> bool {
    config.realtime.iter().any(|f| f.service.is_some())
}

/// Whether packets are chosen at each decision: where a class has flow queues or AQM, or classes have curves.
fn is_chosen_late(config: &LinkConfig) -> bool {
    config.best_effort.iter().any(BestEffortClass::is_managed)
        || matches!(config.fair_queue, FairQueue::Fsc(_))
}

/// The curve from which a policy's deadlines follow as Algorithm 1 has them ([`History`]).
#[derive(Clone, Debug)]
pub struct DeadlineCurve {
    /// The curve.
    pub inverse: InverseCurve,
    /// [`Assigner::RESTARTS_BEFORE_BEST_EFFORT`] of the policy.
    pub restarts_before_best_effort: bool,
}

impl DeadlineCurve {
    fn of<A: Assigner>(inverse: InverseCurve) -> DeadlineCurve {
        let restarts_before_best_effort = A::RESTARTS_BEFORE_BEST_EFFORT;
        DeadlineCurve { inverse, restarts_before_best_effort }
    }
}

/// The one list of policies: of each its description, how it is built and handed to the visitor,
/// the curve if its deadlines follow from nothing but a curve, and whether it refuses flows with
/// service curves.
macro_rules! policies {
    (
        |$parts:ident, $visitor:ident|
        $($info:expr => $build:expr $(, curve $curve:expr)? $(, refuses $refused:ident)?;)+
    ) => {
        /// All policies; those that only serve as bounds come last.
        pub const POLICIES: &[PolicyInfo] = &[$($info),+];

        /// Builds a policy by name, with `ALL` any pipeline, else the plain one, and hands it to the visitor.
        fn visit_with<const ALL: bool, V: Visitor>(
            name: &str,
            config: &LinkConfig,
            $visitor: V,
        ) -> Result<V::Output, BuildError> {
            let $parts = Parts::<ALL> { config };
            $(if name == const { $info.name } {
                return $build;
            })+
            Err(BuildError::Unknown(name.to_string()))
        }

        /// Whether a policy serves flows with service curves.
        pub fn serves_curves(name: &str) -> bool {
            $($(if name == const { $info.name } {
                return stringify!($refused).is_empty();
            })?)+
            true
        }

        /// The curve from which a policy's deadlines follow, for those that are nothing but such a
        /// curve; `None` for the others.
        ///
        /// # Errors
        /// See [`BuildError`].
        pub fn curve(name: &str, config: &LinkConfig) -> Result<Option<DeadlineCurve>, BuildError> {
            let $parts = Parts::<false> { config };
            $($(if name == const { $info.name } {
                return Ok(Some($curve));
            })?)+
            Ok(None)
        }
    };
}

policies! {
    |parts, visitor|
    Background::INFO => parts.by_deadline(Background, visitor);
    TotalBandwidthServer::INFO => parts.by_deadline(parts.tbs()?, visitor), curve {
        let line = ShiftedLine { slope: parts.tbs_slope()?, shift: Span(0) };
        DeadlineCurve::of::<TotalBandwidthServer>(InverseCurve::from_shifted_line(&line)?)
    };
    Shifted::INFO => parts.by_deadline(parts.shifted()?, visitor), curve {
        DeadlineCurve::of::<Shifted>(InverseCurve::from_shifted_line(&parts.shifted_line()?)?)
    };
    TwoSegments::INFO => {
        let line = parts.two_segment(TwoSegments::INFO.name)?;
        parts.by_deadline(TwoSegments::new(&line, History::CAPACITY)?, visitor)
    }, curve {
        let line = parts.two_segment(TwoSegments::INFO.name)?;
        DeadlineCurve::of::<TwoSegments>(InverseCurve::from_two_segment(&line)?)
    };
    Algorithm3::INFO => {
        let line = parts.two_segment(Algorithm3::INFO.name)?;
        parts.by_deadline(Algorithm3::new(&line), visitor)
    };
    Algorithm3Printed::INFO => {
        let line = parts.two_segment(Algorithm3Printed::INFO.name)?;
        parts.by_deadline(Algorithm3Printed::new(&line), visitor)
    };
    Exact::INFO => parts.by_deadline(parts.exact()?, visitor), curve {
        DeadlineCurve::of::<Exact>(parts.service()?)
    };
    slack::INFO => {
        parts.residual()?;
        parts.pipeline(Slack::new(parts.config)?, visitor)
    };
    proportional_share::INFO => Ok(visitor.visit(ProportionalShare::new(parts.config)?)),
        refuses service_curves;
    Fifo::INFO => parts.by_deadline(Fifo, visitor);
    BestEffortFirst::INFO => parts.by_deadline(BestEffortFirst, visitor);
}

/// What policies are built of; without `ALL` for links without curves on which nothing is chosen late.
struct Parts<'a, const ALL: bool> {
    config: &'a LinkConfig,
}

impl<const ALL: bool> Parts<'_, ALL> {
    fn by_deadline<A, V>(&self, assigner: A, visitor: V) -> Result<V::Output, BuildError>
    where
        A: Assigner + Send + 'static,
        V: Visitor,
    {
        self.pipeline(ByDeadline(assigner), visitor)
    }

    fn pipeline<D, V>(&self, discipline: D, visitor: V) -> Result<V::Output, BuildError>
    where
        D: Discipline + Send + 'static,
        V: Visitor,
    {
        if const { !ALL } {
            return self.pipeline_of::<D, Committed, NoCurves, V>(discipline, visitor);
        }
        // The bounds in order of arrival choose nothing late.
        match (has_curves(self.config), is_chosen_late(self.config) && !D::ARRIVAL_ORDER) {
            (false, false) => self.pipeline_of::<D, Committed, NoCurves, V>(discipline, visitor),
            (true, false) => self.pipeline_of::<D, Committed, Served, V>(discipline, visitor),
            (false, true) => self.pipeline_of::<D, Managed, NoCurves, V>(discipline, visitor),
            (true, true) => self.pipeline_of::<D, Managed, Served, V>(discipline, visitor),
        }
    }

    fn pipeline_of<D, B, S, V>(&self, discipline: D, visitor: V) -> Result<V::Output, BuildError>
    where
        D: Discipline + Send + 'static,
        B: BestEffort<D> + Send + 'static,
        S: Curves,
        V: Visitor,
    {
        Ok(visitor.visit(Pipeline::<D, B, S>::build(self.config, discipline)?))
    }

    fn residual(&self) -> Result<Residual, BuildError> {
        Ok(self.config.residual()?)
    }

    fn service(&self) -> Result<InverseCurve, BuildError> {
        Ok(self.residual()?.service(self.config.guarantee)?)
    }

    fn exact(&self) -> Result<Exact, BuildError> {
        Ok(Exact::new(&self.service()?, History::CAPACITY))
    }

    fn tbs(&self) -> Result<TotalBandwidthServer, BuildError> {
        Ok(TotalBandwidthServer::new(self.tbs_slope()?))
    }

    fn tbs_slope(&self) -> Result<Rate, BuildError> {
        let (residual, guarantee) = (self.residual()?, self.config.guarantee);
        let failed = |error| BuildError::Fit { policy: TotalBandwidthServer::INFO.name, error };
        let slope = match self.config.options.tbs {
            Some(slope) => check_line(&residual, guarantee, slope).map(|()| slope),
            None => fit_line(&residual, guarantee),
        };
        slope.map_err(failed)
    }

    fn shifted(&self) -> Result<Shifted, BuildError> {
        Ok(Shifted::new(&self.shifted_line()?))
    }

    fn shifted_line(&self) -> Result<ShiftedLine, BuildError> {
        let (residual, guarantee) = (self.residual()?, self.config.guarantee);
        let failed = |error| BuildError::Fit { policy: Shifted::INFO.name, error };
        let line = match self.config.options.shifted_line {
            Some(line) => check_shifted_line(&residual, guarantee, &line).map(|()| line),
            None => fit_shifted_line(&residual, guarantee),
        };
        line.map_err(failed)
    }

    fn two_segment(&self, policy: &'static str) -> Result<TwoSegment, BuildError> {
        let (residual, guarantee) = (self.residual()?, self.config.guarantee);
        let line = match self.config.options.two_segment {
            Some(line) => check_two_segment(&residual, guarantee, &line).map(|()| line),
            None => fit_two_segment(&residual, guarantee),
        };
        line.map_err(|error| BuildError::Fit { policy, error })
    }
}
