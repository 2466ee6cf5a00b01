//! Packet sockets: frames of an interface, read and sent many to a call.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::{null_mut, read_unaligned};

use libc::{c_int, c_uint, c_void, cmsghdr, iovec, mmsghdr};

use crate::pool::{Pool, Slot};

/// Frames to a call.
pub const BATCH: usize = 256;

/// Bytes of `struct virtio_net_hdr`, which the kernel puts before a frame.
pub const PREFIX: usize = 10;

/// Bytes of a frame beyond its buffer that are kept for cutting it up.
pub const SPILL: usize = 66_000;

const CONTROL: usize = 128;

/// A tag without its protocol is of this one.
const DOT1Q: u16 = libc::ETH_P_8021Q as u16;

/// A raw packet socket of one interface.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
}

impl PacketSocket {
    /// A socket that receives every frame which comes in from the interface, with stamps, VLAN
    /// tags and what is left to do to the frame beside it.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn receiver(ifindex: u32) -> io::Result<PacketSocket> {
        let socket = PacketSocket::open()?;
        socket.option(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        socket.option(libc::SOL_PACKET, libc::PACKET_AUXDATA, &1)?;
        socket.option(libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
        socket.option(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)?;
        socket.room(libc::SO_RCVBUFFORCE, 64 << 20)?;
        socket.bind(ifindex, libc::ETH_P_ALL as u16)?;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: ifindex as c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        socket.option(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)?;
        Ok(socket)
    }

    /// A socket that sends past the interface's queueing discipline.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn sender(ifindex: u32) -> io::Result<PacketSocket> {
        let socket = PacketSocket::open()?;
        socket.option(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)?;
        socket.room(libc::SO_SNDBUFFORCE, 4 << 20)?;
        socket.bind(ifindex, 0)?;
        Ok(socket)
    }

