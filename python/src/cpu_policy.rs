//! A CPU policy step by step, and the attributes of tasks.

use laxity_core::{Span, Time};
use laxity_cpu::registry::{self, Options};
use laxity_cpu::{Attributes, CpuId, CpuSet, GroupId, Nice, Policy, Reservation, Service, TaskId};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::stepped::Stepped;
use crate::{error, number};

/// The most tasks: policies have tables up to the greatest number.
const MOST_TASKS: u32 = 1 << 20;

/// The attributes of a task, immutable.
#[pyclass(frozen, eq, module = "laxity", name = "Attributes")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PyAttributes(pub Attributes);

#[pymethods]
impl PyAttributes {
    /// Best effort at a nice value; with `budget` and `period` a reservation, which is hard unless
    /// `soft`. Times are in seconds or texts with units.
    #[new]
    #[pyo3(signature = (nice=0, *, budget=None, period=None, deadline=None, soft=false, group=None))]
    fn new(
        nice: i8,
        budget: Option<&Bound<'_, PyAny>>,
        period: Option<&Bound<'_, PyAny>>,
        deadline: Option<&Bound<'_, PyAny>>,
        soft: bool,
        group: Option<u32>,
    ) -> PyResult<PyAttributes> {
        let nice = Nice::new(nice)
            .ok_or_else(|| error::input(format_args!("nice {nice}: give -20 to 19")))?;
        let service = match (budget, period) {
            (None, None) if deadline.is_none() => Service::BestEffort,
            (Some(budget), Some(period)) => {
                let (budget, period) = (number::span(budget)?, number::span(period)?);
                let deadline = deadline.map_or(Ok(period), number::span)?;
                let reservation = Reservation { budget, period, deadline };
                reservation.check().map_err(error::input)?;
                if soft { Service::Soft(reservation) } else { Service::Hard(reservation) }
            }
            _ => {
                return Err(error::input("a reservation has a `budget` and a `period`: give both"));
            }
        };
        let group = group.map(GroupId);
        Ok(PyAttributes(Attributes { nice, service, group, affinity: CpuSet::ALL }))
    }

    /// The nice value.
    #[getter]
    fn nice(&self) -> i8 {
        self.0.nice.get()
    }

    /// `hard`, `soft` or `best_effort`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.service {
            Service::Hard(_) => "hard",
            Service::Soft(_) => "soft",
            Service::BestEffort => "best_effort",
        }
    }

    /// `(budget, period, deadline)` of the reservation in ns.
    #[getter]
    fn reservation(&self) -> Option<(u64, u64, u64)> {
        match self.0.service {
            Service::Hard(r) | Service::Soft(r) => Some((r.budget.0, r.period.0, r.deadline.0)),
            Service::BestEffort => None,
        }
    }

    /// The group, if any.
    #[getter]
    fn group(&self) -> Option<u32> {
        self.0.group.map(|group| group.0)
    }

    fn __repr__(&self) -> String {
        match self.0.service {
            Service::Hard(r) => format!("<Attributes hard: {r}>"),
            Service::Soft(r) => format!("<Attributes soft: {r}>"),
            Service::BestEffort => format!("<Attributes best effort: nice {}>", self.0.nice),
        }
    }
}

/// A policy for one CPU, driven by calls with instants in ns that never decrease.
///
/// At one instant: first `ran`, `block` or `leave` of the task that ran; then `join`, `wake` and
/// `change`; then `timer`, if `next_event` is due; then `pick`.
#[pyclass(frozen, module = "laxity", name = "CpuPolicy")]
pub struct PyCpuPolicy {
    state: Stepped<Box<dyn Policy + Send>>,
    name: String,
}

impl PyCpuPolicy {
    fn at<T>(&self, now: u64, step: impl FnOnce(&mut dyn Policy) -> PyResult<T>) -> PyResult<T> {
        error::guarded(|| step(&mut *self.state.at(now)?.steps))
    }
}

fn task_id(task: u32) -> PyResult<TaskId> {
    if task < MOST_TASKS {
        return Ok(TaskId(task));
    }
    Err(error::policy(format_args!("task {task}: number them from 0 to {}", MOST_TASKS - 1)))
}

