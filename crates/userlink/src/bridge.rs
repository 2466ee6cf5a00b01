//! A bridge of two interfaces: starts, queries and stops a thread for each direction.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use laxity_core::{Rate, Span};
use laxity_daemon::{priority, privileges};
use laxity_scenario::link::model::Scenario;
use laxity_trace::LinkType;
use laxity_traffic::{Arrival, FlowHasher};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::counts::Counts;
use crate::device::Device;
use crate::direction::Direction;
use crate::error::WireError;
use crate::forwarder::Forwarder;
use crate::lock::Lock;
use crate::offload::Offload;
use crate::packet::{PacketReceiver, PacketTransmitter};
use crate::port::{self, Receive, Transmit};
use crate::xdp;

/// How often to look whether a thread that owes an answer has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A rate that no interface reaches: nothing is shaped.
const UNSHAPED: Rate = Rate(1_000_000_000_000);

const UNSCHEDULED: &str = r#"
link = { rate = "1 Gbit/s", max_packet = "9216 B", buffer = { total = "2 MB", best_effort = "2 MB" } }
policy = { use = "fifo" }
best_effort = [{ name = "all" }]
"#;

/// By which calls frames come in and go out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// XDP sockets where the interface allows, else packet sockets.
    #[default]
    Auto,
    /// XDP sockets.
    Xdp,
    /// Packet sockets.
    Packet,
}

/// An interface that is read from and sent to.
pub struct Attached {
    /// Frames from it.
    pub receive: Box<dyn Receive>,
    /// Frames to it.
    pub transmit: Box<dyn Transmit>,
    /// By which calls: `xdp` or `packet`.
    pub io: &'static str,
    /// The hold on it: features that are off, and the lock against other links.
    pub hold: (Offload, Lock),
}

impl Attached {
    /// Attaches to an interface.
    ///
    /// # Errors
    /// There is none of this name, it does not carry Ethernet, this is not permitted, or not
    /// possible this way.
    pub fn to(name: &str, io: Io) -> Result<Attached, WireError> {
        let device = Device::find(name)?;
        if !device.is_ethernet()? {
            return Err(WireError::NotEthernet { device: name.to_owned() });
        }
        let lock = Lock::acquire(&device)?;
        if io != Io::Packet {
            let offload = Offload::off(&device, true)?;
            match xdp::open(&device) {
                Ok((receive, transmit)) => {
                    let (receive, transmit) = (Box::new(receive), Box::new(transmit));
                    return Ok(Attached { receive, transmit, io: "xdp", hold: (offload, lock) });
                }
                Err(error) if io == Io::Xdp => return Err(error),
                // Packet sockets go anywhere.
                Err(_) => {}
            }
        }
        let offload = Offload::off(&device, false)?;
        let receive = Box::new(PacketReceiver::open(&device)?);
        let transmit = Box::new(PacketTransmitter::open(&device)?);
        Ok(Attached { receive, transmit, io: "packet", hold: (offload, lock) })
    }
}

impl std::fmt::Debug for Attached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attached").field("io", &self.io).finish_non_exhaustive()
    }
}

/// How one direction is scheduled.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Link, flows and rules.
    pub scenario: Scenario,
    /// The policy, by its name.
    pub policy: String,
    /// How long before an event the thread no longer sleeps.
    pub spin: Span,
    /// How many arrivals are kept at most.
    pub record: usize,
}

impl Schedule {
    /// A scenario under its own policy.
    pub fn of(scenario: Scenario) -> Schedule {
        let policy = scenario.policy.use_.clone();
        Schedule { scenario, policy, spin: Span::ZERO, record: 0 }
    }

    /// First come, first served, as fast as the interfaces go.
    pub fn unscheduled() -> Schedule {
        let mut scenario = match Scenario::parse(UNSCHEDULED, "unscheduled") {
            Ok(scenario) => scenario,
            Err(e) => unreachable!("a constant: {e}"),
        };
        scenario.link.rate = UNSHAPED;
        Schedule::of(scenario)
    }
}

/// The status of a direction.
#[derive(Clone, Debug)]
pub struct Report {
    /// All that was counted.
    pub counts: Counts,
    /// Packets that wait.
    pub waiting: usize,
    /// CPU time of the thread, the kernel's part included, in ns.
    pub cpu_ns: u64,
}

