//! The first exception of a policy written in Python, which ends its run.

use std::sync::{Arc, Mutex, PoisonError};

use laxity_sim::Control;
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

    /// Raises it.
    ///
    /// # Errors
    /// The exception.
    pub fn check(&self) -> PyResult<()> {
        let noted = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        noted.map_or(Ok(()), Err)
    }
}
