//! Packets and departures, as policies see them: times in whole nanoseconds.

use laxity_core::{FlowId, Time};
use laxity_link::ecn::Ecn;
use laxity_link::{Departure, Packet};
use pyo3::prelude::*;

/// A packet at a link.
#[pyclass(frozen, eq, module = "laxity", name = "Packet")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PyPacket(pub Packet);

#[pymethods]
impl PyPacket {
    /// Packet number `seq` of the flow with this index, which arrives at an instant in ns; `wire` is
    /// its length on the wire, `bytes` unless given.
    #[new]
    #[pyo3(signature = (seq, arrival, flow, bytes, wire=None, *, ecn=0, key=0))]
    fn new(
        seq: u64,
        arrival: u64,
        flow: u32,
        bytes: u32,
        wire: Option<u32>,
        ecn: u8,
        key: u64,
    ) -> PyPacket {
        let packet = Packet::new(seq, Time(arrival), FlowId(flow), bytes, wire.unwrap_or(bytes));
        PyPacket(Packet { ecn: Ecn::of_traffic_class(ecn), key, ..packet })
    }

    /// Its number.
    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq
    }

    /// When it arrived, in ns.
    #[getter]
    fn arrival(&self) -> u64 {
        self.0.arrival.0
    }

    /// The index of its flow in the scenario.
    #[getter]
    fn flow(&self) -> u32 {
        self.0.flow.0
    }

    /// Its length in bytes.
    #[getter]
    fn bytes(&self) -> u32 {
        self.0.bytes
    }

    /// Its length on the wire in bytes.
    #[getter]
    fn wire(&self) -> u32 {
        self.0.wire
    }

    /// Whether it is beyond its envelope and travels as best effort.
    #[getter]
    fn demoted(&self) -> bool {
        self.0.demoted
    }

    /// The two bits of its ECN field.
    #[getter]
    fn ecn(&self) -> u8 {
        self.0.ecn as u8
    }

    /// Its flow and hosts within its class.
    #[getter]
    fn key(&self) -> u64 {
        self.0.key
    }

    fn __hash__(&self) -> u64 {
        self.0.seq
    }

    fn __repr__(&self) -> String {
        let Packet { seq, arrival, flow, bytes, .. } = self.0;
        format!("<Packet {seq} of flow {}: {bytes} B at {} ns>", flow.0, arrival.0)
    }
}

/// A packet handed to the link.
#[pyclass(frozen, module = "laxity", name = "Departure")]
#[derive(Clone, Copy, Debug)]
pub struct PyDeparture(pub Departure);

#[pymethods]
impl PyDeparture {
    /// A packet, and the instant in ns by which it is due at the end of its transmission.
    #[new]
    #[pyo3(signature = (packet, deadline=None, *, realtime=false))]
    fn new(packet: &PyPacket, deadline: Option<u64>, realtime: bool) -> PyDeparture {
        let deadline = deadline.map_or(Time::MAX, Time);
        PyDeparture(Departure { packet: packet.0, deadline, realtime, dropped: false })
    }

    /// The packet.
    #[getter]
    fn packet(&self) -> PyPacket {
        PyPacket(self.0.packet)
    }

    /// When it is due, in ns; `None` without a deadline.
    #[getter]
    fn deadline(&self) -> Option<u64> {
        Some(self.0.deadline.0).filter(|_| self.0.deadline != Time::MAX)
    }

    /// Whether the deadline is that of a real-time flow.
    #[getter]
    fn realtime(&self) -> bool {
        self.0.realtime
    }

    /// Whether an AQM dropped it and charges the link for it.
    #[getter]
    fn dropped(&self) -> bool {
        self.0.dropped
    }

    fn __repr__(&self) -> String {
        format!("<Departure of packet {}>", self.0.packet.seq)
    }
}
