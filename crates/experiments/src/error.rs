//! Why experiments could not be run.

use std::fmt;

use laxity_curve::{CurveError, FitError};
use laxity_scenario::ScenarioError;
use laxity_sim::cpu::EngineError;
use laxity_sim::link::SimulationError;

use crate::{MOST_SEEDS, PAPERS};

/// Why experiments could not be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExperimentError {
    /// No paper has this name.
    UnknownPaper {
        /// What was asked for.
        name: String,
    },
    /// No experiment has this id.
    UnknownExperiment {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// No seed or too many.
    Seeds {
        /// How many were asked for.
        asked: u64,
    },
    /// A data file of this crate is wrong.
    Sheet {
        /// Whose.
        paper: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// A scenario of this crate is wrong.
    Scenario(Box<ScenarioError>),
    /// A run could not start.
    Simulation(SimulationError),
    /// Tasks could not be played to the end.
    Tasks(EngineError),
    /// A curve could not be computed.
    Curve(CurveError),
    /// A line could not be fitted.
    Fit(FitError),
}

impl ExperimentError {
    pub(crate) fn sheet(paper: &'static str, what: String) -> ExperimentError {
        ExperimentError::Sheet { paper, what }
    }

    /// Whether the one who asked can mend it, by asking for something else.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            ExperimentError::UnknownPaper { .. }
                | ExperimentError::UnknownExperiment { .. }
                | ExperimentError::Seeds { .. }
        )
    }
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExperimentError::UnknownPaper { name } => {
                write!(f, "no paper is called `{name}`; there are")?;
                PAPERS.iter().try_for_each(|p| write!(f, " {}", p.name))?;
                write!(f, " and all")
            }
            ExperimentError::UnknownExperiment { name, known } => {
                write!(f, "no experiment is called `{name}`; there are {}", known.join(" "))
            }
            ExperimentError::Seeds { asked } => {
                write!(f, "{asked} seeds were asked for; take 1 to {MOST_SEEDS}")
            }
            ExperimentError::Sheet { paper, what } => {
                write!(f, "the data of {paper} are wrong: {what}")
            }
            ExperimentError::Scenario(e) => e.fmt(f),
            ExperimentError::Simulation(e) => e.fmt(f),
            ExperimentError::Tasks(e) => e.fmt(f),
            ExperimentError::Curve(e) => e.fmt(f),
            ExperimentError::Fit(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for ExperimentError {}

impl From<ScenarioError> for ExperimentError {
    fn from(e: ScenarioError) -> Self {
        ExperimentError::Scenario(Box::new(e))
    }
}

impl From<SimulationError> for ExperimentError {
    fn from(e: SimulationError) -> Self {
        ExperimentError::Simulation(e)
    }
}

impl From<EngineError> for ExperimentError {
    fn from(e: EngineError) -> Self {
        ExperimentError::Tasks(e)
    }
}

impl From<CurveError> for ExperimentError {
    fn from(e: CurveError) -> Self {
        ExperimentError::Curve(e)
    }
}

impl From<FitError> for ExperimentError {
    fn from(e: FitError) -> Self {
        ExperimentError::Fit(e)
    }
}
