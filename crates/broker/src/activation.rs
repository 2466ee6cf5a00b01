//! A socket that systemd made: `sd_listen_fds(3)`.

use std::io;
use std::os::unix::net::UnixListener;

use nix::sys::socket::{AddressFamily, SockType, getsockname, getsockopt, sockopt};
use nix::sys::socket::{SockaddrLike as _, UnixAddr};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

/// The first descriptor that is passed.
const FIRST: i32 = 3;

/// The socket that was passed to this process; `None` where none was.
///
/// # Errors
/// Something else was passed.
pub fn activated() -> io::Result<Option<UnixListener>> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    // Variables that a parent got and left in the environment are not for us.
    if number("LISTEN_PID") != Some(std::process::id()) {
        return Ok(None);
    }
    match number("LISTEN_FDS") {
        None | Some(0) => Ok(None),
        Some(1) => {
            let own = pidfd_open(getpid(), PidfdFlags::empty())?;
            let passed = pidfd_getfd(own, FIRST, PidfdGetfdFlags::empty())?;
            listener(passed).map(Some)
        }
        Some(n) => Err(invalid(&format!("{n} sockets were passed; pass one"))),
    }
}

fn listener(passed: OwnedFd) -> io::Result<UnixListener> {
    let is_unix = getsockname::<UnixAddr>(passed.as_raw_fd())
        .is_ok_and(|address| address.family() == Some(AddressFamily::Unix));
    let stream = getsockopt(&passed.as_fd(), sockopt::SockType).ok() == Some(SockType::Stream);
    let listens = getsockopt(&passed.as_fd(), sockopt::AcceptConn).unwrap_or_default();
    if is_unix && stream && listens {
        return Ok(UnixListener::from(passed));
    }
    Err(invalid("what was passed is no Unix stream socket that listens"))
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}
