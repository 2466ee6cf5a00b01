//! A link policy written in Python, in the engine of the built-in ones.
//!
//! The object has `enqueue(now, packet)`, `dequeue(now)`, which returns a packet, a departure or
//! `None`, and, if it ever keeps packets back, `next_event()`. One that drops packets has `drops()`,
//! which returns those dropped since the last call, each with a reason of the built-in policies.

use std::collections::HashMap;
use std::sync::Arc;

use laxity_core::Time;
use laxity_link::buffer::DropReason;
use laxity_link::{Departure, DropSink, LinkPolicy, Packet};
use laxity_scenario::Document;
use laxity_scenario::link::model::Scenario;
use laxity_sim::Control;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error;
use crate::failure::Failure;
use crate::packet::{PyDeparture, PyPacket};
use crate::scenario::PyScenario;

/// The policy of one run.
pub struct Callback {
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
    next_event: Option<Py<PyAny>>,
    drops: Option<Py<PyAny>>,
    /// Packets that the policy holds, by number.
    held: HashMap<u64, Packet>,
    /// Whether each flow of the scenario is real-time, with its deadline in ns.
    deadlines: Vec<Option<u64>>,
    failure: Failure,
}

impl Callback {
    /// Asks the factory for a policy; exceptions of its methods are noted in the failure.
    pub fn new(
        py: Python<'_>,
        factory: &Py<PyAny>,
        scenario: &Arc<Scenario>,
        control: &Arc<Control>,
    ) -> PyResult<(Callback, Failure)> {
        let document = PyScenario::of(Document::Link(Scenario::clone(scenario)));
        let object = factory.bind(py).call1((document,))?;
        let method = |name: &str| object.getattr(name).map(Bound::unbind);
        let optional = |name: &str| object.getattr_opt(name).map(|m| m.map(Bound::unbind));
        let realtime = scenario.realtime.iter().map(|f| f.delay_bound().map(|d| d.0));
        let best_effort = scenario.best_effort.iter().map(|_| None);
        let failure = Failure::new(control);
        let callback = Callback {
            enqueue: method("enqueue")?,
            dequeue: method("dequeue")?,
            next_event: optional("next_event")?,
            drops: optional("drops")?,
            held: HashMap::new(),
            deadlines: realtime.chain(best_effort).collect(),
            failure: failure.clone(),
        };
        Ok((callback, failure))
    }

    /// Reports what the policy dropped.
    fn report(&mut self, py: Python<'_>, now: Time, sink: &mut dyn DropSink) -> PyResult<()> {
        let Some(drops) = &self.drops else { return Ok(()) };
        let dropped = drops.bind(py).call0()?;
        for item in dropped.try_iter()? {
            let item = item?;
            let (packet, reason) = match item.cast::<PyTuple>() {
                Ok(pair) => {
                    let (packet, reason): (Bound<'_, PyPacket>, String) = pair.extract()?;
                    (packet.get().0, named(&reason)?)
                }
                Err(_) => (item.cast::<PyPacket>()?.get().0, DropReason::PushedOut),
            };
            let held = self.held.remove(&packet.seq).ok_or_else(|| not_held(packet.seq))?;
            sink.dropped(now, &held, reason);
        }
        Ok(())
    }

    /// Asks for the next departure and reports what was dropped meanwhile. What departs is the packet that
    /// came, not the one that the policy says; a built-in policy may have demoted or marked it.
    fn take(
        &mut self,
        py: Python<'_>,
        now: Time,
        sink: &mut dyn DropSink,
    ) -> PyResult<Option<Departure>> {
        let answer = self.dequeue.bind(py).call1((now.0,))?;
        if answer.is_none() {
            self.report(py, now, sink)?;
            return Ok(None);
        }
        let departure = if let Ok(packet) = answer.cast::<PyPacket>() {
            let packet = self.came(&packet.get().0)?;
            // The deadline of the flow counts, whatever the policy made of it.
            let deadline = self.deadlines.get(packet.flow.index()).copied().flatten();
            let due = deadline.map_or(Time::MAX, |d| Time(packet.arrival.0.saturating_add(d)));
            Departure { packet, deadline: due, realtime: deadline.is_some(), dropped: false }
        } else {
            let departure = answer.cast::<PyDeparture>().map_err(|_| {
                let class = answer.get_type();
                let name =
                    class.name().map_or_else(|_| "something".to_owned(), |name| name.to_string());
                error::policy(format_args!(
                    "dequeue returned {name}: return a packet, a departure or None"
                ))
            })?;
            let departure = departure.get().0;
            let Packet { demoted, ecn, .. } = departure.packet;
            let packet = Packet { demoted, ecn, ..self.came(&departure.packet)? };
            Departure { packet, ..departure }
        };
        let seq = departure.packet.seq;
        if !departure.dropped {
            self.held.remove(&seq);
        }
        self.report(py, now, sink)?;
        if departure.dropped && self.held.contains_key(&seq) {
            return Err(error::policy(format_args!(
                "packet {seq} departs as dropped, and `drops()` does not name it"
            )));
        }
        Ok(Some(departure))
    }

    /// The packet that came under the number of this one, if it is the same.
    fn came(&self, packet: &Packet) -> PyResult<Packet> {
        let seq = packet.seq;
        let held = *self.held.get(&seq).ok_or_else(|| not_held(seq))?;
        let same = Packet { demoted: held.demoted, ecn: held.ecn, ..*packet } == held;
        same.then_some(held).ok_or_else(|| {
            error::policy(format_args!(
                "packet {seq} departs with another flow, arrival, length or key than it came with"
            ))
        })
    }
}

fn not_held(seq: u64) -> PyErr {
    error::policy(format_args!(
        "packet {seq} is not with the policy: it was sent, dropped, or never came"
    ))
}

fn named(reason: &str) -> PyResult<DropReason> {
    DropReason::ALL.into_iter().find(|r| r.name() == reason).ok_or_else(|| {
        let names: Vec<&str> = DropReason::ALL.iter().map(|r| r.name()).collect();
        error::policy(format_args!("no reason `{reason}`; there are {}", names.join(", ")))
    })
}

impl LinkPolicy for Callback {
    fn enqueue(&mut self, now: Time, packet: Packet, drops: &mut dyn DropSink) {
        if self.failure.is_set() {
            return;
        }
        self.held.insert(packet.seq, packet);
        let done = Python::attach(|py| {
            self.enqueue.bind(py).call1((now.0, PyPacket(packet)))?;
            self.report(py, now, drops)
        });
        if let Err(error) = done {
            self.failure.note(error);
        }
    }

    fn handle_stall(&mut self) {}

    fn dequeue(&mut self, now: Time, drops: &mut dyn DropSink) -> Option<Departure> {
        if self.failure.is_set() {
            return None;
        }
        let taken = Python::attach(|py| self.take(py, now, drops));
        taken.unwrap_or_else(|error| {
            self.failure.note(error);
            None
        })
    }

    fn next_event(&self) -> Option<Time> {
        let next_event = self.next_event.as_ref().filter(|_| !self.failure.is_set())?;
        let next = Python::attach(|py| next_event.bind(py).call0()?.extract::<Option<u64>>());
        next.unwrap_or_else(|error| {
            self.failure.note(error);
            None
        })
        .map(Time)
    }

    fn waiting(&self) -> usize {
        self.held.len()
    }
}
