//! The policies there are.

use laxity_core::PolicyInfo;
use laxity_scenario::DocumentKind;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error;

/// The policies for scenarios of a kind (`link`, `stream`, `cpu`), as `laxity policies` lists them.
#[pyfunction]
pub fn policies<'py>(py: Python<'py>, kind: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let known = DocumentKind::ALL.into_iter().find(|k| k.name().to_lowercase() == kind);
    let known = known.ok_or_else(|| {
        let names = DocumentKind::ALL.map(|k| k.name().to_lowercase()).join(", ");
        error::input(format_args!("no kind `{kind}`; there are {names}"))
    })?;
    let describe = |info: &PolicyInfo| {
        let policy = PyDict::new(py);
        policy.set_item("name", info.name)?;
        policy.set_item("summary", info.summary)?;
        policy.set_item("keeps_deadlines", info.keeps_deadlines)?;
        let options: Vec<&str> = info.options.iter().map(|option| option.name).collect();
        policy.set_item("options", options)?;
        Ok(policy)
    };
    known.policies().iter().map(describe).collect()
}
