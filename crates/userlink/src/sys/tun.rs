//! A tunnel device, and sockets bound to an interface.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::ethtool::request_for;

/// The file by which devices are made, read without waiting.
///
/// # Errors
/// The operating system's error.
pub fn open() -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    options.open("/dev/net/tun")
}

/// Makes a device that carries IP packets to the holder of the file, and goes away with it.
///
/// # Errors
/// The operating system's error.
pub fn create(file: &File, name: &str) -> io::Result<()> {
    let mut request = request_for(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as _;
    // SAFETY: the request names a device and ends with a zero; the kernel writes into it only.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes a socket send by one interface, whatever the routes by others.
///
/// # Errors
/// The operating system's error.
pub fn bind_to(socket: BorrowedFd<'_>, device: &str) -> io::Result<()> {
    let (pointer, len) = (device.as_ptr().cast(), device.len() as libc::socklen_t);
    let (level, name) = (libc::SOL_SOCKET, libc::SO_BINDTODEVICE);
    // SAFETY: the pointer leads to `len` bytes that outlive the call.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, pointer, len) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
