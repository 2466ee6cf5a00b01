//! The compiled part of the Python package `laxity`: curves, scenarios, simulations and policies of the
//! other crates as Python objects. It decides nothing itself.
#![forbid(unsafe_code)]

mod array;
mod check;
mod choice;
mod cpu_callback;
mod cpu_policy;
mod curve;
mod document;
mod envelope;
mod error;
mod failure;
mod json;
mod link_callback;
mod link_policy;
mod number;
mod packet;
mod plan;
mod policies;
mod recording;
mod scenario;
mod shown;
mod simulate;
mod stepped;
mod stream_callback;
mod stream_policy;
mod sweep;
mod table;
mod trace;

use pyo3::prelude::*;

/// The compiled part of `laxity`.
#[pymodule]
mod _laxity {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        check::PyCheck, cpu_policy::PyAttributes, cpu_policy::PyCpuPolicy, curve::PyCurve,
        envelope::PyEnvelope, link_policy::PyLinkPolicy, packet::PyDeparture, packet::PyPacket,
        plan::PyPlan, policies::policies, recording::PyRecording, scenario::PyScenario,
        simulate::PySimulation, stream_callback::PyStreamHead, stream_policy::PyStreamDeparture,
        stream_policy::PyStreamPacket, stream_policy::PyStreamPolicy, sweep::PySweep,
        table::PyTable, trace::PyTrace,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
