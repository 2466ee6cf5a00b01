//! Input by a tunnel device and output by raw sockets: what this machine itself sends by routes
//! into the tunnel is scheduled, and sent on by an interface.

use std::fs::File;
use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use laxity_trace::{LinkType, decode};
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, ipproto, sendto, socket_with,
};

use crate::counts::Counts;
use crate::device::Device;
use crate::error::WireError;
use crate::packet::obstacle;
use crate::pool::{Pool, Slot};
use crate::port::{self, Intake, Obstacle, Receive, Transmit, Transmitted};
use crate::sys;

/// Packets to a round.
const BATCH: usize = 256;

/// Packets that are routed into a tunnel device.
#[derive(Debug)]
pub struct TunReceiver {
    device: Device,
    file: File,
    lost: u64,
}

impl TunReceiver {
    /// Makes the device, which lives as long as this. The user sets it up and routes packets into
    /// it.
    ///
    /// # Errors
    /// The name is taken or none, or this is not permitted.
    pub fn create(name: &str) -> Result<TunReceiver, WireError> {
        if name.is_empty() || name.len() > 15 || name.contains(['/', '%', ' ']) {
            return Err(WireError::BadName { device: name.to_owned() });
        }
        const WHAT: &str = "making a tunnel device";
        let file = sys::tun::open().map_err(|e| WireError::tunnels(WHAT, e))?;
        sys::tun::create(&file, name).map_err(|e| match e.raw_os_error() {
            Some(libc::EINVAL | libc::EBUSY) if Device::find(name).is_ok() => {
                WireError::NameInUse { device: name.to_owned() }
            }
            _ => WireError::io(name, WHAT, e),
        })?;
        let device = Device::find(name)?;
        let mut receiver = TunReceiver { device, file, lost: 0 };
        receiver.lost = receiver.dropped();
        Ok(receiver)
    }

    /// Packets that found no room in the device, up to now.
    fn dropped(&self) -> u64 {
        let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
        let columns = table
            .lines()
            .find_map(|line| line.trim_start().strip_prefix(self.device.name())?.strip_prefix(':'));
        // Eight columns of what is received, then bytes, packets, errors and drops of what is sent.
        let column = columns.and_then(|c| c.split_whitespace().nth(11));
        column.and_then(|n| n.parse().ok()).unwrap_or(0)
    }
}

impl Receive for TunReceiver {
    fn receive(&mut self, intake: &mut Intake<'_>) -> Result<(), WireError> {
        let Intake { pool, arrived, .. } = intake;
        let now = port::now();
        for _ in 0..BATCH {
            let Some(slot) = pool.allocate() else { return Ok(()) };
            match self.file.read(pool.buffer(slot)) {
                Ok(len) => {
                    let packet = pool.buffer(slot);
                    // A packet that does not fit is truncated silently; its header holds its length.
                    let cut = len == packet.len();
                    let ip_len = cut.then(|| decode(LinkType::RAW, packet).ip_len).flatten();
                    let len = ip_len.map_or(len, |ip_len| len.max(ip_len as usize));
                    pool.received(slot, len, now);
                    arrived.push(slot);
                }
                Err(e) => {
                    pool.release(slot);
                    return match e.raw_os_error() {
                        Some(libc::EBADFD) => {
                            Err(WireError::Gone { device: self.device.name().to_owned() })
                        }
                        _ => self.device.excuse(e, "reading the tunnel"),
                    };
                }
            }
        }
        Ok(())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn check(&mut self, counts: &mut Counts) -> Result<(), WireError> {
        let lost = self.dropped();
        counts.overflow += lost.saturating_sub(self.lost);
        self.lost = lost;
        self.device.check()
    }
}

/// Packets to wherever they are addressed, by one interface.
#[derive(Debug)]
pub struct RawTransmitter {
    device: Device,
    v4: OwnedFd,
    /// `None` where this machine has no IPv6.
    v6: Option<OwnedFd>,
}

impl RawTransmitter {
    /// Sends by an interface; the routes of that interface decide the neighbour of each packet.
    ///
    /// # Errors
    /// There is no such interface, or this is not permitted.
    pub fn open(device: &Device) -> Result<RawTransmitter, WireError> {
        let open = |family| -> io::Result<OwnedFd> {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = socket_with(family, SocketType::RAW, flags, Some(ipproto::RAW))?;
            sys::tun::bind_to(socket.as_fd(), device.name())?;
            Ok(socket)
        };
        let failed = |e| WireError::io(device.name(), "sending with a raw socket", e);
        let v4 = open(AddressFamily::INET).map_err(failed)?;
        Ok(RawTransmitter { device: device.clone(), v4, v6: open(AddressFamily::INET6).ok() })
    }

    fn send(&self, packet: &[u8]) -> Result<(), io::Error> {
        let destination = decode(LinkType::RAW, packet).dst;
        let socket = match destination {
            Some(IpAddr::V4(_)) => Some(&self.v4),
            Some(IpAddr::V6(_)) => self.v6.as_ref(),
            None => None,
        };
        let (Some(to), Some(socket)) = (destination, socket) else {
            return Err(io::Error::from_raw_os_error(libc::EHOSTUNREACH));
        };
        let to = SocketAddr::new(to, 0);
        sendto(socket, packet, SendFlags::DONTWAIT, &to).map(drop).map_err(io::Error::from)
    }
}

impl Transmit for RawTransmitter {
    fn transmit(&mut self, pool: &Pool, frames: &[Slot]) -> Result<Transmitted, WireError> {
        for (i, slot) in frames.iter().enumerate() {
            let stuck = match self.send(pool.frame(*slot)) {
                Ok(()) => continue,
                // There is no receiver: a retry does not help, unless the interface is down.
                Err(e) if unroutable(&e) => Obstacle::Unroutable,
                Err(e) => obstacle(&self.device, e)?,
            };
            return Ok(Transmitted { frames: i, obstacle: Some(stuck) });
        }
        Ok(Transmitted { frames: frames.len(), obstacle: None })
    }

    fn check(&mut self) -> Result<(), WireError> {
        self.device.check()
    }
}

/// Whether a packet was refused for what it is.
fn unroutable(error: &io::Error) -> bool {
    let refused = [
        libc::EHOSTUNREACH,
        libc::ENETUNREACH,
        libc::EINVAL,
        libc::EACCES,
        libc::EPERM,
        libc::EADDRNOTAVAIL,
    ];
    error.raw_os_error().is_some_and(|e| refused.contains(&e))
}
