//! The state of a policy that programs call step by step, from several threads too.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::error;

/// What is called, and the last instant reported: instants never decrease.
pub struct State<S> {
    now: u64,
    /// The policy, and what belongs to it.
    pub steps: S,
}

/// A state behind a lock.
pub struct Stepped<S>(Mutex<State<S>>);

impl<S: Send> Stepped<S> {
    /// The state at instant zero.
    pub fn new(steps: S) -> Stepped<S> {
        Stepped(Mutex::new(State { now: 0, steps }))
    }

    /// Waits without the GIL: the thread that holds the lock may need it for an exception.
    pub fn lock(&self) -> MutexGuard<'_, State<S>> {
        Python::attach(|py| self.0.lock_py_attached(py)).unwrap_or_else(PoisonError::into_inner)
    }

    /// The same at an instant in ns.
    ///
    /// # Errors
    /// It lies before the last one.
    pub fn at(&self, now: u64) -> PyResult<MutexGuard<'_, State<S>>> {
        let mut state = self.lock();
        error::advance(&mut state.now, now)?;
        Ok(state)
    }
}
