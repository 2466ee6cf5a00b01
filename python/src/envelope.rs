//! Envelopes: bounds on what a flow sends.

use std::path::PathBuf;

use laxity_core::{Bytes, Span, Time};
use laxity_curve::{Bucket, CurveError, DEFAULT_BUCKETS, Envelope, Rational};
use laxity_scenario::Document;
use laxity_sim::link::replay;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::curve::PyCurve;
use crate::{array, document, error, number, shown};

/// A bound on the bytes of a flow within any interval, exact.
#[pyclass(frozen, eq, module = "laxity", name = "Envelope")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PyEnvelope(pub Envelope);

fn made(envelope: Result<Envelope, CurveError>) -> PyResult<PyEnvelope> {
    envelope.map(PyEnvelope).map_err(|e| error::curve(&e))
}

#[pymethods]
impl PyEnvelope {
    /// The TSpec of IntServ: packets of up to `packet`, a `peak` rate, a `burst` and a `rate`.
    #[staticmethod]
    fn tspec(
        packet: &Bound<'_, PyAny>,
        peak: &Bound<'_, PyAny>,
        burst: &Bound<'_, PyAny>,
        rate: &Bound<'_, PyAny>,
    ) -> PyResult<PyEnvelope> {
        let (packet, peak) = (number::bytes(packet)?, number::rate(peak)?);
        let (burst, rate) = (number::bytes(burst)?, number::rate(rate)?);
        error::guarded(|| made(Envelope::tspec(packet, peak, burst, rate)))
    }

    /// One token bucket.
    #[staticmethod]
    fn leaky_bucket(burst: &Bound<'_, PyAny>, rate: &Bound<'_, PyAny>) -> PyResult<PyEnvelope> {
        let (burst, rate) = (number::bytes(burst)?, number::rate(rate)?);
        error::guarded(|| made(Envelope::leaky_bucket(burst, rate)))
    }

    /// Several token buckets `(burst, rate)`, all of which hold, and the largest packet.
    #[staticmethod]
    fn buckets(
        buckets: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        max_packet: &Bound<'_, PyAny>,
    ) -> PyResult<PyEnvelope> {
        let mut all = Vec::with_capacity(buckets.len());
        for (burst, rate) in &buckets {
            all.push(Bucket { burst: number::bytes(burst)?, rate: number::rate(rate)? });
        }
        let max_packet = number::bytes(max_packet)?;
        error::guarded(|| made(Envelope::buckets(&all, max_packet)))
    }

    /// A packet of `size` each `period`, late by up to `jitter`.
    #[staticmethod]
    #[pyo3(signature = (period, size, jitter=None))]
    fn periodic(
        period: &Bound<'_, PyAny>,
        size: &Bound<'_, PyAny>,
        jitter: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyEnvelope> {
        let (period, size) = (number::span(period)?, number::bytes(size)?);
        let jitter = jitter.map_or(Ok(Span::ZERO), number::span)?;
        error::guarded(|| made(Envelope::periodic(period, size, jitter)))
    }

    /// The smallest envelope of up to `buckets` token buckets to which recorded packets conform:
    /// `times`, in seconds as floats or in whole nanoseconds, and `sizes` in bytes.
    #[staticmethod]
    #[pyo3(signature = (times, sizes, buckets=DEFAULT_BUCKETS))]
    fn from_trace(
        py: Python<'_>,
        times: &Bound<'_, PyAny>,
        sizes: &Bound<'_, PyAny>,
        buckets: usize,
    ) -> PyResult<PyEnvelope> {
        let times = array::times(times, "times")?;
        let sizes = array::whole(sizes, "sizes")?;
        if times.len() != sizes.len() {
            let (times, sizes) = (times.len(), sizes.len());
            return Err(error::input(format_args!(
                "{times} times and {sizes} sizes: give as many"
            )));
        }
        let packets: Vec<(Time, Bytes)> =
            times.into_iter().map(Time).zip(sizes.into_iter().map(Bytes)).collect();
        error::detached(py, || made(Envelope::from_trace(&packets, buckets)))
    }

    /// The same of a capture, of all its packets or of those that `match`, as a scenario has it.
    #[staticmethod]
    #[pyo3(signature = (path, r#match=None, buckets=DEFAULT_BUCKETS))]
    fn from_capture(
        py: Python<'_>,
        path: PathBuf,
        r#match: Option<Bound<'_, PyDict>>,
        buckets: usize,
    ) -> PyResult<PyEnvelope> {
        let class = PyDict::new(py);
        class.set_item("name", "wanted")?;
        if let Some(matches) = r#match {
            class.set_item("match", matches)?;
        }
        let wanted = class.contains("match")?;
        let link = PyDict::new(py);
        link.set_item("rate", "1 Gbit/s")?;
        let root = PyDict::new(py);
        root.set_item("link", link)?;
        root.set_item("best_effort", vec![class])?;
        let toml = document::from_dict(&root)?;
        error::detached(py, || {
            let document = Document::parse(&toml, "").map_err(|e| error::scenario(&e))?;
            let scenario = document.link().ok_or_else(|| error::input("no link"))?;
            let recording = replay::read(&path, scenario).map_err(error::input)?;
            let first = scenario.flow_names().position(|name| name == "wanted");
            let packets: Vec<(Time, Bytes)> = recording
                .packets
                .iter()
                .filter(|p| !wanted || Some(p.flow.index()) == first)
                .map(|p| (p.time, Bytes(p.bytes.into())))
                .collect();
            made(Envelope::from_trace(&packets, buckets))
        })
    }

