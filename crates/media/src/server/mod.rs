//! The media server: producers fill rings, DWCS decides, batches leave.
//!
//! One thread schedules and sends; others make packets ([`Config::producers`]), and one reads and
//! sends RTCP. Rings join them, so none ever waits for another. The scheduler's thread owns all
//! that it decides by; other threads send it messages.

mod clock;
mod config;
mod counts;
mod handle;
mod inlet;
mod load;
mod pacer;
mod producer;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod thread;

use std::collections::HashMap;
use std::net::UdpSocket;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use laxity_core::Span;
use laxity_daemon::{priority, privileges};
use laxity_ring::spsc;

pub use clock::{monotonic, thread_cpu, wall};
pub use config::{Config, Policy, ServerError, Source, StreamConfig};
pub use counts::{Counter, Counts, Made, Row, Timing};
pub(crate) use handle::Registered;
pub use handle::{Handle, Snapshot, StreamSnapshot};
pub use inlet::{Inlet, Rejected};
pub use load::Load;

use crate::rtcp;
use crate::socket;
use clock::{Clock, Sleeper};
use handle::{Registry, Shared};
use table::POOL;
use thread::{Finished, Message, Parts, Plan, Post};

/// How a server stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At once; what waits is counted as discarded.
    Drop,
    /// When all that waits is sent, but after this long at the latest.
    Drain(Span),
}

/// A running server. Dropping it stops it at once.
#[derive(Debug)]
pub struct Server {
    handle: Handle,
    scheduler: Option<JoinHandle<Finished>>,
    producers: Vec<JoinHandle<()>>,
    rtcp: Option<rtcp::Service>,
}

impl Server {
    /// Starts the threads and the streams.
    ///
    /// # Errors
    /// A stream makes no sense, an address cannot be bound, or the system has no threads left.
    /// Nothing runs then.
    pub fn start(config: Config) -> Result<Server, ServerError> {
        let clock = Clock::start();
        let mut sockets: Vec<Arc<UdpSocket>> = Vec::new();
        for bind in &config.bind {
            let socket = socket::open(*bind, config.send_buffer);
            sockets.push(socket.map_err(ServerError::system(format!("UDP socket on {bind}")))?);
        }
        let families = sockets.iter().map(|s| s.local_addr().is_ok_and(|a| a.is_ipv4())).collect();
        let no_event = |e: nix::Error| ServerError::system("eventfd")(e.into());
        let sleeper = Sleeper::new(clock, config.spin).map_err(no_event)?;
        let (send, messages) = mpsc::channel();
        let post = Post::new(send, sleeper.waker());
        let cpu = Arc::new(Counter::default());
        let mut threads_cpu = vec![("scheduler".to_owned(), Arc::clone(&cpu))];
        let (to_pools, pools): (Vec<_>, Vec<_>) =
            (0..config.producers.max(1)).map(|_| spsc::channel(POOL)).unzip();
        let parts = Parts { clock, sleeper, messages, quantum: config.quantum, cpu };
        let (ready, is_ready) = mpsc::channel();
        let plan = Plan {
            policy: config.policy,
            sockets: sockets.clone(),
            segment: config.segment,
            limit: config.rate.map(|rate| (rate, config.overhead, config.credit)),
        };
        // The parts of a batch belong to one thread, which therefore creates them.
        let scheduler = spawn_after("scheduler", priority::raise, move || {
            thread::run(&plan, to_pools, parts, &ready)
        })?;
        is_ready.recv().unwrap_or(Err(ServerError::Stopped))?;

        let mut producers = Vec::new();
        let mut starts: Vec<Sender<producer::Start>> = Vec::new();
        for (number, pool) in pools.into_iter().enumerate() {
            let (send, receive) = mpsc::channel();
            let (post, cpu) = (post.clone(), Arc::new(Counter::default()));
            let name = format!("producer-{number}");
            threads_cpu.push((name.clone(), Arc::clone(&cpu)));
            starts.push(send);
            producers
                .push(spawn(&name, move || producer::run(&receive, pool, clock, &post, &cpu))?);
        }
        threads_cpu.push(("rtcp".to_owned(), Arc::default()));
        let shared = Arc::new(Shared {
            post,
            clock,
            families,
            sockets,
            cname: config.cname,
            rtcp: config.rtcp.is_some(),
            rate: config.rate.map(|rate| (rate, config.overhead)),
            threads_cpu,
            registry: Mutex::new(Registry {
                streams: HashMap::new(),
                ssrcs: HashMap::new(),
                destinations: HashMap::new(),
                starts: Some(starts),
                added: 0,
                retired: Counts::default(),
                network: rtcp::NetworkCounts::default(),
                rtcp: None,
            }),
        });
        let handle = Handle::new(shared);
        let rtcp = Some(rtcp::Service::start(handle.clone(), config.rtcp)?);
        let server = Server { handle, scheduler: Some(scheduler), producers, rtcp };
        for stream in config.streams {
            // On failure the server is dropped and thereby stopped.
            server.handle.add(stream)?;
        }
        Ok(server)
    }

    /// For other threads: adds, changes and drops streams, and reads statistics.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Stops all threads and answers the final state of every stream.
    pub fn stop(mut self, how: Stop) -> Snapshot {
        self.end(how)
    }

    fn end(&mut self, how: Stop) -> Snapshot {
        let Some(scheduler) = self.scheduler.take() else { return Snapshot::default() };
        let shared = self.handle.shared();
        // Without the sending end the producers end, and with them their rings.
        shared.registry().starts = None;
        for producer in self.producers.drain(..) {
            // One that panicked has ended too.
            let _ = producer.join();
        }
        let drain_until = match how {
            Stop::Drop => None,
            Stop::Drain(limit) => Some(shared.clock.now() + limit),
        };
        shared.post.send(Message::Stop { drain_until });
        let finished = scheduler.join();
        // Goodbyes come after the last packet.
        drop(self.rtcp.take());
        match finished {
            Ok(finished) => self.handle.final_snapshot(finished),
            Err(_) => Snapshot::default(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(Stop::Drop);
    }
}

/// Runs `work` on a thread of that name, without privileges.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, ServerError> {
    spawn_after(name, || {}, work)
}

/// The same, after `first` has used them.
fn spawn_after<T: Send + 'static>(
    name: &str,
    first: impl FnOnce() + Send + 'static,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, ServerError> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    let all = move || {
        first();
        // The system has no reason to refuse this, and with them the thread works as well.
        let _ = privileges::drop_all();
        work()
    };
    builder.spawn(all).map_err(ServerError::system(format!("thread {name}")))
}

/// Streams that start together are spread over a gap, so that they do not all send at once.
fn spread(number: u64, gap: Span) -> Span {
    // Multiples of the golden ratio fill the circle evenly, however many there are.
    let turn = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Span(((u128::from(gap.0) * u128::from(turn)) >> 64) as u64)
}
