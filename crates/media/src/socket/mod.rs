//! UDP sockets: batches out, errors in.

mod channel;
mod errors;
#[cfg(test)]
mod tests;
mod transmit;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;

use nix::sys::socket::{SockaddrIn, SockaddrIn6, setsockopt, sockopt};

pub use channel::{BATCH, Channel, Datagram, Fate, Flush};
pub(crate) use errors::address;
pub use errors::{Complaint, complaints};
pub use transmit::{Kernel, Message, Transmit};

/// Batched output of either family.
#[derive(Debug)]
pub enum AnyChannel {
    /// Over IPv4.
    V4(Channel<Kernel<SockaddrIn>>),
    /// Over IPv6.
    V6(Channel<Kernel<SockaddrIn6>>),
}

/// A destination in the form that the kernel reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// IPv4.
    V4(SockaddrIn),
    /// IPv6.
    V6(SockaddrIn6),
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Address {
        match address {
            SocketAddr::V4(a) => Address::V4(a.into()),
            SocketAddr::V6(a) => Address::V6(a.into()),
        }
    }
}

/// Opens a UDP socket for sending to many: it does not block, and the network's complaints about
/// one destination are queued with its address.
///
/// # Errors
/// The address cannot be bound, or the system lacks an option.
pub fn open(bind: SocketAddr, send_buffer: Option<usize>) -> io::Result<Arc<UdpSocket>> {
    let socket = UdpSocket::bind(bind)?;
    socket.set_nonblocking(true)?;
    match bind {
        SocketAddr::V4(_) => setsockopt(&socket, sockopt::Ipv4RecvErr, &true)?,
        SocketAddr::V6(_) => setsockopt(&socket, sockopt::Ipv6RecvErr, &true)?,
    }
    if let Some(bytes) = send_buffer {
        setsockopt(&socket, sockopt::SndBuf, &bytes)?;
    }
    Ok(Arc::new(socket))
}

/// Requests a receive buffer; the system may give less.
///
/// # Errors
/// The system refuses.
pub fn receive_buffer(socket: &impl AsFd, bytes: usize) -> io::Result<()> {
    Ok(setsockopt(socket, sockopt::RcvBuf, &bytes)?)
}

impl AnyChannel {
    /// Output over a socket from [`open`]; `segment` lets the kernel cut runs of equal packets.
    ///
    /// # Errors
    /// The socket's own address cannot be read.
    pub fn new(socket: Arc<UdpSocket>, segment: bool) -> io::Result<AnyChannel> {
        Ok(match socket.local_addr()? {
            SocketAddr::V4(_) => AnyChannel::V4(Channel::new(Kernel::new(socket), segment)),
            SocketAddr::V6(_) => AnyChannel::V6(Channel::new(Kernel::new(socket), segment)),
        })
    }

    /// The socket.
    pub fn socket(&self) -> &Arc<UdpSocket> {
        match self {
            AnyChannel::V4(c) => c.transmit().socket(),
            AnyChannel::V6(c) => c.transmit().socket(),
        }
    }

    /// Puts a packet for `to` into the batch; see [`Channel::push`]. A destination of the other
    /// family is given back.
    ///
    /// # Errors
    /// The packet, when it is refused.
    #[inline]
    pub fn push(&mut self, to: &Address, datagram: Datagram) -> Result<(), Datagram> {
        match (self, to) {
            (AnyChannel::V4(c), Address::V4(a)) => c.push(*a, datagram),
            (AnyChannel::V6(c), Address::V6(a)) => c.push(*a, datagram),
            _ => Err(datagram),
        }
    }

    /// Packets that wait.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            AnyChannel::V4(c) => c.len(),
            AnyChannel::V6(c) => c.len(),
        }
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The packets that wait.
    pub fn waiting(&mut self) -> impl Iterator<Item = &mut Datagram> {
        match self {
            AnyChannel::V4(c) => c.waiting(),
            AnyChannel::V6(c) => c.waiting(),
        }
    }

    /// Sends the batch; see [`Channel::flush`].
    pub fn flush(&mut self, fate: impl FnMut(Datagram, Fate)) -> Flush {
        match self {
            AnyChannel::V4(c) => c.flush(fate),
            AnyChannel::V6(c) => c.flush(fate),
        }
    }

    /// Drops what waits of a stream; answers how many.
    pub fn withdraw(&mut self, stream: u32) -> usize {
        match self {
            AnyChannel::V4(c) => c.withdraw(stream),
            AnyChannel::V6(c) => c.withdraw(stream),
        }
    }

    /// Discards waiting packets without sending them.
    pub fn take_waiting(&mut self) -> Vec<Datagram> {
        match self {
            AnyChannel::V4(c) => c.take_waiting(),
            AnyChannel::V6(c) => c.take_waiting(),
        }
    }
}
