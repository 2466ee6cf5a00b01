//! The server: accepts connections and limits their number and duration.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use laxity_reserve::protocol::{
    Answer, Code, MAX_LINE_BYTES, Refusal, Reply, encode_line, parse_request,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::broker::{Broker, Peer};

/// Interval at which a blocked thread checks whether the server stops.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Limits of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Concurrent connections of all users except root; root has as many again.
    pub total: usize,
    /// Concurrent connections of one user.
    pub per_user: usize,
    /// Time for a request to arrive, and for the peer to read an answer.
    pub timeout: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> ConnectionLimits {
        ConnectionLimits { total: 64, per_user: 8, timeout: Duration::from_secs(10) }
    }
}

/// A running server. Dropping it stops the server; reservations remain.
#[derive(Debug)]
pub struct Server {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves a socket.
    ///
    /// # Errors
    /// The socket cannot be configured, or no thread can be created.
    pub fn start(
        listener: UnixListener,
        broker: Arc<Broker>,
        limits: ConnectionLimits,
    ) -> io::Result<Server> {
        listener.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("broker".to_owned()).spawn(move || {
            let connections = OpenConnections::default();
            accept_loop(&listener, &Shared { broker, limits, stop: stopped, connections });
        })?;
        Ok(Server { stop, thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[derive(Clone)]
struct Shared {
    broker: Arc<Broker>,
    limits: ConnectionLimits,
    stop: Arc<AtomicBool>,
    connections: OpenConnections,
}

/// The number of open connections by user.
#[derive(Clone, Default)]
struct OpenConnections(Arc<(Mutex<BTreeMap<u32, usize>>, Condvar)>);

/// A counted connection, until it is dropped.
struct ConnectionGuard {
    connections: OpenConnections,
    user: u32,
}

impl OpenConnections {
    fn open(&self, user: u32, limits: &ConnectionLimits) -> Result<ConnectionGuard, &'static str> {
        let mut users = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = users.get(&user).copied().unwrap_or_default();
        if user == 0 {
            if own >= limits.total {
                return Err("root has too many connections; close one");
            }
        } else if own >= limits.per_user {
            return Err("your user has too many connections; close one");
        } else if users.iter().filter(|(u, _)| **u != 0).map(|(_, n)| n).sum::<usize>()
            >= limits.total
        {
            return Err("there are too many connections; try again");
        }
        *users.entry(user).or_default() += 1;
        Ok(ConnectionGuard { connections: self.clone(), user })
    }

    /// Waits until all are closed, for a limited time.
    fn drain(&self) {
        let users = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.0.1.wait_timeout_while(users, 5 * POLL_INTERVAL, |users| !users.is_empty());
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let mut users = self.connections.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = users.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                users.remove(&self.user);
            }
        }
        self.connections.0.1.notify_all();
    }
}

fn accept_loop(listener: &UnixListener, shared: &Shared) {
    let timeout = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.subsec_nanos().into() };
    while !shared.stop.load(Ordering::Relaxed) {
        let mut fds = [PollFd::new(listener, PollFlags::IN)];
        if !poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready > 0) {
            continue;
        }
        match listener.accept() {
            Ok((stream, _)) => start_connection(stream, shared),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Out of descriptors: some become free when connections end.
            Err(_) => std::thread::sleep(POLL_INTERVAL),
        }
    }
    shared.connections.drain();
}

fn start_connection(mut stream: UnixStream, shared: &Shared) {
    let Ok(peer) = Peer::from_stream(&stream) else { return };
    let guard = match shared.connections.open(peer.user, &shared.limits) {
        Ok(guard) => guard,
        Err(why) => {
            shared.broker.counters.record_rejected_connection();
            // The answer fits into the empty socket buffer.
            let _ = stream.set_nonblocking(true);
            let _ = stream.write_all(&encode_line(&refused(Code::Busy, why)));
            return;
        }
    };
    let shared = shared.clone();
    // If no thread can be created, the connection is closed.
    let _ = std::thread::Builder::new().name("broker-peer".to_owned()).spawn(move || {
        let _guard = guard;
        // A client that disconnects is no error.
        let _ = serve(stream, &peer, &shared);
    });
}

fn refused(code: Code, text: impl Into<String>) -> Reply {
    Reply::new(Answer::Refused(Refusal::new(code, text)))
}

fn serve(mut stream: UnixStream, peer: &Peer, shared: &Shared) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(shared.limits.timeout))?;
    let mut received = Vec::new();
    while let Some(text) = read_line(&mut stream, &mut received, shared)? {
        let (request, answer) = match text {
            Ok(text) => match parse_request(&text) {
                Ok(request) => (Some(request), shared.broker.handle(peer, &request)),
                Err(refusal) => (None, Answer::Refused(refusal)),
            },
            Err(why) => (None, Answer::Refused(Refusal::new(Code::Malformed, why))),
        };
        shared.broker.counters.record(request.as_ref(), &answer);
        let is_valid = request.is_some();
        stream.write_all(&encode_line(&Reply::new(answer)))?;
        // After an invalid line the start of the next one is unknown.
        if !is_valid {
            break;
        }
    }
    Ok(())
}

/// Reads the next line; `None` at the end of the stream, on a timeout, and when the server stops.
/// `received` keeps the bytes after the line.
fn read_line(
    stream: &mut UnixStream,
    received: &mut Vec<u8>,
    shared: &Shared,
) -> io::Result<Option<Result<Vec<u8>, String>>> {
    let deadline = Instant::now() + shared.limits.timeout;
    let mut buffer = [0; MAX_LINE_BYTES];
    loop {
        if let Some(end) = received.iter().position(|byte| *byte == b'\n') {
            let rest = received.split_off(end + 1);
            return Ok(Some(Ok(std::mem::replace(received, rest))));
        }
        if received.len() >= MAX_LINE_BYTES {
            return Ok(Some(Err(format!("a line of more than {MAX_LINE_BYTES} bytes"))));
        }
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() || shared.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        stream.set_read_timeout(Some(remaining.min(POLL_INTERVAL)))?;
        let free = MAX_LINE_BYTES - received.len();
        match stream.read(&mut buffer[..free]) {
            Ok(0) => return Ok(None),
            Ok(bytes) => received.extend_from_slice(&buffer[..bytes]),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}
