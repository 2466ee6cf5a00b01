//! ICMP errors about sent packets, with their destination.

use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc::{sock_extended_err, sockaddr_in6};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};

/// One complaint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Where the packet was going.
    pub destination: SocketAddr,
    /// The error that a connected socket would have got.
    pub error: Errno,
}

/// Reads the queued errors of a socket, at most `most` of them.
pub fn complaints(socket: &UdpSocket, most: usize) -> Vec<Complaint> {
    let mut found = Vec::new();
    // The refused packet comes back too and is ignored.
    let mut body = [0; 64];
    let mut control = cmsg_space!(sock_extended_err, sockaddr_in6);
    while found.len() < most {
        let mut into = [IoSliceMut::new(&mut body)];
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let fd = socket.as_raw_fd();
        let Ok(message) = recvmsg::<SockaddrStorage>(fd, &mut into, Some(&mut control), flags)
        else {
            break;
        };
        let Some(destination) = message.address.as_ref().and_then(address) else { continue };
        let errors = message.cmsgs().into_iter().flatten().filter_map(|c| match c {
            ControlMessageOwned::Ipv4RecvErr(e, _) | ControlMessageOwned::Ipv6RecvErr(e, _) => {
                Some(Errno::from_raw(e.ee_errno as i32))
            }
            _ => None,
        });
        found.extend(errors.map(|error| Complaint { destination, error }));
    }
    found
}

/// An address in the form that the standard library has.
pub(crate) fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = storage.as_sockaddr_in() {
        return Some(SocketAddr::V4((*v4).into()));
    }
    storage.as_sockaddr_in6().map(|v6| SocketAddr::V6((*v6).into()))
}
