//! A policy of the registry step by step, for simulators and programs with engines of their own.

use laxity_core::Time;
use laxity_link::buffer::DropReason;
use laxity_link::{LinkPolicy, Packet, registry};
use pyo3::prelude::*;

use crate::error;
use crate::packet::{PyDeparture, PyPacket};
use crate::scenario::PyScenario;
use crate::stepped::Stepped;

struct Steps {
    policy: Box<dyn LinkPolicy + Send>,
    drops: Vec<(Packet, DropReason)>,
}

/// A link policy, driven by calls with instants in ns that never decrease.
#[pyclass(frozen, module = "laxity", name = "LinkPolicy")]
pub struct PyLinkPolicy {
    state: Stepped<Steps>,
    flows: u32,
    name: String,
}

#[pymethods]
impl PyLinkPolicy {
    /// A policy of this name for the link of a scenario.
    #[new]
    fn new(scenario: &PyScenario, name: &str) -> PyResult<PyLinkPolicy> {
        error::guarded(|| {
            let link = scenario.link()?;
            let policy = registry::build(name, &link.setup()).map_err(error::input)?;
            let state = Stepped::new(Steps { policy, drops: Vec::new() });
            let flows = link.flow_names().count() as u32;
            Ok(PyLinkPolicy { state, flows, name: name.to_owned() })
        })
    }

    /// Takes a packet that arrives now.
    fn enqueue(&self, now: u64, packet: &PyPacket) -> PyResult<()> {
        if packet.0.flow.0 >= self.flows {
            let (flow, flows) = (packet.0.flow.0, self.flows);
            return Err(error::policy(format_args!("flow {flow}: the scenario has {flows} flows")));
        }
        error::guarded(|| {
            let mut state = self.state.at(now)?;
            let Steps { policy, drops } = &mut state.steps;
            let mut sink = |_: Time, packet: &Packet, reason| drops.push((*packet, reason));
            policy.enqueue(Time(now), packet.0, &mut sink);
            Ok(())
        })
    }

    /// The packet to send on the free link, if any.
    fn dequeue(&self, now: u64) -> PyResult<Option<PyDeparture>> {
        error::guarded(|| {
            let mut state = self.state.at(now)?;
            let Steps { policy, drops } = &mut state.steps;
            let mut sink = |_: Time, packet: &Packet, reason| drops.push((*packet, reason));
            Ok(policy.dequeue(Time(now), &mut sink).map(PyDeparture))
        })
    }

    /// When `dequeue` may return a packet without a further arrival, after it returned none.
    fn next_event(&self) -> PyResult<Option<u64>> {
        error::guarded(|| Ok(self.state.lock().steps.policy.next_event().map(|at| at.0)))
    }

    /// Reports that the link sent nothing for longer than its downstream backlog, though packets waited.
    fn handle_stall(&self) -> PyResult<()> {
        error::guarded(|| {
            self.state.lock().steps.policy.handle_stall();
            Ok(())
        })
    }

    /// The number of packets that wait.
    fn waiting(&self) -> PyResult<usize> {
        error::guarded(|| Ok(self.state.lock().steps.policy.waiting()))
    }

    /// The packets dropped since the last call, each with the reason.
    fn drops(&self) -> Vec<(PyPacket, &'static str)> {
        let mut state = self.state.lock();
        state
            .steps
            .drops
            .drain(..)
            .map(|(packet, reason)| (PyPacket(packet), reason.name()))
            .collect()
    }

    fn __repr__(&self) -> String {
        format!("<LinkPolicy {}>", self.name)
    }
}