#[pymethods]
impl PyCpuPolicy {
    /// The policy of this name, with options as in scenario files.
    #[new]
    #[pyo3(signature = (name, **options))]
    fn new(name: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<PyCpuPolicy> {
        let options = match options {
            None => Options::default(),
            Some(given) => read_options(name, given)?,
        };
        error::guarded(|| {
            let policy = registry::build(name, &options).map_err(error::input)?;
            Ok(PyCpuPolicy { state: Stepped::new(policy), name: name.to_owned() })
        })
    }

    /// A task joins, asleep; returns the instant from which its attributes are in force.
    fn join(&self, now: u64, task: u32, attributes: &PyAttributes) -> PyResult<u64> {
        let task = task_id(task)?;
        let join = |policy: &mut dyn Policy| {
            policy.join(Time(now), task, &attributes.0).map_err(error::input)
        };
        Ok(self.at(now, join)?.from.0)
    }

    /// A task leaves, after running for `ran` ns since the last report.
    #[pyo3(signature = (now, task, ran=0))]
    fn leave(&self, now: u64, task: u32, ran: u64) -> PyResult<()> {
        let task = task_id(task)?;
        self.at(now, |policy| {
            policy.leave(Time(now), task, Span(ran));
            Ok(())
        })
    }

    /// A task gets other attributes; returns the instant from which they are in force.
    fn change(&self, now: u64, task: u32, attributes: &PyAttributes) -> PyResult<u64> {
        let task = task_id(task)?;
        let change = |policy: &mut dyn Policy| {
            policy.change(Time(now), task, &attributes.0).map_err(error::input)
        };
        Ok(self.at(now, change)?.from.0)
    }

    /// A task becomes runnable.
    fn wake(&self, now: u64, task: u32) -> PyResult<()> {
        let task = task_id(task)?;
        self.at(now, |policy| {
            policy.wake(Time(now), task);
            Ok(())
        })
    }

    /// A task ran for `ran` ns since the last report and blocks.
    #[pyo3(signature = (now, task, ran=0))]
    fn block(&self, now: u64, task: u32, ran: u64) -> PyResult<()> {
        let task = task_id(task)?;
        self.at(now, |policy| {
            policy.block(Time(now), task, Span(ran));
            Ok(())
        })
    }

    /// A task ran for `ran` ns since the last report and stays runnable.
    fn ran(&self, now: u64, task: u32, ran: u64) -> PyResult<()> {
        let task = task_id(task)?;
        self.at(now, |policy| {
            policy.ran(Time(now), task, Span(ran));
            Ok(())
        })
    }

    /// The instant of `next_event` has come.
    fn timer(&self, now: u64) -> PyResult<()> {
        self.at(now, |policy| {
            policy.timer(Time(now));
            Ok(())
        })
    }

    /// The latest instant of the next `timer`.
    fn next_event(&self) -> PyResult<Option<u64>> {
        error::guarded(|| Ok(self.state.lock().steps.next_event().map(|at| at.0)))
    }

    /// The task that runs from now on, and until when at the latest without another event; `None` for
    /// an idle CPU.
    fn pick(&self, now: u64) -> PyResult<Option<(u32, Option<u64>)>> {
        let pick = self.at(now, |policy| Ok(policy.pick(Time(now), CpuId::FIRST)))?;
        let until = |until: Time| Some(until.0).filter(|_| until != Time::MAX);
        Ok(pick.map(|pick| (pick.task.0, until(pick.until))))
    }

    fn __repr__(&self) -> String {
        format!("<CpuPolicy {}>", self.name)
    }
}

/// Options by way of a scenario, which knows their types and ranges.
fn read_options(name: &str, given: &Bound<'_, PyDict>) -> PyResult<Options> {
    let known = registry::find(name);
    let py = given.py();
    let (root, policy, task) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
    let options = PyDict::new(py);
    for (key, value) in given.iter() {
        // Python has no dashes in names.
        options.set_item(key.extract::<String>()?.replace('_', "-"), value)?;
    }
    policy.set_item("use", name)?;
    if known.is_some() {
        policy.set_item(name, options)?;
    }
    task.set_item("name", "any")?;
    task.set_item("work", "cpu-bound")?;
    root.set_item("cpu", PyDict::new(py))?;
    root.set_item("policy", policy)?;
    root.set_item("task", vec![task])?;
    let document = crate::scenario::PyScenario::from_dict(&root)?;
    Ok(document.cpu()?.policy.options)
}
