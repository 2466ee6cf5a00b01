//! Scenarios: read, checked, simulated.

use std::path::PathBuf;
use std::sync::Arc;

use laxity_core::Span;
use laxity_scenario::Document;
use laxity_scenario::cpu::CpuScenario;
use laxity_scenario::link::model::Scenario;
use laxity_scenario::stream::StreamScenario;
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::check::PyCheck;
use crate::choice::Request;
use crate::curve::PyCurve;
use crate::envelope::PyEnvelope;
use crate::plan::PyPlan;
use crate::recording::PyRecording;
use crate::simulate::{self, PySimulation};
use crate::trace::PyTrace;
use crate::{document, error, number};

/// A scenario of one kind, shared with what is made of it.
#[derive(Clone, Debug)]
pub enum Shared {
    /// A link.
    Link(Arc<Scenario>),
    /// A media server.
    Stream(Arc<StreamScenario>),
    /// CPUs.
    Cpu(Arc<CpuScenario>),
}

/// Text and path, the arguments of `from_toml`.
type FromToml = (String, Option<PathBuf>);

/// A link, a media server or CPUs with what they carry, as in a scenario file; immutable.
#[pyclass(frozen, module = "laxity", name = "Scenario")]
#[derive(Clone, Debug)]
pub struct PyScenario {
    shared: Shared,
}

impl PyScenario {
    /// The scenario of a document.
    pub fn of(document: Document) -> PyScenario {
        let shared = match document {
            Document::Link(scenario) => Shared::Link(Arc::new(scenario)),
            Document::Stream(scenario) => Shared::Stream(Arc::new(scenario)),
            Document::Cpu(scenario) => Shared::Cpu(Arc::new(scenario)),
        };
        PyScenario { shared }
    }

    fn document(&self) -> Document {
        match &self.shared {
            Shared::Link(scenario) => Document::Link(Scenario::clone(scenario)),
            Shared::Stream(scenario) => Document::Stream(StreamScenario::clone(scenario)),
            Shared::Cpu(scenario) => Document::Cpu(CpuScenario::clone(scenario)),
        }
    }

    /// The link; refuses other kinds.
    pub fn link(&self) -> PyResult<&Arc<Scenario>> {
        match &self.shared {
            Shared::Link(scenario) => Ok(scenario),
            _ => Err(error::input(format_args!(
                "the scenario is of kind {}, not of a link",
                self.kind()
            ))),
        }
    }

    /// The media server; refuses other kinds.
    pub fn stream(&self) -> PyResult<&Arc<StreamScenario>> {
        match &self.shared {
            Shared::Stream(scenario) => Ok(scenario),
            _ => Err(error::input(format_args!(
                "the scenario is of kind {}, not of a media server",
                self.kind()
            ))),
        }
    }

    /// The CPUs; refuses other kinds.
    pub fn cpu(&self) -> PyResult<&Arc<CpuScenario>> {
        match &self.shared {
            Shared::Cpu(scenario) => Ok(scenario),
            _ => Err(error::input(format_args!(
                "the scenario is of kind {}, not of CPUs",
                self.kind()
            ))),
        }
    }
}

