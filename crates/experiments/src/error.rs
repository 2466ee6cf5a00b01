//! Errors of experiments.

use std::fmt;

use laxity_curve::{CurveError, FitError};
use laxity_scenario::ScenarioError;
use laxity_sim::cpu::EngineError;
use laxity_sim::link::SimulationError;

use crate::{MOST_SEEDS, PAPERS};

/// An error of an experiment.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExperimentError {
    /// No paper has this name.
    UnknownPaper {
        /// The given name.
        name: String,
    },
    /// No experiment has this id.
    UnknownExperiment {
        /// The given id.
        name: String,
        /// The known ids.
        known: Vec<String>,
    },
    /// No seed or too many.
    Seeds {
        /// The given number.
        given: u64,
    },
    /// A data file of this crate is wrong.
    Sheet {
        /// The paper.
        paper: &'static str,
        /// The problem.
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

    /// Whether the arguments are wrong, not the program or its data.
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
            ExperimentError::Seeds { given } => {
                write!(f, "{given} seeds; give 1 to {MOST_SEEDS}")
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
