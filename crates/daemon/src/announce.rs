//! Programs that run, found by others on this machine.
//!
//! Each listens at an abstract socket, `laxity/PROCESS`, and answers those who may ask with what it says
//! of itself. The kernel removes such a socket with its process, however that ends, so nothing is left
//! of one that was killed. `/proc/net/unix` lists those of the same network namespace, in which names
//! of interfaces and addresses mean the same.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::{Uid, geteuid};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::privileges;

const PREFIX: &str = "laxity/";

/// How long is waited for one that does not answer, and for all of them.
const PATIENCE: Duration = Duration::from_millis(500);
const PATIENCE_IN_ALL: Duration = Duration::from_secs(2);

/// Bytes of the longest answer.
const LONGEST: usize = 16 << 20;

/// What a running program says of itself to those who ask, until this is dropped.
#[derive(Debug)]
pub struct Announcement {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Has `say` answer root and this user, from a thread of its own; `None` while there is nothing to say.
///
/// # Errors
/// The system has no sockets or threads left.
pub fn announce(say: impl Fn() -> Option<String> + Send + 'static) -> io::Result<Announcement> {
    let (listener, address) = listen(std::process::id())?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = std::thread::Builder::new().name("announcement".to_owned()).spawn(move || {
        let _ = privileges::drop_all();
        for stream in listener.incoming() {
            if stopped.load(Ordering::Relaxed) {
                break;
            }
            // A client that goes away is no matter of ours.
            let _ = stream.and_then(|stream| answer(&stream, &say));
        }
    })?;
    Ok(Announcement { address, stop, thread: Some(thread) })
}

impl Drop for Announcement {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The thread waits for somebody to connect.
        let woken = UnixStream::connect_addr(&self.address).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

/// Processes of another name space may have the same number.
fn listen(process: u32) -> io::Result<(UnixListener, SocketAddr)> {
    let mut number = 0;
    loop {
        let address = SocketAddr::from_abstract_name(format!("{PREFIX}{process}/{number}"))?;
        match UnixListener::bind_addr(&address) {
            Err(e) if e.kind() == io::ErrorKind::AddrInUse && number < 64 => number += 1,
            listener => return Ok((listener?, address)),
        }
    }
}

fn answer(mut stream: &UnixStream, say: impl Fn() -> Option<String>) -> io::Result<()> {
    let peer = Uid::from_raw(getsockopt(stream, PeerCredentials)?.uid());
    if !peer.is_root() && peer != geteuid() {
        return Ok(());
    }
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(say().unwrap_or_default().as_bytes())
}

/// A program that has announced itself.
#[derive(Clone, Debug)]
pub struct Running {
    /// Its process and user, as the kernel says; 0 for a process of a name space that is not seen
    /// from here.
    pub process: u32,
    /// See [`process`](Self::process).
    pub user: u32,
    /// What it says; `None` where it does not answer.
    pub said: Option<String>,
}

/// The programs of this network namespace that root or this user runs, by process; for root those of
/// all users.
///
/// # Errors
/// The kernel does not list sockets.
pub fn running() -> io::Result<Vec<Running>> {
    let table = fs::read("/proc/thread-self/net/unix")?;
    let end = Instant::now() + PATIENCE_IN_ALL;
    let listeners = table.split(|byte| *byte == b'\n').filter_map(listener);
    let mut running: Vec<_> = listeners.filter_map(|name| ask(name, end)).collect();
    running.sort_by_key(|program| program.process);
    Ok(running)
}

/// The abstract name of a socket of ours that listens. Columns are number, references, protocol,
/// flags, type, state, inode and name; connections that were accepted have the name, too.
fn listener(line: &[u8]) -> Option<&[u8]> {
    const LISTENS: &[u8] = b"00010000";
    let mut columns = line.split(|byte| *byte == b' ').filter(|column| !column.is_empty());
    columns.nth(3).filter(|flags| *flags == LISTENS)?;
    columns.nth(3)?.strip_prefix(b"@").filter(|name| name.starts_with(PREFIX.as_bytes()))
}

/// `None` for one that has ended meanwhile, or whose user is not to be believed.
fn ask(name: &[u8], end: Instant) -> Option<Running> {
    // Where too many wait to be accepted a blocking socket would wait, too.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    connect(&socket, &SocketAddrUnix::new_abstract_name(name).ok()?).ok()?;
    let peer = getsockopt(&socket, PeerCredentials).ok()?;
    let (user, own) = (Uid::from_raw(peer.uid()), geteuid());
    if !(user.is_root() || user == own || own.is_root()) {
        return None;
    }
    let stream = UnixStream::from(socket);
    let end = end.min(Instant::now() + PATIENCE);
    let said = stream.set_nonblocking(false).and_then(|()| read(&stream, end));
    let said = said.ok().filter(|said| !said.is_empty());
    let process = u32::try_from(peer.pid()).unwrap_or_default();
    Some(Running { process, user: user.as_raw(), said })
}

fn read(mut stream: &UnixStream, end: Instant) -> io::Result<String> {
    let (mut said, mut bytes) = (Vec::new(), [0; 1 << 14]);
    while said.len() < LONGEST {
        let left = end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut bytes)? {
            0 => return String::from_utf8(said).map_err(io::Error::other),
            read => said.extend_from_slice(&bytes[..read]),
        }
    }
    Err(io::Error::other("an answer without end"))
}
