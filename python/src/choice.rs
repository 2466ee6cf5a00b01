//! What a simulation is asked for: policies, seeds, a time, a trace.

use laxity_core::{PolicyInfo, Span};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::plan::PyPlan;
use crate::recording::PyRecording;
use crate::simulate::check_name;
use crate::trace::PyTrace;
use crate::{error, number};

/// The most seeds of one simulation, that of the command.
const MOST_SEEDS: usize = 10_000;

/// A policy to run.
#[derive(Debug)]
pub enum Choice {
    /// One of the registry.
    BuiltIn(String),
    /// One written in Python: called with the scenario, the factory returns an object for one run.
    Python {
        /// The name in results.
        name: String,
        /// What makes one.
        factory: Py<PyAny>,
    },
    /// A tree of the kernel's disciplines, of a link.
    Planned {
        /// The name in results.
        name: String,
        /// The plan, which has a model of the tree.
        plan: PyPlan,
    },
}

impl Choice {
    /// The name in results.
    pub fn name(&self) -> &str {
        match self {
            Choice::BuiltIn(name) | Choice::Python { name, .. } | Choice::Planned { name, .. } => {
                name
            }
        }
    }

    /// The name of a policy of the registry.
    pub fn built_in(&self) -> Option<String> {
        match self {
            Choice::BuiltIn(name) => Some(name.clone()),
            Choice::Python { .. } | Choice::Planned { .. } => None,
        }
    }
}

/// The arguments of a simulation.
#[derive(Debug)]
pub struct Request {
    policies: Option<Py<PyAny>>,
    /// The seeds, at least one.
    pub seeds: Vec<u64>,
    /// Whether several were requested: then results come with a summary.
    pub many: bool,
    /// Over which time packets arrive or tasks run.
    pub duration: Option<Span>,
    /// Packets in place of the scenario's sources.
    pub trace: Option<PyTrace>,
    /// Recorded threads beside the tasks of a scenario.
    pub recording: Option<PyRecording>,
    /// Whether packets, or slices and jobs, are recorded.
    pub record: bool,
}

impl Request {
    /// Reads the arguments.
    pub fn new(
        policies: Option<&Bound<'_, PyAny>>,
        seeds: Option<&Bound<'_, PyAny>>,
        duration: Option<&Bound<'_, PyAny>>,
        trace: Option<PyTrace>,
        recording: Option<PyRecording>,
        record: bool,
    ) -> PyResult<Request> {
        let seed = |seed: &Bound<'_, PyAny>| seed.extract::<u64>().map_err(|_| no_seed(seed));
        let (seeds, many) = match seeds {
            None => (vec![1], false),
            Some(one) if one.hasattr("__index__")? => (vec![seed(one)?], false),
            Some(several) if several.is_instance_of::<PyString>() => return Err(no_seed(several)),
            Some(several) => {
                let mut list = Vec::new();
                for one in several.try_iter().map_err(|_| no_seed(several))? {
                    list.push(seed(&one?)?);
                    if list.len() > MOST_SEEDS {
                        return Err(error::input(format_args!("more than {MOST_SEEDS} seeds")));
                    }
                }
                (list, true)
            }
        };
        if seeds.is_empty() {
            return Err(error::input("no seeds: give at least one"));
        }
        let mut sorted = seeds.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(error::input(format_args!("seed {} is given twice", twice[0])));
        }
        if trace.is_some() && (many || duration.is_some()) {
            return Err(error::input(
                "`seeds` and `duration` have no meaning with `trace`: nothing is drawn",
            ));
        }
        let duration = duration.map(number::span).transpose()?;
        if duration == Some(Span::ZERO) {
            return Err(error::input("duration: nothing happens in 0 s; give for example 60"));
        }
        Ok(Request {
            policies: policies.map(|p| p.clone().unbind()),
            seeds,
            many,
            duration,
            trace,
            recording,
            record,
        })
    }

    /// The policies: those of the scenario unless others are requested, `"all"` for all of `known`.
    pub fn choices(
        &self,
        py: Python<'_>,
        known: &[PolicyInfo],
        own: Vec<String>,
    ) -> PyResult<Vec<Choice>> {
        let Some(policies) = &self.policies else {
            return Ok(own.into_iter().map(Choice::BuiltIn).collect());
        };
        let policies = policies.bind(py);
        let mut choices: Vec<Choice> = Vec::new();
        let mut add = |choice: Choice| {
            if choices.iter().any(|c| c.name() == choice.name()) {
                return Err(error::input(format_args!(
                    "policy `{}` is given twice",
                    choice.name()
                )));
            }
            choices.push(choice);
            Ok(())
        };
        if let Ok(name) = policies.cast::<PyString>() {
            let name = name.to_cow()?;
            if name == "all" {
                return Ok(known.iter().map(|p| Choice::BuiltIn(p.name.to_owned())).collect());
            }
            check_name(&name, known)?;
            add(Choice::BuiltIn(name.into_owned()))?;
        } else if let Ok(named) = policies.cast::<PyDict>() {
            for (name, factory) in named.iter() {
                add(given(name.extract()?, &factory)?)?;
            }
        } else if policies.is_callable() {
            add(given(name_of(policies)?, policies)?)?;
        } else if let Ok(plan) = policies.cast::<PyPlan>() {
            add(given(plan.get().name().to_owned(), policies)?)?;
        } else {
            for policy in policies.try_iter().map_err(|_| no_policy(policies))? {
                let policy = policy?;
                if let Ok(name) = policy.cast::<PyString>() {
                    let name = name.to_cow()?;
                    check_name(&name, known)?;
                    add(Choice::BuiltIn(name.into_owned()))?;
                } else if let Ok(plan) = policy.cast::<PyPlan>() {
                    add(given(plan.get().name().to_owned(), &policy)?)?;
                } else {
                    add(given(name_of(&policy)?, &policy)?)?;
                }
            }
        }
        if choices.is_empty() {
            return Err(error::input("no policies: give at least one"));
        }
        Ok(choices)
    }
}

fn no_seed(seed: &Bound<'_, PyAny>) -> PyErr {
    error::input(format_args!(
        "seeds: {} is no seed: give a whole number from 0 to 2^64 - 1, or several",
        repr_of(seed)
    ))
}

fn no_policy(policy: &Bound<'_, PyAny>) -> PyErr {
    error::input(format_args!(
        "policies: {} is no policy: give the name of a built-in one, a class, or a function that returns a \
         policy for the scenario; or a dictionary of these by the names in results",
        repr_of(policy)
    ))
}

fn repr_of(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "this".to_owned(), |text| text.to_string())
}

/// The name of a class or function.
fn name_of(factory: &Bound<'_, PyAny>) -> PyResult<String> {
    let name = factory.getattr("__name__").and_then(|name| name.extract());
    name.map_err(|_| no_policy(factory))
}

/// A plan, or a factory of policies.
fn given(name: String, factory: &Bound<'_, PyAny>) -> PyResult<Choice> {
    if let Ok(plan) = factory.cast::<PyPlan>() {
        return Ok(Choice::Planned { name, plan: plan.get().clone() });
    }
    if !factory.is_callable() {
        return Err(error::input(format_args!(
            "policy `{name}`: give a class, or a function that returns a policy for the scenario"
        )));
    }
    Ok(Choice::Python { name, factory: factory.clone().unbind() })
}
