//! The control socket: peer credentials, reading and writing of lines.

use std::io::{self, BufRead, BufReader, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use laxity_daemon::socket::{self, SocketFile};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, MsgFlags, getsockopt, sendmsg, sockopt};
use nix::unistd::{Uid, geteuid};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};
use serde_json::json;

use super::request::{Answer, Request};
use crate::server::{Handle, ServerError, spawn};

/// The longest request. A stream of frames with thousands of sizes fits.
const LONGEST: u64 = 1 << 20;

/// How often the thread that accepts looks whether the server has stopped.
const POLL_MS: u16 = 200;

/// Connections at once.
const CONNECTIONS: usize = 16;

/// Idle time after which a connection is closed, unless it has attached a stream: those that
/// are open take places from others.
const IDLE: Duration = Duration::from_secs(60);

/// The control socket of a server. Dropping it closes it and removes its file.
#[derive(Debug)]
pub struct Control {
    stop: Arc<AtomicBool>,
    refused: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
    _place: SocketFile,
}

impl Control {
    /// Listens at a path, which must be free or a socket without a listener.
    ///
    /// # Errors
    /// The path is in use or cannot be created.
    pub fn listen(handle: Handle, path: &Path) -> Result<Control, ServerError> {
        let failed = || ServerError::system(format!("control socket {}", path.display()));
        // Folders are made for the system's own sockets only; elsewhere it may be a typing error.
        std::fs::metadata(socket::directory_of(path)).map_err(failed())?;
        let (listener, place) = socket::listen(path, 0o600, None).map_err(failed())?;
        listener.set_nonblocking(true).map_err(failed())?;
        let (stop, refused) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&refused));
        let thread = spawn("control", move || {
            accept(&listener, &handle, geteuid(), IDLE, &stopped, &count)
        })?;
        Ok(Control { stop, refused, thread: Some(thread), _place: place })
    }

    /// How many connections of other users were refused.
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Whether a peer may speak: the server's own user, or root.
pub(super) fn welcome(peer: Uid, own: Uid) -> bool {
    peer == own || peer.is_root()
}

