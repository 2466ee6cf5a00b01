//! The first exception of a policy written in Python, which ends its run.

use std::sync::{Arc, Mutex, PoisonError};

use laxity_sim::Control;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

/// Keeps the exception until the engine has returned.
#[derive(Clone, Debug)]
pub struct Failure {
    error: Arc<Mutex<Option<PyErr>>>,
    control: Arc<Control>,
}

impl Failure {
    /// None yet; the first one stops the run by `control`.
    pub fn new(control: &Arc<Control>) -> Failure {
        Failure { error: Arc::default(), control: Arc::clone(control) }
    }

    /// Notes an exception.
    pub fn note(&self, error: PyErr) {
        self.control.stop();
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Whether there was one: then nothing more is asked of the policy.
    pub fn is_set(&self) -> bool {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Calls a method of the policy and reads its answer; the default after an exception.
    pub fn call<T: Default>(
        &self,
        method: &Py<PyAny>,
        args: impl for<'py> PyCallArgs<'py>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> T {
        if self.is_set() {
            return T::default();
        }
        let answer = Python::attach(|py| read(&method.bind(py).call1(args)?));
        answer.unwrap_or_else(|error| {
            self.note(error);
            T::default()
        })
    }

    /// Calls a method whose answer has no meaning.
    pub fn tell(&self, method: &Py<PyAny>, args: impl for<'py> PyCallArgs<'py>) {
        self.call(method, args, |_| Ok(()));
    }

    /// Raises it.
    ///
    /// # Errors
    /// The exception.
    pub fn check(&self) -> PyResult<()> {
        let noted = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        noted.map_or(Ok(()), Err)
    }
}
