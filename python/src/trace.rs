//! Recorded packets, from arrays or files.

use std::path::PathBuf;
use std::sync::Arc;

use laxity_core::{FlowId, Time};
use laxity_scenario::link::model::Scenario;
use laxity_sim::link::replay;
use laxity_traffic::{Arrival, FlowHasher, FlowKeys};
use pyo3::prelude::*;

use crate::{array, error};

/// Packets in order of time.
#[pyclass(frozen, module = "laxity", name = "Trace")]
#[derive(Clone, Debug)]
pub struct PyTrace(Arc<Content>);

#[derive(Debug)]
enum Content {
    /// Of a file, classified by the scenario that replays it.
    File(PathBuf),
    Arrays {
        times: Vec<u64>,
        /// The index of each packet's flow among `names`, or in the scenario without names.
        flows: Vec<u64>,
        sizes: Vec<u32>,
        names: Option<Vec<String>>,
    },
}

#[pymethods]
impl PyTrace {
    /// Packets from arrays: `times` in seconds as floats or in whole nanoseconds, `sizes` in bytes, and
    /// `flows`, the index of each packet's flow in the scenario, or among `names` if these are given.
    #[new]
    #[pyo3(signature = (times, sizes, flows, names=None))]
    fn new(
        times: &Bound<'_, PyAny>,
        sizes: &Bound<'_, PyAny>,
        flows: &Bound<'_, PyAny>,
        names: Option<Vec<String>>,
    ) -> PyResult<PyTrace> {
        let times = array::times(times, "times")?;
        let sizes = array::whole(sizes, "sizes")?;
        let flows = array::whole(flows, "flows")?;
        if times.len() != sizes.len() || times.len() != flows.len() {
            let (times, sizes, flows) = (times.len(), sizes.len(), flows.len());
            let text =
                format!("{times} times, {sizes} sizes and {flows} flows: give as many of each");
            return Err(error::input(text));
        }
        if times.is_empty() {
            return Err(error::input("there is no packet in the trace"));
        }
        if let Some(i) = times.windows(2).position(|w| w[1] < w[0]) {
            let text = format!(
                "packet {} is earlier than the one before it; sort the trace by time",
                i + 1
            );
            return Err(error::input(text));
        }
        let size = |(i, size): (usize, u64)| match u32::try_from(size) {
            Ok(size) if size > 0 => Ok(size),
            _ => Err(error::input(format_args!("packet {i} has {size} bytes: give 1 to 2^32 - 1"))),
        };
        let sizes = sizes.into_iter().enumerate().map(size).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTrace(Arc::new(Content::Arrays { times, flows, sizes, names })))
    }

    /// A capture (pcap, pcapng) or a CSV trace, read when it is replayed.
    #[staticmethod]
    fn file(path: PathBuf) -> PyTrace {
        PyTrace(Arc::new(Content::File(path)))
    }

    /// Packets of a data frame (pandas, polars, or anything with columns by name): `time` in seconds or
    /// `time_ns`, `bytes`, and `flow` by name or index.
    #[staticmethod]
    fn from_frame(py: Python<'_>, frame: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Ok(py.import("laxity.frames")?.call_method1("trace", (frame,))?.unbind())
    }

    fn __repr__(&self) -> String {
        match &*self.0 {
            Content::File(path) => format!("<Trace {}>", path.display()),
            Content::Arrays { times, .. } => format!("<Trace of {} packets>", times.len()),
        }
    }
}

impl PyTrace {
    /// The packets as the flows of a scenario.
    pub fn packets(&self, scenario: &Scenario) -> PyResult<Vec<Arrival>> {
        let (times, flows, sizes, names) = match &*self.0 {
            Content::File(path) => {
                return Ok(replay::read(path, scenario).map_err(error::input)?.packets);
            }
            Content::Arrays { times, flows, sizes, names } => (times, flows, sizes, names),
        };
        let known: Vec<&str> = scenario.flow_names().collect();
        let unknown = |flow: &str| {
            let known = known.join(", ");
            error::input(format_args!("the scenario has no flow `{flow}`; it has {known}"))
        };
        let ids: Vec<FlowId> = match names {
            None => (0..known.len() as u32).map(FlowId).collect(),
            Some(names) => {
                let id = |name: &String| {
                    let at = known.iter().position(|k| k == name).ok_or_else(|| unknown(name))?;
                    Ok(FlowId(at as u32))
                };
                names.iter().map(id).collect::<PyResult<_>>()?
            }
        };
        let hasher = FlowHasher::fixed();
        let keys = FlowKeys::new(scenario, hasher);
        let keys: Vec<u64> = ids.iter().map(|id| keys.of_flow(*id)).collect();
        let mut packets = Vec::with_capacity(times.len());
        for ((time, flow), bytes) in times.iter().zip(flows).zip(sizes) {
            let index = usize::try_from(*flow).ok().filter(|i| *i < ids.len());
            let index = index.ok_or_else(|| unknown(&flow.to_string()))?;
            let arrival = Arrival::new(Time(*time), ids[index], *bytes);
            packets.push(Arrival { key: keys[index], ..arrival });
        }
        Ok(packets)
    }
}