pub(super) fn accept(
    listener: &UnixListener,
    handle: &Handle,
    own: Uid,
    idle: Duration,
    stop: &Arc<AtomicBool>,
    refused: &AtomicUsize,
) {
    let connections = Arc::new(AtomicUsize::new(0));
    while !stop.load(Ordering::Relaxed) {
        let mut fds = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        let ready = poll(&mut fds, PollTimeout::from(POLL_MS));
        let Ok((mut stream, _)) = listener.accept() else {
            // Out of descriptors, which others give back.
            if ready.is_ok_and(|ready| ready > 0) {
                std::thread::sleep(Duration::from_millis(20));
            }
            continue;
        };
        let peer = getsockopt(&stream, sockopt::PeerCredentials).map(|c| Uid::from_raw(c.uid()));
        if !peer.is_ok_and(|peer| welcome(peer, own)) {
            refused.fetch_add(1, Ordering::Relaxed);
            let _ =
                write(&mut stream, Err("only the server's user and root may control it".into()));
            continue;
        }
        if connections.load(Ordering::Relaxed) >= CONNECTIONS {
            let _ = write(&mut stream, Err("too many connections; close one".into()));
            continue;
        }
        connections.fetch_add(1, Ordering::Relaxed);
        let (handle, stop, ours) = (handle.clone(), Arc::clone(stop), Arc::clone(&connections));
        let served = spawn("control-peer", move || {
            serve(stream, &handle, idle, &stop, Seat(ours));
        });
        if served.is_err() {
            connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
    // Connections look at `stop` as often.
    for _ in 0..100 {
        if connections.load(Ordering::Relaxed) == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An occupied place for a connection.
struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves one connection until it is closed or idle for too long. One that attaches a
/// stream lasts as long as its producer, and gives its place to others.
fn serve(stream: UnixStream, handle: &Handle, idle: Duration, stop: &AtomicBool, seat: Seat) {
    let mut seat = Some(seat);
    let mut last_received = Instant::now();
    let short = Some(Duration::from_millis(200));
    // An answer that is not read within the timeout is dropped.
    let timeouts = stream.set_nonblocking(false).is_ok()
        && stream.set_read_timeout(short).is_ok()
        && stream.set_write_timeout(Some(Duration::from_secs(5))).is_ok();
    let Ok(mut writer) = stream.try_clone() else { return };
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    let mut attached = Vec::new();
    while timeouts && !stop.load(Ordering::Relaxed) {
        let room = LONGEST - line.len() as u64;
        match (&mut reader).take(room).read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) if line.last() == Some(&b'\n') => {}
            Ok(_) if line.len() as u64 == LONGEST => {
                let _ = write(&mut writer, Err(format!("a line of more than {LONGEST} bytes")));
                break;
            }
            Ok(_) => continue,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if attached.is_empty() && last_received.elapsed() >= idle {
                    break;
                }
                continue;
            }
            Err(_) => break,
        }
        last_received = Instant::now();
        let answer = match serde_json::from_slice::<Request>(&line) {
            Ok(request) => {
                let name = match &request {
                    Request::Attach(named) => Some(named.name.clone()),
                    _ => None,
                };
                let answer = request.perform(handle);
                attached.extend(name.filter(|_| answer.is_ok()));
                if !attached.is_empty() {
                    drop(seat.take());
                }
                answer
            }
            Err(error) => Err(format!("request: {error}")),
        };
        line.clear();
        if write(&mut writer, answer).is_err() {
            break;
        }
    }
    for name in attached {
        // The stream may have been dropped meanwhile.
        let _ = handle.detach(&name);
    }
}

fn write(stream: &mut UnixStream, answer: Answer) -> io::Result<()> {
    let (line, descriptor) = match answer {
        Ok((value, descriptor)) => (json!({ "ok": value }), descriptor),
        Err(error) => (json!({ "error": error }), None),
    };
    let mut line = line.to_string().into_bytes();
    line.push(b'\n');
    let mut sent = 0;
    if let Some(descriptor) = descriptor {
        let rights = [descriptor.as_raw_fd()];
        let control = [ControlMessage::ScmRights(&rights)];
        let slices = [IoSlice::new(&line)];
        let fd = stream.as_raw_fd();
        sent = sendmsg::<()>(fd, &slices, &control, MsgFlags::MSG_NOSIGNAL, None)?;
    }
    stream.write_all(&line[sent..])
}

/// Requests from a server the ring of a stream with source `"shared"`, to be opened with
/// [`laxity_ring::shared::attach`]. The stream rests when the connection is closed.
///
/// # Errors
/// No server listens there, or the server refuses; the error holds its message.
pub fn attach(path: &Path, stream: &str) -> io::Result<(UnixStream, OwnedFd)> {
    let mut connection = UnixStream::connect(path)?;
    let mut line = json!({ "attach": { "name": stream } }).to_string();
    line.push('\n');
    connection.write_all(line.as_bytes())?;
    let (mut answer, mut ring) = (Vec::new(), None);
    while answer.last() != Some(&b'\n') && (answer.len() as u64) < LONGEST {
        let mut bytes = [0; 4096];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(&mut bytes)];
        let message = recvmsg(&connection, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC)?;
        if message.bytes == 0 || message.flags.contains(ReturnFlags::CTRUNC) {
            break;
        }
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
                ring = ring.or(descriptors.next());
            }
        }
        answer.extend_from_slice(&bytes[..message.bytes]);
    }
    match ring {
        Some(ring) => Ok((connection, ring)),
        None => {
            let answer = String::from_utf8_lossy(&answer).trim().to_owned();
            Err(io::Error::other(format!("no ring received; answer of the server: {answer}")))
        }
    }
}
