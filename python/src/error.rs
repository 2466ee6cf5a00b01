//! Errors as Python exceptions with the text of the command; panics as exceptions as well.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use laxity_curve::CurveError;
use laxity_scenario::ScenarioError;
use laxity_scenario::quantity::QuantityError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The module that defines the exceptions.
const MODULE: &str = "laxity.errors";

/// An exception of a class of `laxity.errors`.
fn exception(class: &str, text: impl Display) -> PyErr {
    Python::attach(|py| {
        let made = py.import(MODULE).and_then(|m| m.getattr(class)?.call1((text.to_string(),)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// Input that cannot be used.
pub fn input(text: impl Display) -> PyErr {
    exception("InputError", text)
}

/// A curve or envelope that does not exist.
pub fn curve(error: &CurveError) -> PyErr {
    exception("CurveError", error)
}

/// A quantity that is malformed or of another dimension.
pub fn quantity(error: &QuantityError) -> PyErr {
    exception("QuantityError", error)
}

/// A policy written in Python that broke the rules of its engine.
pub fn policy(text: impl Display) -> PyErr {
    exception("PolicyError", text)
}

/// Moves the instant of a policy driven step by step on to `now`.
///
/// # Errors
/// It lies before the last one.
pub fn advance(last: &mut u64, now: u64) -> PyResult<()> {
    if now < *last {
        return Err(policy(format_args!("{now} ns is before {last} ns, the last instant")));
    }
    *last = now;
    Ok(())
}

/// A scenario with problems, each with its place.
pub fn scenario(error: &ScenarioError) -> PyErr {
    Python::attach(|py| {
        let made = || {
            let problems = error.problems().iter().map(|p| {
                let problem = PyDict::new(py);
                problem.set_item("line", p.line)?;
                problem.set_item("column", p.column)?;
                problem.set_item("key", &p.key)?;
                problem.set_item("what", &p.what)?;
                problem.set_item("remedy", &p.remedy)?;
                py.import(MODULE)?.getattr("Problem")?.call((), Some(&problem))
            });
            let problems = problems.collect::<PyResult<Vec<_>>>()?;
            let path = error.path().display().to_string();
            py.import(MODULE)?.getattr("ScenarioError")?.call1((error.to_string(), path, problems))
        };
        made().map_or_else(|error| error, PyErr::from_value)
    })
}

/// Runs `work`; a panic becomes an `InternalError`.
pub fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(panicked(payload.as_ref())))
}

/// The same without the GIL, so that other Python threads go on.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    py.detach(|| guarded(work))
}

/// The exception for a panic.
pub fn panicked(payload: &(dyn Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic");
    exception("InternalError", format_args!("a bug in Laxity, please report it: {text}"))
}
