//! A scenario as a tree of the kernel's own disciplines: `laxity link plan`.

use std::sync::Arc;

use laxity_analysis::tc::plan::{Plan, PlanRequest, Target, plan};
use laxity_core::Span;
use laxity_report::text::{Style, tc_plan};
use laxity_scenario::link::model::Scenario;
use laxity_sim::link::disciplines::TreePolicy;
use pyo3::prelude::*;

use crate::simulate::preformatted;
use crate::{error, json};

/// A scenario as a tree of `hfsc`, `htb` or `cbs`, with what it guarantees; immutable.
#[pyclass(frozen, module = "laxity", name = "Plan")]
#[derive(Clone, Debug)]
pub struct PyPlan {
    scenario: Arc<Scenario>,
    plan: Arc<Plan>,
}

impl PyPlan {
    /// Plans a scenario for a discipline, by its name.
    pub fn of(
        scenario: &Arc<Scenario>,
        target: &str,
        device: &str,
        shape: bool,
        timer_lateness: Span,
    ) -> PyResult<PyPlan> {
        let all = [Target::Hfsc, Target::Htb, Target::Cbs];
        let target = all.into_iter().find(|t| t.name() == target).ok_or_else(|| {
            error::input(format_args!("target `{target}`: give hfsc, htb or cbs"))
        })?;
        // Names go into commands for a shell.
        let plain = |c: char| c.is_ascii_alphanumeric() || "._:@-".contains(c);
        if device.is_empty()
            || device.len() > 15
            || device.starts_with('-')
            || !device.chars().all(plain)
        {
            return Err(error::input(format_args!(
                "device `{device}`: give at most 15 letters, digits and . _ : @ -"
            )));
        }
        let request = PlanRequest { target, device, shape, timer_lateness };
        let plan = plan(scenario, &request).map_err(error::input)?;
        Ok(PyPlan { scenario: Arc::clone(scenario), plan: Arc::new(plan) })
    }

    /// The name of the discipline.
    pub fn name(&self) -> &str {
        &self.plan.result.target
    }

    /// The model of the tree, for a run of the scenario that was planned.
    pub fn policy(&self, scenario: &Scenario) -> PyResult<TreePolicy> {
        if *self.scenario != *scenario {
            return Err(error::input("the plan is of another scenario: plan this one"));
        }
        self.plan.model.policy(scenario.link.rate.0).map_err(error::input)
    }

    fn text(&self) -> String {
        tc_plan(&self.plan.result, Style::PLAIN)
    }
}

#[pymethods]
impl PyPlan {
    /// The discipline: `hfsc`, `htb` or `cbs`.
    #[getter]
    fn target(&self) -> &str {
        self.name()
    }

    /// Whether every deadline is guaranteed.
    #[getter]
    fn guaranteed(&self) -> bool {
        self.plan.result.guaranteed
    }

    /// The commands of `tc`, in order.
    #[getter]
    fn commands(&self) -> Vec<String> {
        self.plan.result.commands.clone()
    }

    /// The plan as `laxity link plan --json` prints it, without its simulation.
    fn to_dict(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let text =
            error::guarded(|| serde_json::to_string(&self.plan.result).map_err(error::input))?;
        json::loads(py, &text)
    }

    fn __bool__(&self) -> bool {
        self.plan.result.guaranteed
    }

    fn __str__(&self) -> PyResult<String> {
        error::guarded(|| Ok(self.text()))
    }

    fn __repr__(&self) -> String {
        let kept = if self.plan.result.guaranteed { "guaranteed" } else { "not guaranteed" };
        format!("<Plan: {} for {}, {kept}>", self.name(), self.scenario.name)
    }

    fn _repr_html_(&self) -> PyResult<String> {
        error::guarded(|| Ok(preformatted(&self.text())))
    }
}