    /// The largest packet in bytes.
    #[getter]
    fn max_packet(&self) -> u64 {
        self.0.max_packet().0
    }

    /// The long-term rate in bit/s.
    #[getter]
    fn rate(&self) -> u64 {
        self.0.rate().0
    }

    /// The most bytes at once.
    #[getter]
    fn burst(&self) -> u64 {
        self.0.burst().0
    }

    /// The buckets `(bytes, bit/s)`; `None` for a periodic envelope.
    #[getter]
    fn lines(&self) -> Option<Vec<(u64, u64)>> {
        Some(self.0.lines()?.iter().map(|b| (b.burst.0, b.rate.0)).collect())
    }

    /// The envelope as an arrival curve.
    fn curve(&self, py: Python<'_>) -> PyResult<PyCurve> {
        error::detached(py, || self.0.curve().map(PyCurve).map_err(|e| error::curve(&e)))
    }

    /// The most bytes within an interval of a length.
    fn __call__(&self, py: Python<'_>, t: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if array::is_array(t)? {
            let times = array::floats(t)?;
            let value = |t: &f64| {
                let ns = number::decimal(*t)?.times(Rational::whole(1_000_000_000));
                let value = ns.and_then(|ns| self.0.value(ns)).map_err(|e| error::curve(&e))?;
                Ok(number::float_bytes(value))
            };
            let values =
                error::guarded(|| times.iter().map(value).collect::<PyResult<Vec<f64>>>())?;
            return array::from_floats(t, &values);
        }
        let t = number::time(t)?;
        let value = error::guarded(|| self.0.value(t).map_err(|e| error::curve(&e)))?;
        number::byte_count(py, value)
    }

    /// The envelope on a wire with `overhead` for each packet, and frames of at least `min_frame`.
    #[pyo3(signature = (overhead, min_frame=None))]
    fn on_wire(
        &self,
        overhead: &Bound<'_, PyAny>,
        min_frame: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyEnvelope> {
        let overhead = number::bytes(overhead)?;
        let min_frame = min_frame.map_or(Ok(Bytes(0)), number::bytes)?;
        error::guarded(|| made(self.0.on_wire(overhead, min_frame)))
    }

    /// The bound on the delay of the flow at a server with a service curve; `None` where there is
    /// none.
    fn delay_bound(&self, py: Python<'_>, service: &PyCurve) -> PyResult<Option<Py<PyAny>>> {
        let delay = error::detached(py, || {
            let curve = self.0.curve();
            curve.and_then(|curve| curve.delay(&service.0)).map_err(|e| error::curve(&e))
        })?;
        delay.map(|ns| number::seconds(py, ns)).transpose()
    }

    /// The bound on its backlog there.
    fn backlog_bound(&self, py: Python<'_>, service: &PyCurve) -> PyResult<Option<Py<PyAny>>> {
        let backlog = error::detached(py, || {
            let curve = self.0.curve();
            curve.and_then(|curve| curve.backlog(&service.0)).map_err(|e| error::curve(&e))
        })?;
        backlog.map(|work| number::byte_count(py, work)).transpose()
    }

    /// Draws it with matplotlib.
    #[pyo3(signature = (ax=None, **options))]
    fn plot(
        slf: &Bound<'_, PyEnvelope>,
        ax: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let draw = slf.py().import("laxity.plotting")?.getattr("curve")?;
        let curve = slf.get().curve(slf.py())?;
        Ok(draw.call((curve, ax), options)?.unbind())
    }

    fn __repr__(&self) -> String {
        shown::envelope(&self.0)
    }
}