/// A thread that schedules one direction. Dropping it stops it.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Ended>>,
    turn: Mutex<()>,
}

/// How a direction ended.
#[derive(Debug)]
pub struct Ended {
    /// Its counts until then.
    pub report: Report,
    /// The arrivals that were kept, and whether that is all of them.
    pub record: Option<(Vec<Arrival>, bool)>,
    /// The error that ended it, unless it was stopped.
    pub error: Option<WireError>,
}

#[derive(Debug)]
struct Shared {
    waker: OwnedFd,
    stop: AtomicBool,
    asked: AtomicBool,
    /// Whom to answer.
    answer: Mutex<Option<Sender<Report>>>,
}

impl Running {
    /// Starts a thread.
    ///
    /// # Errors
    /// The policy cannot be built, or there can be no thread or no random bits.
    pub fn start(
        name: &str,
        schedule: &Schedule,
        link_type: LinkType,
        receive: Box<dyn Receive>,
        transmit: Box<dyn Transmit>,
    ) -> Result<Running, WireError> {
        let failed = |source: io::Error| WireError::io(name, "starting a thread", source);
        let hasher = FlowHasher::new(secret().map_err(|e| failed(e.into()))?);
        let mut forwarder =
            Forwarder::new(&schedule.scenario, &schedule.policy, link_type, hasher)?;
        if schedule.record > 0 {
            forwarder.record(schedule.record);
        }
        let waker = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let shared = Arc::new(Shared {
            waker: waker.map_err(|e| failed(e.into()))?,
            stop: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            answer: Mutex::new(None),
        });
        let (inside, spin) = (Arc::clone(&shared), schedule.spin);
        let builder = std::thread::Builder::new().name(format!("link {name}"));
        let work = move || run(forwarder, receive, transmit, spin, &inside);
        let thread = Some(builder.spawn(work).map_err(failed)?);
        Ok(Running { shared, thread, turn: Mutex::new(()) })
    }

    /// Whether it goes on: it ends by itself when an interface is removed.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Its counts so far; `None` when it has ended.
    pub fn report(&self) -> Option<Report> {
        let (sender, receiver): (_, Receiver<Report>) = channel();
        // One question at a time, so that no answer goes to another.
        let _turn = lock(&self.turn);
        *lock(&self.shared.answer) = Some(sender);
        self.shared.asked.store(true, Ordering::Release);
        self.shared.wake();
        loop {
            let running = self.is_running();
            match receiver.recv_timeout(POLL_INTERVAL) {
                Ok(report) => return Some(report),
                Err(_) if running => {}
                Err(_) => return None,
            }
        }
    }

    /// Stops it. Packets that wait are lost, and counted as waiting.
    ///
    /// # Errors
    /// The thread broke down.
    pub fn stop(mut self) -> Result<Ended, WireError> {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.wake();
        let thread = self.thread.take().ok_or(WireError::Thread)?;
        thread.join().map_err(|_| WireError::Thread)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn wake(&self) {
        // When it is full it wakes too.
        let _ = rustix::io::write(&self.waker, &1u64.to_ne_bytes());
    }
}

/// Bits that nobody outside knows.
fn secret() -> rustix::io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(
    forwarder: Forwarder,
    receive: Box<dyn Receive>,
    transmit: Box<dyn Transmit>,
    spin: Span,
    shared: &Shared,
) -> Ended {
    // From now on no privilege is needed, and received frames are untrusted.
    priority::raise();
    let _ = privileges::drop_all();
    let mut direction = Direction::new(forwarder, receive, transmit, spin);
    let look = |forwarder: &mut Forwarder| {
        if shared.asked.swap(false, Ordering::Acquire) {
            if let Some(sender) = lock(&shared.answer).take() {
                // The querying thread may have ended.
                let _ = sender.send(report(forwarder));
            }
        }
        shared.stop.load(Ordering::Acquire)
    };
    let error = direction.run(shared.waker.as_fd(), look).err();
    let forwarder = direction.forwarder();
    Ended { report: report(forwarder), record: forwarder.recorded(), error }
}

fn report(forwarder: &Forwarder) -> Report {
    let (counts, waiting) = (forwarder.counts().clone(), forwarder.waiting());
    Report { counts, waiting, cpu_ns: port::thread_time() }
}
