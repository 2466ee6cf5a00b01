//! The verdict of `laxity check`.

use std::path::PathBuf;
use std::sync::Arc;

use laxity_analysis::{cpu, link, page, stream};
use laxity_report::{self as report, Kind, Meta, Page, text};
use laxity_results::{CheckResult, CpuCheckResult, StreamCheckResult, Verdict};
use laxity_scenario::cpu::CpuScenario;
use laxity_scenario::link::model::Scenario;
use laxity_scenario::stream::StreamScenario;
use pyo3::prelude::*;

use crate::scenario::Shared;
use crate::simulate::{meta, preformatted, write_page};
use crate::{error, json};

/// A verdict with the scenario that it is about.
#[derive(Clone, Debug)]
enum Judged {
    Link(CheckResult, Arc<Scenario>),
    Stream(StreamCheckResult, Arc<StreamScenario>),
    Cpu(CpuCheckResult, Arc<CpuScenario>),
}

/// Whether what a scenario asks for fits, and how much more or less would.
#[pyclass(frozen, module = "laxity", name = "Check")]
#[derive(Clone, Debug)]
pub struct PyCheck(Judged);

impl PyCheck {
    /// Analyses a scenario under one of its policies, by default the one in use.
    pub fn of(scenario: &Shared, policy: Option<&str>) -> PyResult<PyCheck> {
        Ok(PyCheck(match scenario {
            Shared::Link(s) => {
                let check = link::analyse(s, policy.unwrap_or(&s.policy.use_));
                Judged::Link(check.map_err(error::input)?, Arc::clone(s))
            }
            Shared::Stream(s) => {
                let check = stream::analyse(s, policy.unwrap_or(&s.policy.use_));
                Judged::Stream(check, Arc::clone(s))
            }
            Shared::Cpu(s) => {
                let check = cpu::analyse(s, policy.unwrap_or(&s.policy.use_));
                Judged::Cpu(check.map_err(error::input)?, Arc::clone(s))
            }
        }))
    }

    fn verdict(&self) -> Verdict {
        match &self.0 {
            Judged::Link(check, _) => Verdict::Link(check.clone()),
            Judged::Stream(check, _) => Verdict::Stream(check.clone()),
            Judged::Cpu(check, _) => Verdict::Cpu(check.clone()),
        }
    }

    fn meta(&self) -> Meta {
        let meta = match &self.0 {
            Judged::Link(_, s) => page::link_meta(s, meta(&s.policy.use_)),
            Judged::Stream(_, s) => meta(&s.policy.use_),
            Judged::Cpu(_, s) => meta(&s.policy.use_),
        };
        Meta { kind: Kind::Analysed, ..meta }
    }

    fn text(&self) -> String {
        let style = text::Style::PLAIN;
        match &self.0 {
            Judged::Link(check, _) => text::check(check, &self.meta().deadlines, style),
            Judged::Stream(check, _) => text::stream_check(check, style),
            Judged::Cpu(check, _) => text::cpu_check(check, style),
        }
    }

    fn page(&self) -> Page {
        let meta = self.meta();
        match &self.0 {
            Judged::Link(check, s) => {
                report::check_page(&s.name, check, page::residual_plot(s).as_ref(), &meta)
            }
            Judged::Stream(check, s) => report::stream_check_page(&s.name, check, &meta),
            Judged::Cpu(check, s) => report::cpu_check_page(&s.name, check, &meta),
        }
    }

    fn utilisation_of(&self) -> f64 {
        match &self.0 {
            Judged::Link(check, _) => check.utilisation,
            Judged::Stream(check, _) => check.utilisation,
            Judged::Cpu(check, _) => check.utilisation,
        }
    }

    fn is_admitted(&self) -> bool {
        match &self.0 {
            Judged::Link(check, _) => check.admitted,
            Judged::Stream(check, _) => check.admitted,
            Judged::Cpu(check, _) => check.admitted,
        }
    }
}

#[pymethods]
impl PyCheck {
    /// Whether everything fits.
    #[getter]
    fn admitted(&self) -> bool {
        self.is_admitted()
    }

    /// The used part of the capacity.
    #[getter]
    fn utilisation(&self) -> f64 {
        self.utilisation_of()
    }

    /// The verdict as `laxity check --json` prints it.
    fn to_dict(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let text = error::guarded(|| serde_json::to_string(&self.verdict()).map_err(error::input))?;
        json::loads(py, &text)
    }

    /// A data frame of pandas: a row for each flow, class or request.
    fn to_pandas(slf: &Bound<'_, PyCheck>) -> PyResult<Py<PyAny>> {
        Ok(slf.py().import("laxity.frames")?.call_method1("check_to_pandas", (slf,))?.unbind())
    }

    /// A data frame of polars.
    fn to_polars(slf: &Bound<'_, PyCheck>) -> PyResult<Py<PyAny>> {
        Ok(slf.py().import("laxity.frames")?.call_method1("check_to_polars", (slf,))?.unbind())
    }

    /// Writes the page of `laxity check --report`.
    fn report(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        write_page(py, &path, || self.page())
    }

    /// Draws the residual capacity of a link with matplotlib.
    #[pyo3(signature = (ax=None))]
    fn plot(slf: &Bound<'_, PyCheck>, ax: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        Ok(slf.py().import("laxity.plotting")?.call_method1("check", (slf, ax))?.unbind())
    }

    fn __bool__(&self) -> bool {
        self.is_admitted()
    }

    fn __str__(&self) -> PyResult<String> {
        error::guarded(|| Ok(self.text()))
    }

    fn __repr__(&self) -> String {
        let admitted = if self.is_admitted() { "admitted" } else { "refused" };
        format!("<Check: {admitted}, utilisation {:.3}>", self.utilisation_of())
    }

    fn _repr_html_(&self) -> PyResult<String> {
        error::guarded(|| Ok(preformatted(&self.text())))
    }
}
