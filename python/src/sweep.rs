//! Sweeps, part by part.

use std::path::PathBuf;
use std::sync::Arc;

use laxity_sim::Control;
use laxity_sweep::{Dataset, Sweep, SweepError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::simulate::interruptible;
use crate::{document, error};

/// A scenario over a grid of values, policies and seeds, in parts that depend on nothing else. Pickled
/// it holds all that its parts need but the files that the scenario names.
#[pyclass(frozen, eq, module = "laxity", name = "Sweep")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PySweep {
    sweep: Sweep,
    text: String,
    path: PathBuf,
    scenario: String,
}

/// What is pickled: the description, its path, the scenario, the digest of its files.
type Texts = (String, PathBuf, String, String);

fn failed(error: SweepError) -> PyErr {
    match error {
        SweepError::File { path, error } => {
            let text = format!("{}: {error}", path.display());
            PyErr::from(std::io::Error::new(error.kind(), text))
        }
        _ => error::input(error),
    }
}

impl PySweep {
    fn parsed(text: String, path: PathBuf) -> PyResult<PySweep> {
        let mut scenario = String::new();
        let sweep = Sweep::parse(&text, &path, |file| {
            scenario = std::fs::read_to_string(file)
                .map_err(|error| SweepError::File { path: file.to_owned(), error })?;
            Ok(scenario.clone())
        });
        Ok(PySweep { sweep: sweep.map_err(failed)?, text, path, scenario })
    }

    fn checked(&self, part: u64) -> PyResult<u64> {
        let parts = self.sweep.parts();
        if part < parts {
            return Ok(part);
        }
        Err(error::input(format_args!("part {part}: the sweep has {parts}, from 0 on")))
    }
}

#[pymethods]
impl PySweep {
    /// Reads the file of a sweep.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<PySweep> {
        error::detached(py, || {
            let text = std::fs::read_to_string(&path)
                .map_err(|error| failed(SweepError::File { path: path.clone(), error }))?;
            PySweep::parsed(text, path)
        })
    }

    /// Reads its text; the scenario is looked for beside `path`.
    #[staticmethod]
    #[pyo3(signature = (text, path=None))]
    fn from_toml(py: Python<'_>, text: String, path: Option<PathBuf>) -> PyResult<PySweep> {
        error::detached(py, || PySweep::parsed(text, path.unwrap_or_default()))
    }

    /// A sweep from a dictionary with the keys of its file.
    #[staticmethod]
    #[pyo3(signature = (values, path=None))]
    fn from_dict(values: &Bound<'_, PyDict>, path: Option<PathBuf>) -> PyResult<PySweep> {
        error::guarded(|| PySweep::parsed(document::from_dict(values)?, path.unwrap_or_default()))
    }

    /// With the text of its scenario and the digest of its files; for pickle.
    #[staticmethod]
    fn _of_texts(
        text: String,
        path: PathBuf,
        scenario: String,
        files: String,
    ) -> PyResult<PySweep> {
        error::guarded(|| {
            let sweep = Sweep::parsed(&text, &path, scenario.clone(), files).map_err(failed)?;
            Ok(PySweep { sweep, text, path, scenario })
        })
    }

    /// The number of parts.
    #[getter]
    fn parts(&self) -> u64 {
        self.sweep.parts()
    }

    /// The number of simulations.
    #[getter]
    fn simulations(&self) -> u64 {
        self.sweep.simulations()
    }

    /// A text that differs for sweeps with different results.
    #[getter]
    fn fingerprint(&self) -> String {
        self.sweep.fingerprint()
    }

    /// Runs a part and returns its Parquet file, always the same bytes.
    fn run<'py>(&self, py: Python<'py>, part: u64) -> PyResult<Bound<'py, PyBytes>> {
        let part = self.checked(part)?;
        let control = Arc::new(Control::default());
        let bytes =
            interruptible(py, &control, || self.sweep.run_until(part, &control).map_err(failed))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The parts that a folder lacks; it is made if need be, and refused if it holds another sweep.
    fn missing(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<u64>> {
        error::detached(py, || {
            let dataset = Dataset::open(&folder, &self.sweep).map_err(failed)?;
            Ok(dataset.missing(&self.sweep))
        })
    }

    /// Adds the file of a part to a folder.
    fn write(&self, py: Python<'_>, folder: PathBuf, part: u64, parquet: &[u8]) -> PyResult<()> {
        let part = self.checked(part)?;
        error::detached(py, || {
            let dataset = Dataset::open(&folder, &self.sweep).map_err(failed)?;
            dataset.write(part, parquet).map_err(failed)
        })
    }

    fn __reduce__(slf: &Bound<'_, PySweep>) -> PyResult<(Py<PyAny>, Texts)> {
        let PySweep { text, path, scenario, sweep } = slf.get().clone();
        let texts = (text, path, scenario, sweep.files().to_owned());
        Ok((slf.getattr("_of_texts")?.unbind(), texts))
    }

    fn __repr__(&self) -> String {
        let (simulations, parts) = (self.sweep.simulations(), self.sweep.parts());
        format!("<Sweep of {simulations} simulations in {parts} parts>")
    }
}