#[pymethods]
impl PyScenario {
    /// Reads a scenario file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<PyScenario> {
        error::detached(py, || {
            Document::read(&path).map(PyScenario::of).map_err(|e| error::scenario(&e))
        })
    }

    /// Reads the text of a scenario file; files that it names are looked for beside `path`.
    #[staticmethod]
    #[pyo3(signature = (text, path=None))]
    fn from_toml(py: Python<'_>, text: &str, path: Option<PathBuf>) -> PyResult<PyScenario> {
        error::detached(py, || {
            let path = path.unwrap_or_default();
            Document::parse(text, path).map(PyScenario::of).map_err(|e| error::scenario(&e))
        })
    }

    /// A scenario from a dictionary with the keys of a scenario file. Quantities are texts with units or
    /// numbers in seconds, bytes and bit/s.
    #[staticmethod]
    pub fn from_dict(values: &Bound<'_, PyDict>) -> PyResult<PyScenario> {
        error::guarded(|| {
            let toml = document::from_dict(values)?;
            Document::parse(&toml, "").map(PyScenario::of).map_err(|e| error::scenario(&e))
        })
    }

    /// `link`, `stream` or `cpu`.
    #[getter]
    fn kind(&self) -> &'static str {
        match &self.shared {
            Shared::Link(_) => "link",
            Shared::Stream(_) => "stream",
            Shared::Cpu(_) => "cpu",
        }
    }

    /// The name.
    #[getter]
    fn name(&self) -> String {
        self.document().name().to_owned()
    }

    /// The names of flows and classes, of stream classes, or of tasks.
    #[getter]
    fn names(&self) -> Vec<String> {
        match &self.shared {
            Shared::Link(s) => s.flow_names().map(str::to_owned).collect(),
            Shared::Stream(s) => s.streams.iter().map(|c| c.name.clone()).collect(),
            Shared::Cpu(s) => s.tasks.iter().map(|t| t.name.clone()).collect(),
        }
    }

    /// The policy in use.
    #[getter]
    fn policy(&self) -> String {
        match &self.shared {
            Shared::Link(s) => s.policy.use_.clone(),
            Shared::Stream(s) => s.policy.use_.clone(),
            Shared::Cpu(s) => s.policy.use_.clone(),
        }
    }

    /// The text of a scenario file that reads back equal.
    fn to_toml(&self) -> PyResult<String> {
        error::guarded(|| Ok(self.document().to_toml()))
    }

    /// What `laxity check` says.
    #[pyo3(signature = (policy=None))]
    fn check(&self, py: Python<'_>, policy: Option<&str>) -> PyResult<PyCheck> {
        if let Some(name) = policy {
            simulate::check_name(name, self.document().kind().policies())?;
        }
        error::detached(py, || PyCheck::of(&self.shared, policy))
    }

    /// What `laxity simulate` computes. `policies` are names, or classes and functions that return a
    /// policy for the scenario; those of the scenario by default, all with `"all"`. `seeds` is a seed or
    /// several, `trace` replaces the sources of a link, `recording` adds recorded threads to the tasks of CPUs,
    /// `record` keeps packets, or slices and jobs.
    #[pyo3(signature = (policies=None, *, seeds=None, duration=None, trace=None, recording=None, record=false))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn simulate(
        &self,
        py: Python<'_>,
        policies: Option<&Bound<'_, PyAny>>,
        seeds: Option<&Bound<'_, PyAny>>,
        duration: Option<&Bound<'_, PyAny>>,
        trace: Option<&Bound<'_, PyAny>>,
        recording: Option<&Bound<'_, PyAny>>,
        record: bool,
    ) -> PyResult<PySimulation> {
        let trace = trace.map(read::<PyTrace>).transpose()?;
        let recording = recording.map(read::<PyRecording>).transpose()?;
        if recording.is_some() && !matches!(self.shared, Shared::Cpu(_)) {
            let text =
                "recording has no meaning for links and streams: it is about threads of CPUs";
            return Err(error::input(text));
        }
        let request = Request::new(policies, seeds, duration, trace, recording, record)?;
        error::guarded(|| {
            let outcome = match &self.shared {
                Shared::Link(scenario) => simulate::link::run(py, scenario, request)?,
                Shared::Stream(scenario) => simulate::stream::run(py, scenario, request)?,
                Shared::Cpu(scenario) => simulate::cpu::run(py, scenario, request)?,
            };
            Ok(PySimulation(outcome))
        })
    }

    /// What `laxity link plan` computes for a link: a tree of `target`, one of `hfsc`, `htb` and `cbs`, on an
    /// interface. Its model runs beside policies: `simulate([plan, "exact"])`. `shape` puts `tbf` above it,
    /// `timer_lateness` is how late a timer of the kernel may be.
    #[pyo3(signature = (target, *, device="eth0", shape=false, timer_lateness=None))]
    fn plan(
        &self,
        py: Python<'_>,
        target: &str,
        device: &str,
        shape: bool,
        timer_lateness: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyPlan> {
        let late = timer_lateness.map(number::span).transpose()?.unwrap_or(Span::ZERO);
        let scenario = self.link()?;
        error::detached(py, || PyPlan::of(scenario, target, device, shape, late))
    }

    /// The capacity of a link that its real-time flows leave: `effective` for best effort, `admission`
    /// for further flows, `deadlines` as the assigners see it (RTAS 2002, section 4).
    #[pyo3(signature = (kind="effective"))]
    fn residual(&self, py: Python<'_>, kind: &str) -> PyResult<PyCurve> {
        let scenario = self.link()?;
        error::detached(py, || {
            let residual = scenario.setup().residual().map_err(|e| error::curve(&e))?;
            let curve = match kind {
                "effective" => residual.effective(),
                "admission" => residual.admission(),
                "deadlines" => residual.deadlines(),
                _ => {
                    let text = format!("kind `{kind}`: give effective, admission or deadlines");
                    return Err(error::input(text));
                }
            };
            Ok(PyCurve(curve.clone()))
        })
    }

    /// The envelopes of the real-time flows of a link, by name.
    #[getter]
    fn envelopes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let envelopes = PyDict::new(py);
        for flow in &self.link()?.realtime {
            envelopes.set_item(&flow.name, PyEnvelope(flow.envelope.clone()))?;
        }
        Ok(envelopes)
    }

    fn __eq__(&self, other: &PyScenario) -> bool {
        self.document() == other.document()
    }

    fn __reduce__(slf: &Bound<'_, PyScenario>) -> PyResult<(Py<PyAny>, FromToml)> {
        let document = slf.get().document();
        // Python makes "." of an empty path.
        let path = Some(document.path().to_owned()).filter(|path| !path.as_os_str().is_empty());
        Ok((slf.getattr("from_toml")?.unbind(), (document.to_toml(), path)))
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {} of {}: {}>", self.name(), self.kind(), self.names().join(", "))
    }
}

/// A trace or recording: one that is made, a file, or a data frame.
fn read<T: PyClass + Clone>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    if let Ok(made) = value.cast::<T>() {
        return Ok(made.borrow().clone());
    }
    let class = value.py().get_type::<T>();
    let made = match value.extract::<PathBuf>() {
        Ok(path) => class.call_method1("file", (path,))?,
        Err(_) => class.call_method1("from_frame", (value,))?,
    };
    Ok(made.cast::<T>()?.borrow().clone())
}
