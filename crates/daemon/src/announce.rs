//! Discovery of running programs on this machine.
//!
//! Each program listens on an abstract socket, `laxity/PID`, and sends its status to authorized peers. The
//! kernel removes an abstract socket with its process, so a killed program leaves none behind.
//! `/proc/net/unix` lists the sockets of the same network namespace, in which interface names and addresses
//! have the same meaning.

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

/// Timeouts of one program, and of all together.
const TIMEOUT: Duration = Duration::from_millis(500);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest status, in bytes.
const MAX_STATUS_BYTES: usize = 16 << 20;

/// The announcement of this program, until it is dropped.
#[derive(Debug)]
pub struct Announcement {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Announces this program. A thread sends the result of `status` to root and to the same user; `None` while
/// there is no status.
///
/// # Errors
/// No socket or thread can be created.
pub fn announce(status: impl Fn() -> Option<String> + Send + 'static) -> io::Result<Announcement> {
    let (listener, address) = listen(std::process::id())?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = std::thread::Builder::new().name("announcement".to_owned()).spawn(move || {
        let _ = privileges::drop_all();
        for stream in listener.incoming() {
            if stopped.load(Ordering::Relaxed) {
                break;
            }
            // A peer that disconnects is no error.
            let _ = stream.and_then(|stream| send_status(&stream, &status));
        }
    })?;
    Ok(Announcement { address, stop, thread: Some(thread) })
}

impl Drop for Announcement {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A connection wakes the thread from accept(2).
        let woken = UnixStream::connect_addr(&self.address).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

/// Listens on the first free name: processes of other PID namespaces may have the same PID.
fn listen(pid: u32) -> io::Result<(UnixListener, SocketAddr)> {
    let mut number = 0;
    loop {
        let address = SocketAddr::from_abstract_name(format!("{PREFIX}{pid}/{number}"))?;
        match UnixListener::bind_addr(&address) {
            Err(e) if e.kind() == io::ErrorKind::AddrInUse && number < 64 => number += 1,
            listener => return Ok((listener?, address)),
        }
    }
}

fn send_status(mut stream: &UnixStream, status: impl Fn() -> Option<String>) -> io::Result<()> {
    let peer = Uid::from_raw(getsockopt(stream, PeerCredentials)?.uid());
    if !peer.is_root() && peer != geteuid() {
        return Ok(());
    }
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.write_all(status().unwrap_or_default().as_bytes())
}

/// A program that announces itself.
#[derive(Clone, Debug)]
pub struct RunningProgram {
    /// Its PID according to the kernel; 0 for a process outside of the PID namespace of the caller.
    pub pid: u32,
    /// Its user according to the kernel.
    pub user: u32,
    /// Its status; `None` if it does not answer.
    pub status: Option<String>,
}

/// The programs of root and of this user in this network namespace, sorted by PID; for root those of all
/// users.
///
/// # Errors
/// `/proc/net/unix` cannot be read.
pub fn running_programs() -> io::Result<Vec<RunningProgram>> {
    let table = fs::read("/proc/thread-self/net/unix")?;
    let end = Instant::now() + TOTAL_TIMEOUT;
    let listeners = table.split(|byte| *byte == b'\n').filter_map(listener);
    let mut programs: Vec<_> = listeners.filter_map(|name| read_program(name, end)).collect();
    programs.sort_by_key(|program| program.pid);
    Ok(programs)
}

/// The name of a listening socket of this project, from a line of `/proc/net/unix`. The columns are number,
/// references, protocol, flags, type, state, inode and name. Accepted connections have the same name.
fn listener(line: &[u8]) -> Option<&[u8]> {
    const LISTENING: &[u8] = b"00010000";
    let mut columns = line.split(|byte| *byte == b' ').filter(|column| !column.is_empty());
    columns.nth(3).filter(|flags| *flags == LISTENING)?;
    columns.nth(3)?.strip_prefix(b"@").filter(|name| name.starts_with(PREFIX.as_bytes()))
}

/// Reads the status of a program; `None` if it has ended, or if its user is not trusted.
fn read_program(name: &[u8], end: Instant) -> Option<RunningProgram> {
    // A blocking connect(2) would block while the backlog is full.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    connect(&socket, &SocketAddrUnix::new_abstract_name(name).ok()?).ok()?;
    let peer = getsockopt(&socket, PeerCredentials).ok()?;
    let (user, own) = (Uid::from_raw(peer.uid()), geteuid());
    if !(user.is_root() || user == own || own.is_root()) {
        return None;
    }
    let stream = UnixStream::from(socket);
    let end = end.min(Instant::now() + TIMEOUT);
    let status = stream.set_nonblocking(false).and_then(|()| read_status(&stream, end));
    let status = status.ok().filter(|status| !status.is_empty());
    let pid = u32::try_from(peer.pid()).unwrap_or_default();
    Some(RunningProgram { pid, user: user.as_raw(), status })
}

fn read_status(mut stream: &UnixStream, end: Instant) -> io::Result<String> {
    let (mut status, mut bytes) = (Vec::new(), [0; 1 << 14]);
    while status.len() < MAX_STATUS_BYTES {
        let remaining = end.saturating_duration_since(Instant::now());
        stream.set_read_timeout(Some(remaining.max(Duration::from_millis(1))))?;
        match stream.read(&mut bytes)? {
            0 => return String::from_utf8(status).map_err(io::Error::other),
            read => status.extend_from_slice(&bytes[..read]),
        }
    }
    Err(io::Error::other("the status is too long"))
}
