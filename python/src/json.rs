//! Results as dictionaries.

use pyo3::prelude::*;

/// A JSON text as Python objects.
pub fn loads(py: Python<'_>, text: &str) -> PyResult<Py<PyAny>> {
    Ok(py.import("json")?.call_method1("loads", (text,))?.unbind())
}