    fn open() -> io::Result<PacketSocket> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: takes no pointers. Protocol 0 receives nothing before `bind`.
        let fd = checked(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: the call above has made the descriptor, nobody else has it.
        Ok(PacketSocket { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    fn bind(&self, ifindex: u32, protocol: u16) -> io::Result<()> {
        // SAFETY: all zeroes is a valid address structure.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = ifindex as c_int;
        let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        let pointer = (&raw const address).cast();
        // SAFETY: the pointer leads to `len` bytes that outlive the call.
        checked(unsafe { libc::bind(self.fd.as_raw_fd(), pointer, len) }).map(drop)
    }

    fn option<T>(&self, level: c_int, name: c_int, value: &T) -> io::Result<()> {
        let (pointer, len) = ((&raw const *value).cast(), size_of::<T>() as libc::socklen_t);
        // SAFETY: the pointer leads to `len` bytes that outlive the call.
        checked(unsafe { libc::setsockopt(self.fd.as_raw_fd(), level, name, pointer, len) })
            .map(drop)
    }

    /// Room in the socket. Without CAP_NET_ADMIN in the first namespace the usual room must do.
    fn room(&self, name: c_int, bytes: c_int) -> io::Result<()> {
        match self.option(libc::SOL_SOCKET, name, &bytes) {
            Err(e) if e.raw_os_error() == Some(libc::EPERM) => Ok(()),
            other => other,
        }
    }

    /// Frames that were lost since the last call because the socket had no room for them.
    pub fn lost(&self) -> u64 {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let pointer = (&raw mut statistics).cast();
        // SAFETY: the kernel writes at most `len` bytes, which is what there is room for.
        let done = unsafe {
            let fd = self.fd.as_raw_fd();
            libc::getsockopt(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, pointer, &raw mut len)
        };
        if done == 0 { u64::from(statistics.tp_drops) } else { 0 }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The kernel's metadata of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuxData {
    /// When it arrived, by the wall clock, in ns; zero when it was not stamped.
    pub wall: u64,
    /// Protocol and tag of the VLAN tag that was taken out of it.
    pub tag: Option<(u16, u16)>,
}

/// Headers of frames for one call, each with its `N` parts.
#[derive(Debug)]
struct Headers<const N: usize> {
    headers: Box<[mmsghdr]>,
    iovecs: Box<[[iovec; N]]>,
}

// SAFETY: the owner answers for where the pointers lead, at each call.
unsafe impl<const N: usize> Send for Headers<N> {}

impl<const N: usize> Headers<N> {
    /// [`BATCH`] of them that lead nowhere.
    fn new() -> Headers<N> {
        // SAFETY: all zeroes are valid headers and vectors: null pointers and lengths of zero.
        let (header, empty) = unsafe { (zeroed::<mmsghdr>(), zeroed::<iovec>()) };
        Headers {
            headers: vec![header; BATCH].into_boxed_slice(),
            iovecs: vec![[empty; N]; BATCH].into_boxed_slice(),
        }
    }

    /// Makes header `i` lead to the parts of a frame.
    fn lead(&mut self, i: usize, parts: [iovec; N]) -> &mut libc::msghdr {
        self.iovecs[i] = parts;
        let header = &mut self.headers[i].msg_hdr;
        header.msg_iov = self.iovecs[i].as_mut_ptr();
        header.msg_iovlen = N as _;
        header
    }
}

/// Memory for receiving: headers, and buffers of the pool for frames to come.
#[derive(Debug)]
pub struct Inbox {
    messages: Headers<3>,
    control: Box<[Control]>,
    prefixes: Box<[[u8; PREFIX]]>,
    spill: Box<[u8]>,
    /// Buffers for frames to come, each with its headers.
    held: Vec<Slot>,
    /// The first of them, which were received into and given away.
    given: usize,
    /// The memory that headers lead into.
    memory: (usize, usize),
}

/// Aligned as control messages must be.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

impl Default for Inbox {
    fn default() -> Self {
        Inbox::new()
    }
}

impl Inbox {
    /// For up to [`BATCH`] frames.
    pub fn new() -> Inbox {
        Inbox {
            messages: Headers::new(),
            control: vec![Control([0; CONTROL]); BATCH].into_boxed_slice(),
            prefixes: vec![[0; PREFIX]; BATCH].into_boxed_slice(),
            // Pages that no long frame touches take no memory.
            spill: vec![0; BATCH * SPILL].into_boxed_slice(),
            held: Vec::with_capacity(BATCH),
            given: 0,
            memory: (0, 0),
        }
    }

    /// Receives frames into buffers of the pool, as many as wait and find a buffer. Says how many;
    /// [`frame`](Self::frame) returns them then.
    ///
    /// # Errors
    /// The operating system's error; `WouldBlock` when nothing waits.
    pub fn receive(&mut self, socket: &PacketSocket, pool: &mut Pool) -> io::Result<usize> {
        if self.memory != pool.memory() {
            self.memory = pool.memory();
            self.held.clear();
            self.given = 0;
        }
        // Headers of buffers that were not used since are still as they were. From the last one
        // down, so that what takes the place of one that was given away is not itself given away.
        for i in (0..std::mem::take(&mut self.given).min(self.held.len())).rev() {
            match pool.allocate() {
                Some(slot) => self.held[i] = slot,
                None => _ = self.held.swap_remove(i),
            }
            if i < self.held.len() {
                self.set_up(i, pool);
            }
        }
        while self.held.len() < BATCH {
            let Some(slot) = pool.allocate() else { break };
            self.held.push(slot);
            self.set_up(self.held.len() - 1, pool);
        }
        let (fd, many) = (socket.fd.as_raw_fd(), self.held.len() as c_uint);
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: `many` headers were set up, now or in a call before, with pointers into memory of
        // this structure and of this pool, as was just checked, each with its true length. Neither
        // ever moves its memory, both are borrowed mutably.
        let done = unsafe {
            let headers = self.messages.headers.as_mut_ptr();
            libc::recvmmsg(fd, headers, many, flags as _, null_mut())
        };
        checked(done).map(|n| n as usize)
    }

    /// The frame received as number `i` of the last call: its buffer, its length on the wire, and
    /// the kernel's metadata.
    pub fn frame(&self, i: usize) -> (Slot, usize, AuxData) {
        let len = (self.messages.headers[i].msg_len as usize).saturating_sub(PREFIX);
        (self.held[i], len, self.aux(i))
    }

    /// `struct virtio_net_hdr` of frame `i`.
    pub fn prefix(&self, i: usize) -> &[u8; PREFIX] {
        &self.prefixes[i]
    }

    /// The bytes of frame `i` that had no room in its buffer.
    pub fn spilt(&self, i: usize) -> &[u8] {
        &self.spill[i * SPILL..][..SPILL]
    }

    /// The buffers of the first `n` frames, which were received, now belong to the caller.
    pub fn release(&mut self, n: usize) {
        self.given = n;
    }

    /// Makes header `i` lead to its buffer.
    fn set_up(&mut self, i: usize, pool: &mut Pool) {
        let buffer = pool.buffer(self.held[i]);
        let (prefix, spill) = (&mut self.prefixes[i], &mut self.spill[i * SPILL..][..SPILL]);
        let parts = [prefix.as_mut_slice(), buffer, spill]
            .map(|part| iovec { iov_base: part.as_mut_ptr().cast(), iov_len: part.len() });
        let header = self.messages.lead(i, parts);
        header.msg_control = self.control[i].0.as_mut_ptr().cast();
        // Of 32 bits with musl.
        header.msg_controllen = CONTROL as _;
    }

    fn aux(&self, i: usize) -> AuxData {
        let mut aux = AuxData::default();
        let control = &self.control[i].0;
        #[allow(clippy::unnecessary_cast, reason = "of 32 bits with musl")]
        let filled = (self.messages.headers[i].msg_hdr.msg_controllen as usize).min(CONTROL);
        let mut at = 0;
        // Read as bytes, so that no length given by anybody leads outside.
        while at + size_of::<cmsghdr>() <= filled {
            // SAFETY: there are as many bytes from `at` on, and any bytes are a header.
            let header: cmsghdr = unsafe { read_unaligned(control[at..].as_ptr().cast()) };
            let len = header.cmsg_len as usize;
            let Some(data) = control.get(at + size_of::<cmsghdr>()..(at + len).min(filled)) else {
                break;
            };
            match (header.cmsg_level, header.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    aux.wall = value::<libc::timespec>(data).map_or(0, |t| {
                        t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_nsec.unsigned_abs()
                    });
                }
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                    aux.tag =
                        value::<libc::tpacket_auxdata>(data).and_then(|auxiliary| tag(&auxiliary));
                }
                _ => {}
            }
            at += len.max(size_of::<cmsghdr>()).next_multiple_of(size_of::<usize>());
        }
        aux
    }
}

fn tag(auxiliary: &libc::tpacket_auxdata) -> Option<(u16, u16)> {
    let has_status = |bit| auxiliary.tp_status & bit != 0;
    let known = has_status(libc::TP_STATUS_VLAN_TPID_VALID);
    let protocol = if known { auxiliary.tp_vlan_tpid } else { DOT1Q };
    has_status(libc::TP_STATUS_VLAN_VALID).then_some((protocol, auxiliary.tp_vlan_tci))
}

/// A plain value at the start of some bytes.
fn value<T: Copy>(data: &[u8]) -> Option<T> {
    // SAFETY: there are enough bytes, and callers ask for structures of integers only, which any
    // bytes are.
    (data.len() >= size_of::<T>()).then(|| unsafe { read_unaligned(data.as_ptr().cast()) })
}

/// Memory for sending.
#[derive(Debug)]
pub struct Outbox {
    messages: Headers<1>,
}

impl Default for Outbox {
    fn default() -> Self {
        Outbox::new()
    }
}

impl Outbox {
    /// For up to [`BATCH`] frames.
    pub fn new() -> Outbox {
        Outbox { messages: Headers::new() }
    }

    /// Sends frames in order, at most [`BATCH`] of them; says how many were taken.
    ///
    /// # Errors
    /// The operating system's error for the first frame, when none was taken.
    pub fn send(
        &mut self,
        socket: &PacketSocket,
        pool: &Pool,
        frames: &[Slot],
    ) -> io::Result<usize> {
        let many = frames.len().min(BATCH);
        for (i, slot) in frames[..many].iter().enumerate() {
            let frame = pool.frame(*slot);
            // The kernel only reads from it.
            let base = frame.as_ptr().cast_mut().cast::<c_void>();
            self.messages.lead(i, [iovec { iov_base: base, iov_len: frame.len() }]);
        }
        let (fd, flags) = (socket.fd.as_raw_fd(), libc::MSG_DONTWAIT);
        // SAFETY: `many` headers were just set up with pointers to frames that are borrowed for
        // the call, each with its true length; the kernel writes nothing but message lengths.
        let done = unsafe {
            let headers = self.messages.headers.as_mut_ptr();
            libc::sendmmsg(fd, headers, many as c_uint, flags as _)
        };
        checked(done).map(|n| n as usize)
    }
}

fn checked(done: c_int) -> io::Result<c_int> {
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a buffer that was given away is received into: tried with the buffers looked at
    /// from the first one up.
    #[test]
    fn frames_handed_out_are_not_overwritten() {
        let (ours, theirs) = std::os::unix::net::UnixDatagram::pair().expect("a pair");
        let socket = PacketSocket { fd: ours.into() };
        let send = |byte: u8| theirs.send(&[byte; PREFIX + 50]).expect("there is room");
        let mut pool = Pool::new(6, 60).expect("small");
        let mut inbox = Inbox::new();
        (1..=4).for_each(|byte| _ = send(byte));
        assert_eq!(inbox.receive(&socket, &mut pool).expect("they wait"), 4);
        let mut kept = Vec::new();
        for i in 0..4 {
            let (slot, len, _) = inbox.frame(i);
            pool.received(slot, len, laxity_core::Time(0));
            kept.push(slot);
        }
        inbox.release(4);
        // All buffers are kept or held for frames to come: two are left for the next five.
        (5..=9).for_each(|byte| _ = send(byte));
        assert_eq!(inbox.receive(&socket, &mut pool).expect("they wait"), 2);
        for (slot, byte) in kept.iter().zip(1..) {
            assert_eq!(pool.frame(*slot), [byte; 50], "frame {byte}");
        }
        let next = [0, 1].map(|i| inbox.frame(i).0);
        assert!(next[0] != next[1] && next.iter().all(|slot| !kept.contains(slot)), "{next:?}");
        assert!(next.iter().zip([5, 6]).all(|(slot, byte)| pool.buffer(*slot)[..50] == [byte; 50]));
        // With none left nothing is received and nothing is lost.
        inbox.release(2);
        assert_eq!(inbox.receive(&socket, &mut pool).expect("they wait"), 0);
        kept.drain(..).for_each(|slot| pool.release(slot));
        assert_eq!(inbox.receive(&socket, &mut pool).expect("they wait"), 3);
    }
}
