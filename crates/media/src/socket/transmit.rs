//! The one system call that sends.

use std::io::IoSlice;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::sendmmsg;
use nix::sys::socket::{
    ControlMessage, MsgFlags, MultiHeaders, SockaddrIn, SockaddrIn6, SockaddrLike,
};

use super::BATCH;

/// One message of a batch: a packet, or several of equal length for one destination.
#[derive(Debug)]
pub struct Message<'a, A> {
    /// Where to.
    pub to: A,
    /// A slice for each packet.
    pub packets: &'a [IoSlice<'a>],
}

impl<'a, A> AsRef<[IoSlice<'a>]> for Message<'a, A> {
    fn as_ref(&self) -> &[IoSlice<'a>] {
        self.packets
    }
}

/// A sender of batches: the kernel's sockets, or one of the tests.
pub trait Transmit {
    /// A destination.
    type Address: Copy + PartialEq;

    /// Brings equal destinations together; different ones may share a key.
    fn key(to: &Self::Address) -> u64;

    /// Sends messages in order and answers how many went out. With `segment`, messages of several
    /// packets are to be cut every so many bytes; none has more in its last packet.
    ///
    /// # Errors
    /// Why the first could not be sent.
    fn transmit(
        &mut self,
        messages: &[Message<'_, Self::Address>],
        segment: Option<u16>,
    ) -> Result<usize, Errno>;
}

/// `sendmmsg(2)` on a socket, with UDP_SEGMENT where packets are to be cut.
#[derive(Debug)]
pub struct Kernel<S> {
    socket: Arc<UdpSocket>,
    addresses: Vec<Option<S>>,
    plain: MultiHeaders<S>,
    segmented: MultiHeaders<S>,
}

impl<S: SockaddrLike + Copy> Kernel<S> {
    pub(super) fn new(socket: Arc<UdpSocket>) -> Kernel<S> {
        Kernel {
            socket,
            addresses: Vec::with_capacity(BATCH),
            plain: MultiHeaders::preallocate(BATCH, None),
            segmented: MultiHeaders::preallocate(BATCH, Some(cmsg_space!(u16))),
        }
    }

    pub(super) fn socket(&self) -> &Arc<UdpSocket> {
        &self.socket
    }
}

/// A destination's number, as equal as the destination or more.
pub trait Key {
    /// The number.
    fn key(&self) -> u64;
}

impl Key for SockaddrIn {
    #[inline]
    fn key(&self) -> u64 {
        u64::from(self.port()) << 32 | u64::from(u32::from(self.ip()))
    }
}

impl Key for SockaddrIn6 {
    #[inline]
    fn key(&self) -> u64 {
        let ip = u128::from(self.ip());
        (ip as u64 ^ (ip >> 64) as u64).rotate_left(16) ^ u64::from(self.port())
    }
}

impl<S: SockaddrLike + Copy + PartialEq + Key> Transmit for Kernel<S> {
    type Address = S;

    #[inline]
    fn key(to: &S) -> u64 {
        to.key()
    }

    fn transmit(
        &mut self,
        messages: &[Message<'_, S>],
        segment: Option<u16>,
    ) -> Result<usize, Errno> {
        self.addresses.clear();
        self.addresses.extend(messages.iter().map(|m| Some(m.to)));
        let fd = self.socket.as_raw_fd();
        let (addresses, flags) = (&self.addresses, MsgFlags::MSG_DONTWAIT);
        let sent = match segment {
            None => sendmmsg(fd, &mut self.plain, messages, addresses, [], flags)?.count(),
            Some(bytes) => {
                let cut = [ControlMessage::UdpGsoSegments(&bytes)];
                sendmmsg(fd, &mut self.segmented, messages, addresses, cut, flags)?.count()
            }
        };
        Ok(sent)
    }
}
