//! Simulations: a module a kind of scenario, behind one trait.

pub mod cpu;
pub mod link;
pub mod stream;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use laxity_core::PolicyInfo;
use laxity_report::{Meta, Page};
use laxity_results::table::Table;
use laxity_sim::Control;
use pyo3::prelude::*;

use crate::error;
use crate::json;
use crate::table::PyTable;

/// How often a run looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// A finished simulation of any kind.
pub trait Outcome: Send + Sync {
    /// As `laxity simulate --json` prints it, without the version.
    fn json(&self) -> serde_json::Result<String>;
    /// As `laxity simulate` prints it.
    fn text(&self) -> String;
    /// The page of `laxity simulate --report`.
    fn page(&self) -> Page;
    /// A row for each seed, policy and flow, task or class.
    fn table(&self) -> Table;
    /// Whether each promised deadline or window was kept.
    fn promises_kept(&self) -> bool;
    /// What `record=True` recorded, by name.
    fn records(&self) -> &[(&'static str, PyTable)];
}

/// The result of `Scenario.simulate`.
#[pyclass(frozen, module = "laxity", name = "Simulation")]
pub struct PySimulation(pub Box<dyn Outcome>);

#[pymethods]
impl PySimulation {
    /// Whether no deadline was missed, and no window violated, that was promised.
    #[getter]
    fn promises_kept(&self) -> PyResult<bool> {
        error::guarded(|| Ok(self.0.promises_kept()))
    }

    /// The results as `laxity simulate --json` prints them.
    fn to_dict(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let text = error::guarded(|| self.0.json().map_err(error::input))?;
        json::loads(py, &text)
    }

    /// A row for each seed, policy and flow, task or class.
    #[getter]
    fn table(&self) -> PyResult<PyTable> {
        error::guarded(|| PyTable::of_results(&self.0.table()))
    }

    /// What happened to each packet (`packets`), or when each task ran (`slices`) and each job ended
    /// (`jobs`): of `record=True`.
    fn record(&self, name: &str) -> PyResult<PyTable> {
        let records = self.0.records();
        let found = records.iter().find(|(own, _)| *own == name).map(|(_, table)| table.clone());
        found.ok_or_else(|| {
            let names: Vec<&str> = records.iter().map(|(name, _)| *name).collect();
            match names[..] {
                [] => error::input("nothing was recorded: simulate with record=True"),
                _ => {
                    error::input(format_args!("no record `{name}`; there are {}", names.join(", ")))
                }
            }
        })
    }

    /// A data frame of pandas: the table.
    fn to_pandas(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Bound::new(py, self.table()?)?.call_method0("to_pandas")?.unbind())
    }

    /// A data frame of polars: the table.
    fn to_polars(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Bound::new(py, self.table()?)?.call_method0("to_polars")?.unbind())
    }

    /// The table as a stream of Arrow.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__(
        &self,
        py: Python<'_>,
        requested_schema: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let table = Bound::new(py, self.table()?)?;
        Ok(table.call_method1("__arrow_c_stream__", (requested_schema,))?.unbind())
    }

    /// Writes the page of `laxity simulate --report`.
    fn report(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        write_page(py, &path, || self.0.page())
    }

    /// Draws the delays, responses or windows with matplotlib.
    #[pyo3(signature = (ax=None))]
    fn plot(slf: &Bound<'_, PySimulation>, ax: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let draw = slf.py().import("laxity.plotting")?.getattr("simulation")?;
        Ok(draw.call1((slf, ax))?.unbind())
    }

    fn __str__(&self) -> PyResult<String> {
        error::guarded(|| Ok(self.0.text()))
    }

    fn __repr__(&self) -> PyResult<String> {
        error::guarded(|| {
            let rows = self.0.table().rows();
            let kept = if self.0.promises_kept() { "kept" } else { "broken" };
            Ok(format!("<Simulation of {rows} rows, promises {kept}>"))
        })
    }

    fn _repr_html_(&self) -> PyResult<String> {
        error::guarded(|| Ok(preformatted(&self.0.text())))
    }
}

/// A text of the command in a notebook.
pub fn preformatted(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<pre>{text}</pre>")
}

/// Writes a page whole.
pub fn write_page(
    py: Python<'_>,
    path: &std::path::Path,
    page: impl FnOnce() -> Page + Send,
) -> PyResult<()> {
    error::detached(py, || Ok(std::fs::write(path, page().html())?))
}

/// The footer of a page.
pub fn meta(policy: &str) -> Meta {
    Meta {
        kind: laxity_report::Kind::Simulated,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: "laxity in Python".to_owned(),
        policy: Some(policy.to_owned()),
        ..Meta::default()
    }
}

/// The fact about seeds in the footer.
pub fn seeds_fact(seeds: &[u64]) -> (String, String) {
    let seeds: Vec<_> = seeds.iter().map(u64::to_string).collect();
    ("Seeds".to_owned(), seeds.join(", "))
}

/// A result for each seed, from its runs.
pub fn results<R: Clone, T>(
    runs: &[R],
    seeds: &[u64],
    seed: impl Fn(&R) -> u64,
    of: impl Fn(&[R], u64) -> T,
) -> Vec<T> {
    let own = |s: u64| runs.iter().filter(|run| seed(run) == s).cloned().collect::<Vec<_>>();
    seeds.iter().map(|s| of(&own(*s), *s)).collect()
}

/// The policies of a scenario, by name and each once, where none is requested.
pub fn own_policies(compare: &[String], used: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in compare.iter().map(String::as_str).chain([used]) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Refuses a name that no policy has.
pub fn check_name(name: &str, known: &[PolicyInfo]) -> PyResult<()> {
    if known.iter().any(|p| p.name == name) {
        return Ok(());
    }
    let names: Vec<&str> = known.iter().map(|p| p.name).collect();
    Err(error::input(format_args!("no policy is called `{name}`; there are {}", names.join(" "))))
}

/// Runs `work` in a thread without the GIL; Ctrl-C stops it and is raised when it has ended.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    control: &Arc<Control>,
    work: impl FnOnce() -> PyResult<T> + Send,
) -> PyResult<T> {
    py.detach(|| {
        let (done, wait) = channel::<()>();
        std::thread::scope(|scope| {
            let run = scope.spawn(move || {
                let result = error::guarded(work);
                // The receiver waits until the sender is gone.
                drop(done);
                result
            });
            let mut raised = None;
            while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(LOOK) {
                if raised.is_none() {
                    raised = Python::attach(|py| py.check_signals()).err();
                }
                if raised.is_some() {
                    control.stop();
                }
            }
            let result = run.join().unwrap_or_else(|panic| Err(error::panicked(panic.as_ref())));
            raised.map_or(result, Err)
        })
    })
}
