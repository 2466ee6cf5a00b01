//! A stream policy of the registry step by step, for programs with engines of their own.

use std::collections::VecDeque;

use laxity_core::{Bytes, Time};
use laxity_dwcs::structure::Structure;
use laxity_dwcs::{Decision, JoinError, Meter, Queues, Scheduler, Service, StreamId};
use laxity_dwcs::{Misses, Tolerance, Window};
use laxity_scenario::stream::StreamScenario;
use laxity_scenario::stream::model::QueueLimit;
use laxity_sim::stream::engine::Loss;
use laxity_sim::stream::policy::{self, Visitor};
use pyo3::prelude::*;

use crate::error;
use crate::scenario::PyScenario;
use crate::stepped::Stepped;
use crate::stream_callback::class_of;

/// A packet of a stream.
#[pyclass(frozen, eq, module = "laxity", name = "StreamPacket")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PyStreamPacket {
    seq: u64,
    arrival: u64,
    stream: u32,
    bytes: u32,
}

#[pymethods]
impl PyStreamPacket {
    /// Packet number `seq` of the stream with this index, which arrives at an instant in ns.
    #[new]
    fn new(seq: u64, arrival: u64, stream: u32, bytes: u32) -> PyStreamPacket {
        PyStreamPacket { seq, arrival, stream, bytes }
    }

    /// Its number.
    #[getter]
    fn seq(&self) -> u64 {
        self.seq
    }

    /// When it arrived, in ns.
    #[getter]
    fn arrival(&self) -> u64 {
        self.arrival
    }

    /// The index of its stream, over all classes in file order.
    #[getter]
    fn stream(&self) -> u32 {
        self.stream
    }

    /// Its length in bytes.
    #[getter]
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn __hash__(&self) -> u64 {
        self.seq
    }

    fn __repr__(&self) -> String {
        let PyStreamPacket { seq, arrival, stream, bytes } = self;
        format!("<StreamPacket {seq} of stream {stream}: {bytes} B at {arrival} ns>")
    }
}

/// A packet of a stream that is sent.
#[pyclass(frozen, module = "laxity", name = "StreamDeparture")]
#[derive(Clone, Copy, Debug)]
pub struct PyStreamDeparture {
    packet: PyStreamPacket,
    deadline: Option<u64>,
    late: bool,
}

#[pymethods]
impl PyStreamDeparture {
    /// The packet.
    #[getter]
    fn packet(&self) -> PyStreamPacket {
        self.packet
    }

    /// By when it should begin, in ns: a late packet that is not dropped gets another deadline with each miss.
    #[getter]
    fn deadline(&self) -> Option<u64> {
        self.deadline
    }

    /// Whether it missed a deadline before.
    #[getter]
    fn late(&self) -> bool {
        self.late
    }

    fn __repr__(&self) -> String {
        let late = if self.late { ", late" } else { "" };
        format!("<StreamDeparture of packet {}{late}>", self.packet.seq)
    }
}

/// The packets that wait, and those dropped since they were last asked for.
#[derive(Default)]
struct Fifos {
    queues: Vec<Fifo>,
    sent: Option<PyStreamPacket>,
    drops: Vec<(PyStreamPacket, Loss)>,
}

struct Fifo {
    packets: VecDeque<PyStreamPacket>,
    bytes: u64,
    /// When the last packet arrived.
    last: u64,
    limit: QueueLimit,
}

impl Fifos {
    fn take(&mut self, stream: StreamId) -> (Option<PyStreamPacket>, Option<Time>) {
        let Some(queue) = self.queues.get_mut(stream.slot()) else { return (None, None) };
        let taken = queue.packets.pop_front();
        queue.bytes -= taken.map_or(0, |packet| packet.bytes.into());
        (taken, queue.packets.front().map(|packet| Time(packet.arrival)))
    }
}

impl Queues for Fifos {
    fn serve(&mut self, stream: StreamId) -> Option<Time> {
        let (taken, next) = self.take(stream);
        self.sent = taken;
        next
    }

    fn drop_head(&mut self, stream: StreamId) -> Option<Time> {
        let (taken, next) = self.take(stream);
        self.drops.extend(taken.map(|packet| (packet, Loss::Late)));
        next
    }
}

/// Remembers whether the last packet sent was late.
#[derive(Default)]
struct Last(bool);

impl Meter for Last {
    fn join(&mut self, _: usize, _: Tolerance, _: bool) {}

    fn served(&mut self, _: usize, service: Service) {
        self.0 = service.late || service.hidden;
    }

    fn missed(&mut self, _: usize, _: Misses) {}
}

/// A scheduler over any structure.
trait AnyScheduler: Send {
    fn arrive(&mut self, arrival: Time, stream: StreamId);
    fn next(&mut self, now: Time, fifos: &mut Fifos) -> (Decision, bool);
    fn window(&self, stream: StreamId) -> Option<Window>;
}

impl<S: Structure + Send> AnyScheduler for Scheduler<S, Last> {
    fn arrive(&mut self, arrival: Time, stream: StreamId) {
        let known = Scheduler::arrive(self, arrival, stream);
        debug_assert!(known.is_ok());
    }

    fn next(&mut self, now: Time, fifos: &mut Fifos) -> (Decision, bool) {
        let decision = Scheduler::next(self, now, fifos);
        (decision, self.meter().0)
    }

    fn window(&self, stream: StreamId) -> Option<Window> {
        Scheduler::window(self, stream).ok()
    }
}

/// Joins the streams of a scenario.
struct Join<'a>(&'a StreamScenario);

type Joined = (Box<dyn AnyScheduler>, Vec<StreamId>);

