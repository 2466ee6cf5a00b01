//! A CPU policy written in Python, in the engine of the built-in ones.
//!
//! The object has `join(now, task, attributes)`, `wake(now, task)`, `block(now, task, ran)`,
//! `ran(now, task, ran)` and `pick(now, cpu)`, which returns a task, a task with the latest end of its
//! slice, or `None`; and, as far as it needs them, `leave`, `change`, `timer` and `next_event`.

use std::sync::Arc;

use laxity_core::{Span, Time};
use laxity_cpu::{Admitted, Attributes, CpuId, Pick, Policy, Refusal, TaskId};
use laxity_scenario::Document;
use laxity_scenario::cpu::CpuScenario;
use laxity_sim::Control;
use pyo3::prelude::*;

use crate::cpu_policy::PyAttributes;
use crate::error;
use crate::failure::Failure;
use crate::scenario::PyScenario;

/// The policy of one run.
pub struct Callback {
    join: Py<PyAny>,
    wake: Py<PyAny>,
    block: Py<PyAny>,
    ran: Py<PyAny>,
    pick: Py<PyAny>,
    leave: Option<Py<PyAny>>,
    change: Option<Py<PyAny>>,
    timer: Option<Py<PyAny>>,
    next_event: Option<Py<PyAny>>,
    failure: Failure,
}

impl Callback {
    /// Asks the factory for a policy; exceptions of its methods are noted in the failure.
    pub fn new(
        py: Python<'_>,
        factory: &Py<PyAny>,
        scenario: &CpuScenario,
        control: &Arc<Control>,
    ) -> PyResult<(Callback, Failure)> {
        let document = PyScenario::of(Document::Cpu(scenario.clone()));
        let object = factory.bind(py).call1((document,))?;
        let method = |name: &str| object.getattr(name).map(Bound::unbind);
        let optional = |name: &str| object.getattr_opt(name).map(|m| m.map(Bound::unbind));
        let failure = Failure::new(control);
        let callback = Callback {
            join: method("join")?,
            wake: method("wake")?,
            block: method("block")?,
            ran: method("ran")?,
            pick: method("pick")?,
            leave: optional("leave")?,
            change: optional("change")?,
            timer: optional("timer")?,
            next_event: optional("next_event")?,
            failure: failure.clone(),
        };
        Ok((callback, failure))
    }

    fn admitted(
        &self,
        now: Time,
        method: &Py<PyAny>,
        task: TaskId,
        attributes: &Attributes,
    ) -> Admitted {
        let args = (now.0, task.0, PyAttributes(*attributes));
        let from: Option<u64> = self.failure.call(method, args, |answer| answer.extract());
        Admitted { from: from.map_or(now, |from| Time(from).max(now)) }
    }
}

/// A task, or a task and an instant.
fn picked(answer: &Bound<'_, PyAny>) -> PyResult<Option<Pick>> {
    if answer.is_none() {
        return Ok(None);
    }
    if let Ok(task) = answer.extract::<u32>() {
        return Ok(Some(Pick { task: TaskId(task), until: Time::MAX }));
    }
    let (task, until): (u32, Option<u64>) = answer.extract().map_err(|_| {
        error::policy("pick returned something else: return a task, (task, until) or None")
    })?;
    Ok(Some(Pick { task: TaskId(task), until: until.map_or(Time::MAX, Time) }))
}

impl Policy for Callback {
    fn join(
        &mut self,
        now: Time,
        task: TaskId,
        attributes: &Attributes,
    ) -> Result<Admitted, Refusal> {
        Ok(self.admitted(now, &self.join, task, attributes))
    }

    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        // What does not care about departures is asked for the next task all the same.
        let method = self.leave.as_ref().unwrap_or(&self.block);
        self.failure.tell(method, (now.0, task.0, ran.0));
    }

    fn change(
        &mut self,
        now: Time,
        task: TaskId,
        attributes: &Attributes,
    ) -> Result<Admitted, Refusal> {
        let Some(change) = &self.change else { return Ok(Admitted { from: now }) };
        Ok(self.admitted(now, change, task, attributes))
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        self.failure.tell(&self.wake, (now.0, task.0));
    }

    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        self.failure.tell(&self.block, (now.0, task.0, ran.0));
    }

    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        self.failure.tell(&self.ran, (now.0, task.0, ran.0));
    }

    fn timer(&mut self, now: Time) {
        if let Some(timer) = &self.timer {
            self.failure.tell(timer, (now.0,));
        }
    }

    fn next_event(&self) -> Option<Time> {
        let next: Option<u64> =
            self.failure.call(self.next_event.as_ref()?, (), |answer| answer.extract());
        next.map(Time)
    }

    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        self.failure.call(&self.pick, (now.0, cpu.0), picked)
    }
}
