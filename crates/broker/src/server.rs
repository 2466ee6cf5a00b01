//! All connections: how many there may be, how long they may take.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use laxity_reserve::protocol::{Answer, Code, LONGEST, Refusal, Reply, line, read};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::broker::{Broker, Peer};

/// How often a thread that waits looks whether it shall stop.
const LOOK: Duration = Duration::from_millis(200);

/// What connections may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time, of all users but root; root has as many again.
    pub connections: usize,
    /// Of these, of one user.
    pub of_user: usize,
    /// How long a request may take to arrive, and an answer to be taken.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connections: 64, of_user: 8, patience: Duration::from_secs(10) }
    }
}

/// Serves a socket. Dropping it ends that; reservations stay.
#[derive(Debug)]
pub struct Server {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves a socket.
    ///
    /// # Errors
    /// The socket cannot be used, or no thread be had.
    pub fn start(
        listener: UnixListener,
        broker: Arc<Broker>,
        limits: Limits,
    ) -> io::Result<Server> {
        listener.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("broker".to_owned()).spawn(move || {
            accept(&listener, &Shared { broker, limits, stop: stopped, open: Open::default() });
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
    limits: Limits,
    stop: Arc<AtomicBool>,
    open: Open,
}

/// Connections by user.
#[derive(Clone, Default)]
struct Open(Arc<(Mutex<BTreeMap<u32, usize>>, Condvar)>);

/// A connection while it lasts.
struct Connection {
    open: Open,
    user: u32,
}

impl Open {
    fn enter(&self, user: u32, limits: &Limits) -> Result<Connection, &'static str> {
        let mut users = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_user = users.get(&user).copied().unwrap_or_default();
        if user == 0 {
            if of_user >= limits.connections {
                return Err("root has too many connections; close one");
            }
        } else if of_user >= limits.of_user {
            return Err("your user has too many connections; close one");
        } else if users.iter().filter(|(u, _)| **u != 0).map(|(_, n)| n).sum::<usize>()
            >= limits.connections
        {
            return Err("there are too many connections; try again");
        }
        *users.entry(user).or_default() += 1;
        Ok(Connection { open: self.clone(), user })
    }

    /// Waits until all are closed, but not for long.
    fn drain(&self) {
        let users = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.0.1.wait_timeout_while(users, 5 * LOOK, |users| !users.is_empty());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut users = self.open.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = users.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                users.remove(&self.user);
            }
        }
        self.open.0.1.notify_all();
    }
}

fn accept(listener: &UnixListener, shared: &Shared) {
    let look = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
    while !shared.stop.load(Ordering::Relaxed) {
        let mut waiting = [PollFd::new(listener, PollFlags::IN)];
        if !poll(&mut waiting, Some(&look)).is_ok_and(|ready| ready > 0) {
            continue;
        }
        match listener.accept() {
            Ok((stream, _)) => begin(stream, shared),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Descriptors may have run out; they come back when connections end.
            Err(_) => std::thread::sleep(LOOK),
        }
    }
    shared.open.drain();
}

fn begin(mut stream: UnixStream, shared: &Shared) {
    let Ok(peer) = Peer::of(&stream) else { return };
    let entered = match shared.open.enter(peer.user, &shared.limits) {
        Ok(connection) => connection,
        Err(why) => {
            shared.broker.counts.turn_away();
            // It fits into an empty buffer, or nobody waits for it.
            let _ = stream.set_nonblocking(true);
            let _ = stream.write_all(&line(&refused(Code::Busy, why)));
            return;
        }
    };
    let shared = shared.clone();
    // Without a thread it is closed.
    let _ = std::thread::Builder::new().name("broker-peer".to_owned()).spawn(move || {
        let _entered = entered;
        // A client that hangs up has what it wanted.
        let _ = serve(stream, &peer, &shared);
    });
}

fn refused(code: Code, text: impl Into<String>) -> Reply {
    Reply::new(Answer::Refused(Refusal::new(code, text)))
}

fn serve(mut stream: UnixStream, peer: &Peer, shared: &Shared) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(shared.limits.patience))?;
    let counts = &shared.broker.counts;
    let mut received = Vec::new();
    while let Some(text) = next_line(&mut stream, &mut received, shared)? {
        let (request, answer) = match text {
            Ok(text) => match read(&text) {
                Ok(request) => (Some(request), shared.broker.perform(peer, &request)),
                Err(refusal) => (None, Answer::Refused(refusal)),
            },
            Err(why) => (None, Answer::Refused(Refusal::new(Code::Malformed, why))),
        };
        counts.answered(request.as_ref(), &answer);
        let understood = request.is_some();
        stream.write_all(&line(&Reply::new(answer)))?;
        // What comes after something strange may be anything.
        if !understood {
            break;
        }
    }
    Ok(())
}

/// The next line; `None` at the end, when it takes too long, and when the server stops. `received`
/// keeps what came with it.
fn next_line(
    stream: &mut UnixStream,
    received: &mut Vec<u8>,
    shared: &Shared,
) -> io::Result<Option<Result<Vec<u8>, String>>> {
    let until = Instant::now() + shared.limits.patience;
    let mut buffer = [0; LONGEST];
    loop {
        if let Some(end) = received.iter().position(|byte| *byte == b'\n') {
            let rest = received.split_off(end + 1);
            return Ok(Some(Ok(std::mem::replace(received, rest))));
        }
        if received.len() >= LONGEST {
            return Ok(Some(Err(format!("a line of more than {LONGEST} bytes"))));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || shared.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left.min(LOOK)))?;
        let room = LONGEST - received.len();
        match stream.read(&mut buffer[..room]) {
            Ok(0) => return Ok(None),
            Ok(bytes) => received.extend_from_slice(&buffer[..bytes]),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}
