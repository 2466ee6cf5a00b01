//! A network interface by name.

use std::io;
use std::os::fd::AsFd as _;

use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice, socket_with};

use crate::error::WireError;
use crate::sys::ethtool;

/// A network interface of this namespace.
#[derive(Clone, Debug)]
pub struct Device {
    name: String,
    index: u32,
}

impl Device {
    /// Looks an interface up.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn find(name: &str) -> Result<Device, WireError> {
        // Longer ones cannot exist, and the system would cut them.
        let index = if name.is_empty() || name.len() > 15 { None } else { index(name)? };
        match index {
            Some(index) => Ok(Device { name: name.to_owned(), index }),
            None => Err(WireError::NoDevice { device: name.to_owned() }),
        }
    }

    /// Its name when it was looked up.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its number.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Whether it carries Ethernet frames.
    ///
    /// # Errors
    /// The system's error.
    pub fn is_ethernet(&self) -> Result<bool, WireError> {
        let failed = |e| WireError::io(&self.name, "asking for its kind", e);
        let socket = control().map_err(failed)?;
        ethtool::is_ethernet(socket.as_fd(), &self.name).map_err(failed)
    }

    /// Whether it is still there.
    pub fn is_there(&self) -> bool {
        let control = control();
        control.is_ok_and(|socket| netdevice::index_to_name(socket, self.index).is_ok())
    }

    /// The same as a result.
    ///
    /// # Errors
    /// It was removed.
    pub fn check(&self) -> Result<(), WireError> {
        if self.is_there() { Ok(()) } else { Err(self.gone()) }
    }

    fn gone(&self) -> WireError {
        WireError::Gone { device: self.name.clone() }
    }

    /// The effect of a socket's error on a caller that goes on: none when the interface is down or the
    /// call was too early.
    pub(crate) fn excuse(&self, error: io::Error, what: &'static str) -> Result<(), WireError> {
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => Ok(()),
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV | libc::ENETUNREACH) => self.check(),
            _ => Err(WireError::io(&self.name, what, error)),
        }
    }
}

/// A socket for queries of interfaces.
pub(crate) fn control() -> io::Result<rustix::fd::OwnedFd> {
    Ok(socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?)
}

fn index(name: &str) -> Result<Option<u32>, WireError> {
    let failed = |e| WireError::io(name, "asking for the interface", e);
    let socket = control().map_err(failed)?;
    match netdevice::name_to_index(socket, name) {
        Ok(index) => Ok(Some(index)),
        Err(rustix::io::Errno::NODEV) => Ok(None),
        Err(e) => Err(failed(e.into())),
    }
}