impl Visitor<Last> for Join<'_> {
    type Output = Result<Joined, JoinError>;

    fn visit<S: Structure + Send + 'static>(
        self,
        mut scheduler: Scheduler<S, Last>,
    ) -> Self::Output {
        let mut streams = Vec::new();
        for class in &self.0.streams {
            for _ in 0..class.count {
                streams.push(scheduler.join(Time::ZERO, &class.attributes)?);
            }
        }
        Ok((Box::new(scheduler), streams))
    }
}

struct Steps {
    scheduler: Box<dyn AnyScheduler>,
    fifos: Fifos,
    next_event: Option<u64>,
}

/// A policy for the streams of a media server, driven by calls with instants in ns that never decrease.
///
/// It keeps the queues, and drops packets whose deadlines have passed when `dequeue` is called.
#[pyclass(frozen, module = "laxity", name = "StreamPolicy")]
pub struct PyStreamPolicy {
    state: Stepped<Steps>,
    streams: Vec<StreamId>,
    name: String,
}

impl PyStreamPolicy {
    fn stream(&self, stream: u32) -> PyResult<StreamId> {
        self.streams.get(stream as usize).copied().ok_or_else(|| {
            let streams = self.streams.len();
            error::policy(format_args!("stream {stream}: the scenario has {streams} streams"))
        })
    }
}

#[pymethods]
impl PyStreamPolicy {
    /// A policy of this name for the streams of a scenario.
    #[new]
    fn new(scenario: &PyScenario, name: &str) -> PyResult<PyStreamPolicy> {
        error::guarded(|| {
            let scenario = scenario.stream()?;
            let made = policy::visit(&scenario.policy, name, Last::default(), Join(scenario));
            let made = made.ok_or_else(|| {
                error::input(format_args!(
                    "no policy is called `{name}`; `laxity.policies(\"stream\")` lists them"
                ))
            })?;
            let (scheduler, streams) = made.map_err(error::input)?.map_err(error::input)?;
            let queues = class_of(scenario).map(|class| Fifo {
                packets: VecDeque::new(),
                bytes: 0,
                last: 0,
                limit: scenario.streams[class as usize].buffer.unwrap_or(scenario.server.buffer),
            });
            let fifos = Fifos { queues: queues.collect(), ..Fifos::default() };
            let state = Stepped::new(Steps { scheduler, fifos, next_event: None });
            Ok(PyStreamPolicy { state, streams, name: name.to_owned() })
        })
    }

    /// The number of streams.
    #[getter]
    fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Takes a packet. One that comes late may have arrived before now, not before the packet ahead of it.
    fn enqueue(&self, now: u64, packet: &PyStreamPacket) -> PyResult<()> {
        let stream = self.stream(packet.stream)?;
        error::guarded(|| {
            let mut state = self.state.at(now)?;
            let Steps { scheduler, fifos, .. } = &mut state.steps;
            let queue = &mut fifos.queues[stream.slot()];
            if packet.arrival > now || packet.arrival < queue.last {
                return Err(error::policy(format_args!(
                    "packet {} arrives at {} ns: give an instant from {} ns, when the packet ahead of it came, \
                     to {now} ns, now",
                    packet.seq, packet.arrival, queue.last
                )));
            }
            queue.last = packet.arrival;
            let bytes = queue.bytes + u64::from(packet.bytes);
            let full = queue.packets.len() >= queue.limit.packets as usize
                || queue.limit.bytes.is_some_and(|most| Bytes(bytes) > most);
            if full {
                fifos.drops.push((*packet, Loss::Overflow));
                return Ok(());
            }
            queue.bytes = bytes;
            queue.packets.push_back(*packet);
            if queue.packets.len() == 1 {
                scheduler.arrive(Time(packet.arrival), stream);
            }
            Ok(())
        })
    }

    /// The packet to send by the free server, if any may be sent.
    fn dequeue(&self, now: u64) -> PyResult<Option<PyStreamDeparture>> {
        error::guarded(|| {
            let mut state = self.state.at(now)?;
            let Steps { scheduler, fifos, next_event } = &mut state.steps;
            let (decision, late) = scheduler.next(Time(now), fifos);
            *next_event = match decision {
                Decision::Wait(until) => Some(until.0),
                _ => None,
            };
            let Decision::Serve { deadline, .. } = decision else { return Ok(None) };
            let deadline = Some(deadline.0).filter(|_| deadline != Time::MAX);
            Ok(fifos.sent.take().map(|packet| PyStreamDeparture { packet, deadline, late }))
        })
    }

    /// When `dequeue` may return a packet without a further arrival, after it returned none.
    fn next_event(&self) -> Option<u64> {
        self.state.lock().steps.next_event
    }

    /// The number of packets that wait.
    fn waiting(&self) -> usize {
        self.state.lock().steps.fifos.queues.iter().map(|queue| queue.packets.len()).sum()
    }

    /// `(x, y)` of the rest of a stream's current window.
    fn window(&self, stream: u32) -> PyResult<(u16, u16)> {
        let id = self.stream(stream)?;
        let window = self.state.lock().steps.scheduler.window(id);
        Ok(window.map_or((0, 0), |window| (window.x, window.y)))
    }

    /// The packets dropped since the last call, each with the reason.
    fn drops(&self) -> Vec<(PyStreamPacket, &'static str)> {
        self.state
            .lock()
            .steps
            .fifos
            .drops
            .drain(..)
            .map(|(packet, why)| (packet, why.name()))
            .collect()
    }

    fn __repr__(&self) -> String {
        format!("<StreamPolicy {}>", self.name)
    }
}
