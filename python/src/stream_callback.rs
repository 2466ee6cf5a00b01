//! A stream policy written in Python, in the engine of the built-in ones: the order in which streams are served.
//!
//! The object has `update(stream, head)`, called when the head packet of a stream, its deadline or the window
//! changed, with `None` when nothing waits any more, and `pick(now)`, which returns a stream or `None`; and, as far
//! as it needs them, `served(stream)`, `missed(stream, count)` and `next_event()`. Deadlines, drops, windows and
//! statistics are those of every policy for streams.

use std::collections::BTreeSet;
use std::sync::Arc;

use laxity_core::Time;
use laxity_dwcs::structure::{Structure, Unsupported};
use laxity_dwcs::{Rank, Record};
use laxity_scenario::Document;
use laxity_scenario::stream::StreamScenario;
use laxity_sim::Control;
use pyo3::prelude::*;

use crate::error;
use crate::failure::Failure;
use crate::scenario::PyScenario;

/// What a policy sees of a stream whose packets wait.
#[pyclass(frozen, module = "laxity", name = "StreamHead")]
#[derive(Clone, Copy, Debug)]
pub struct PyStreamHead {
    stream: u32,
    class: u32,
    record: Record,
}

#[pymethods]
impl PyStreamHead {
    /// The index of the stream, over all classes in file order.
    #[getter]
    fn stream(&self) -> u32 {
        self.stream
    }

    /// The index of its class in `Scenario.names`.
    #[getter]
    fn class_index(&self) -> u32 {
        self.class
    }

    /// When the packet arrived, in ns.
    #[getter]
    fn arrival(&self) -> u64 {
        self.record.arrival.0
    }

    /// By when it should begin, in ns; `None` for streams without deadlines.
    #[getter]
    fn deadline(&self) -> Option<u64> {
        self.record.has_deadlines().then_some(self.record.deadline.0)
    }

    /// The time between deadlines, in ns.
    #[getter]
    fn gap(&self) -> Option<u64> {
        self.record.has_deadlines().then_some(self.record.gap.0)
    }

    /// `(x, y)`: at most `x` of `y` packets may be lost or late.
    #[getter]
    fn tolerance(&self) -> (u16, u16) {
        (self.record.tolerance.x(), self.record.tolerance.y())
    }

    /// `(x, y)` of the rest of the current window.
    #[getter]
    fn window(&self) -> (u16, u16) {
        (self.record.window.x, self.record.window.y)
    }

    /// Whether the packet has missed a deadline and still waits.
    #[getter]
    fn late(&self) -> bool {
        self.record.late()
    }

    fn __repr__(&self) -> String {
        let (x, y) = self.window();
        let due = self.deadline().map_or_else(|| "never".to_owned(), |at| format!("at {at} ns"));
        format!("<StreamHead of stream {}: due {due}, window {x}/{y}>", self.stream)
    }
}

/// The policy of one run.
pub struct Callback {
    update: Py<PyAny>,
    pick: Py<PyAny>,
    served: Option<Py<PyAny>>,
    missed: Option<Py<PyAny>>,
    next_event: Option<Py<PyAny>>,
    records: Vec<Record>,
    classes: Vec<u32>,
    /// Streams that wait with deadlines, by these.
    due: BTreeSet<(Time, u32)>,
    /// How many streams wait.
    waiting: usize,
    now: Time,
    failure: Failure,
}

impl Callback {
    /// Asks the factory for a policy; exceptions of its methods are noted in the failure.
    pub fn new(
        py: Python<'_>,
        factory: &Py<PyAny>,
        scenario: &StreamScenario,
        control: &Arc<Control>,
    ) -> PyResult<(Callback, Failure)> {
        let document = PyScenario::of(Document::Stream(scenario.clone()));
        let object = factory.bind(py).call1((document,))?;
        let method = |name: &str| object.getattr(name).map(Bound::unbind);
        let optional = |name: &str| object.getattr_opt(name).map(|m| m.map(Bound::unbind));
        let failure = Failure::new(control);
        let callback = Callback {
            update: method("update")?,
            pick: method("pick")?,
            served: optional("served")?,
            missed: optional("missed")?,
            next_event: optional("next_event")?,
            records: Vec::new(),
            classes: class_of(scenario).collect(),
            due: BTreeSet::new(),
            waiting: 0,
            now: Time::ZERO,
            failure: failure.clone(),
        };
        Ok((callback, failure))
    }

