//! Socket activation by systemd: `sd_listen_fds(3)`.

use std::io;
use std::os::unix::net::UnixListener;

use nix::sys::socket::{AddressFamily, SockType, getsockname, getsockopt, sockopt};
use nix::sys::socket::{SockaddrLike as _, UnixAddr};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

/// The first passed descriptor, `SD_LISTEN_FDS_START`.
const FIRST_FD: i32 = 3;

/// The socket that systemd passed to this process; `None` if it passed none.
///
/// # Errors
/// Several descriptors were passed, or one that is not a listening Unix stream socket.
pub fn activation_socket() -> io::Result<Option<UnixListener>> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    // The environment may hold variables that were meant for the parent process.
    if number("LISTEN_PID") != Some(std::process::id()) {
        return Ok(None);
    }
    match number("LISTEN_FDS") {
        None | Some(0) => Ok(None),
        Some(1) => {
            let own = pidfd_open(getpid(), PidfdFlags::empty())?;
            let fd = pidfd_getfd(own, FIRST_FD, PidfdGetfdFlags::empty())?;
            listener(fd).map(Some)
        }
        Some(n) => Err(invalid(&format!("{n} sockets were passed; pass one"))),
    }
}

fn listener(fd: OwnedFd) -> io::Result<UnixListener> {
    let is_unix = getsockname::<UnixAddr>(fd.as_raw_fd())
        .is_ok_and(|address| address.family() == Some(AddressFamily::Unix));
    let is_stream = getsockopt(&fd.as_fd(), sockopt::SockType).ok() == Some(SockType::Stream);
    let is_listening = getsockopt(&fd.as_fd(), sockopt::AcceptConn).unwrap_or_default();
    if is_unix && is_stream && is_listening {
        return Ok(UnixListener::from(fd));
    }
    Err(invalid("the passed descriptor is not a listening Unix stream socket"))
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}