    /// A stream that waits, or `None`.
    fn picked(&self, answer: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        if answer.is_none() {
            return Ok(None);
        }
        let stream: u32 = answer
            .extract()
            .map_err(|_| error::policy("pick returned something else: return a stream or None"))?;
        match self.records.get(stream as usize) {
            Some(record) if record.waiting() => Ok(Some(stream)),
            Some(_) => Err(error::policy(format_args!(
                "stream {stream} is picked, and none of its packets waits"
            ))),
            None => {
                let streams = self.records.len();
                Err(error::policy(format_args!(
                    "stream {stream}: the scenario has {streams} streams"
                )))
            }
        }
    }
}

/// The class of each stream.
pub fn class_of(scenario: &StreamScenario) -> impl Iterator<Item = u32> {
    let classes = scenario.streams.iter().zip(0..);
    classes.flat_map(|(class, i)| std::iter::repeat_n(i, class.count as usize))
}

impl Structure for Callback {
    const NAME: &'static str = "Python";

    fn new(_: Rank) -> Result<Callback, Unsupported> {
        Err(Unsupported { structure: Callback::NAME, remedy: "an object of Python keeps it" })
    }

    fn join(&mut self, slot: u32, record: Record) {
        let needed = slot as usize + 1;
        if self.records.len() < needed {
            self.records.resize(needed, Record::VACANT);
        }
        self.store(slot, record);
    }

    fn load(&self, slot: u32) -> Record {
        self.records.get(slot as usize).copied().unwrap_or(Record::VACANT)
    }

    fn store(&mut self, slot: u32, record: Record) {
        let before = std::mem::replace(&mut self.records[slot as usize], record);
        if before == record {
            return;
        }
        if before.waiting() {
            self.waiting -= 1;
            self.due.remove(&(before.deadline, slot));
        }
        if record.waiting() {
            self.waiting += 1;
            if record.has_deadlines() {
                self.due.insert((record.deadline, slot));
            }
        }
        if before.waiting() || record.waiting() {
            let class = self.classes.get(slot as usize).copied().unwrap_or(0);
            let head = PyStreamHead { stream: slot, class, record };
            self.failure.tell(&self.update, (slot, record.waiting().then_some(head)));
        }
    }

    fn first(&mut self, now: Time) -> Option<u32> {
        self.now = now;
        if self.waiting == 0 {
            return None;
        }
        self.failure.call(&self.pick, (now.0,), |answer| self.picked(answer))
    }

    fn expired(&mut self, now: Time) -> Option<u32> {
        self.due.first().filter(|(deadline, _)| *deadline < now).map(|(_, slot)| *slot)
    }

    fn next_release(&mut self) -> Option<Time> {
        let method = self.next_event.as_ref().filter(|_| self.waiting > 0)?;
        self.failure.call(method, (), |answer| {
            let at: Option<u64> = answer.extract()?;
            match at {
                Some(at) if Time(at) <= self.now => Err(error::policy(format_args!(
                    "next_event returned {at} ns, and it is {} ns: return a later instant or None",
                    self.now.0
                ))),
                at => Ok(at.map(Time)),
            }
        })
    }

    fn served(&mut self, slot: u32) {
        if let Some(served) = &self.served {
            self.failure.tell(served, (slot,));
        }
    }

    fn missed(&mut self, slot: u32, count: u64) {
        if let Some(missed) = &self.missed {
            self.failure.tell(missed, (slot, count));
        }
    }
}
