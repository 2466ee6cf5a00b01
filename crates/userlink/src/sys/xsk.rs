//! An XDP socket: frames in memory that is shared with the kernel, and the four rings through
//! which they change hands.
//!
//! A small ring of our own, because the crates there are either wrap a C library or are young and
//! large; the socket options are those of `rustix`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING,
    XDP_UMEM_PGOFF_COMPLETION_RING, XDP_UMEM_PGOFF_FILL_RING, XdpDesc, XdpDescOptions,
    XdpRingOffset, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, bind, socket_with, sockopt};

/// Bytes of a frame's place, the kernel's headroom included.
const CHUNK: usize = 4096;
/// Frames to receive into, and frames to send.
const IN: u32 = 4096;
const OUT: u32 = 2048;
/// The kernel leaves this much free before what it receives.
const HEADROOM: usize = 256;

/// The longest frame.
pub const LONGEST: usize = CHUNK - HEADROOM;

/// Memory that is mapped.
#[derive(Debug)]
struct Mapped {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: mapped memory belongs to the process, not to a thread.
unsafe impl Send for Mapped {}
// SAFETY: nothing of it is touched through a shared reference but by the methods below.
unsafe impl Sync for Mapped {}

impl Mapped {
    fn anonymous(len: usize) -> io::Result<Mapped> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe { mmap_anonymous(null_mut(), len, protection, MapFlags::PRIVATE) }?;
        Mapped::at(at.cast(), len)
    }

    fn ring(socket: BorrowedFd<'_>, len: usize, which: u64) -> io::Result<Mapped> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe { mmap(null_mut(), len, protection, flags, socket, which) }?;
        Mapped::at(at.cast(), len)
    }

    fn at(at: *mut u8, len: usize) -> io::Result<Mapped> {
        let at = NonNull::new(at).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapped { at, len })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing has pointers into it any more: they
        // hold it alive.
        let _ = unsafe { munmap(self.at.as_ptr().cast(), self.len) };
    }
}

/// One of the rings. `T` is what its entries are.
#[derive(Debug)]
struct Ring<T> {
    memory: Mapped,
    producer: usize,
    consumer: usize,
    entries: usize,
    size: u32,
    _entries: std::marker::PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    fn map(
        socket: BorrowedFd<'_>,
        offsets: &XdpRingOffset,
        size: u32,
        which: u64,
    ) -> io::Result<Ring<T>> {
        let (producer, consumer) = (offsets.producer as usize, offsets.consumer as usize);
        let entries = offsets.desc as usize;
        let len = entries + size as usize * size_of::<T>();
        let memory = Mapped::ring(socket, len, which)?;
        let inside = producer + 4 <= len && consumer + 4 <= len;
        let aligned = producer % 4 == 0 && consumer % 4 == 0 && entries % align_of::<T>() == 0;
        if !inside || !aligned || !size.is_power_of_two() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Ring { memory, producer, consumer, entries, size, _entries: std::marker::PhantomData })
    }

    fn index(&self, at: usize) -> &AtomicU32 {
        // SAFETY: `map` has checked that the word lies inside and is aligned; both sides touch it
        // as an atomic only.
        unsafe { &*self.memory.at.as_ptr().add(at).cast::<AtomicU32>() }
    }

    fn entry(&self, number: u32) -> *mut T {
        let index = (number & (self.size - 1)) as usize;
        // SAFETY: the index is below the size, for which the mapping has room.
        unsafe { self.memory.at.as_ptr().add(self.entries).cast::<T>().add(index) }
    }

    /// Entries that the kernel has not consumed.
    fn in_flight(&self) -> u32 {
        let consumed = self.index(self.consumer).load(Ordering::Acquire);
        self.index(self.producer).load(Ordering::Relaxed).wrapping_sub(consumed)
    }

    /// As the producer: adds an entry, if there is room. The kernel sees it after
    /// [`publish`](Self::publish).
    fn push(&mut self, ahead: u32, entry: T) -> bool {
        if self.in_flight().saturating_add(ahead) >= self.size {
            return false;
        }
        let number = self.index(self.producer).load(Ordering::Relaxed).wrapping_add(ahead);
        // SAFETY: the place is valid, and the kernel does not read it before it is published.
        unsafe { self.entry(number).write(entry) };
        true
    }

    fn publish(&mut self, many: u32) {
        let number = self.index(self.producer).load(Ordering::Relaxed);
        self.index(self.producer).store(number.wrapping_add(many), Ordering::Release);
    }

    /// As the consumer: how many entries there are.
    fn filled(&self) -> u32 {
        let made = self.index(self.producer).load(Ordering::Acquire);
        made.wrapping_sub(self.index(self.consumer).load(Ordering::Relaxed)).min(self.size)
    }

    /// The entry `ahead` of the first; there must be one.
    fn peek(&self, ahead: u32) -> T {
        debug_assert!(ahead < self.filled());
        let number = self.index(self.consumer).load(Ordering::Relaxed).wrapping_add(ahead);
        // SAFETY: the place is valid; the kernel has written it before it moved the producer's
        // word, and any bytes are an entry.
        unsafe { self.entry(number).read() }
    }

    fn consume(&mut self, many: u32) {
        let number = self.index(self.consumer).load(Ordering::Relaxed);
        self.index(self.consumer).store(number.wrapping_add(many), Ordering::Release);
    }
}

/// The socket and the frames.
#[derive(Debug)]
struct Shared {
    socket: OwnedFd,
    frames: Mapped,
}

/// The half that receives.
#[derive(Debug)]
pub struct XskIn {
    shared: Arc<Shared>,
    received: Ring<XdpDesc>,
    fill: Ring<u64>,
}

/// The half that sends.
#[derive(Debug)]
pub struct XskOut {
    shared: Arc<Shared>,
    send: Ring<XdpDesc>,
    done: Ring<u64>,
    free: Vec<u64>,
}

/// A socket of one queue of an interface; frames are copied, so that any driver will do.
///
/// # Errors
/// The operating system's error.
pub fn open(ifindex: u32, queue: u32) -> io::Result<(XskIn, XskOut)> {
    let socket = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let frames = Mapped::anonymous((IN + OUT) as usize * CHUNK)?;
    let registration = XdpUmemReg {
        addr: frames.at.as_ptr() as u64,
        len: frames.len as u64,
        chunk_size: CHUNK as u32,
        headroom: 0,
        flags: XdpUmemRegFlags::empty(),
        tx_metadata_len: 0,
    };
    sockopt::set_xdp_umem_reg(&socket, registration)?;
    sockopt::set_xdp_umem_fill_ring_size(&socket, IN)?;
    sockopt::set_xdp_umem_completion_ring_size(&socket, OUT)?;
    sockopt::set_xdp_rx_ring_size(&socket, IN)?;
    sockopt::set_xdp_tx_ring_size(&socket, OUT)?;
    let offsets = sockopt::xdp_mmap_offsets(&socket)?;
    let fd = socket.as_fd();
    let received = Ring::map(fd, &offsets.rx, IN, XDP_PGOFF_RX_RING)?;
    let send = Ring::map(fd, &offsets.tx, OUT, XDP_PGOFF_TX_RING)?;
    let mut fill = Ring::map(fd, &offsets.fr, IN, XDP_UMEM_PGOFF_FILL_RING)?;
    let done = Ring::map(fd, &offsets.cr, OUT, XDP_UMEM_PGOFF_COMPLETION_RING)?;
    for number in 0..IN {
        fill.push(number, u64::from(number) * CHUNK as u64);
    }
    fill.publish(IN);
    bind(&socket, &SocketAddrXdp::new(SocketAddrXdpFlags::XDP_COPY, ifindex, queue))?;
    let free = (IN..IN + OUT).rev().map(|number| u64::from(number) * CHUNK as u64).collect();
    let shared = Arc::new(Shared { socket, frames });
    let out = XskOut { shared: Arc::clone(&shared), send, done, free };
    Ok((XskIn { shared, received, fill }, out))
}

impl XskIn {
    /// Shows received frames, at most `most` of them, in order; those for which `take` says no, and
    /// all after them, stay.
    pub fn receive(&mut self, most: u32, mut take: impl FnMut(&[u8]) -> bool) {
        let mut many = 0;
        while many < self.received.filled().min(most) {
            let descriptor = self.received.peek(many);
            let (at, len) = (descriptor.addr as usize, descriptor.len as usize);
            let inside = len <= CHUNK && at <= self.shared.frames.len - CHUNK;
            // SAFETY: it lies inside the frames, in one that the kernel has handed over and does
            // not write to before it is given back below.
            let frame = unsafe {
                let start = self.shared.frames.at.as_ptr().add(if inside { at } else { 0 });
                std::slice::from_raw_parts(start, if inside { len } else { 0 })
            };
            if !take(frame) {
                break;
            }
            // There is room: no more frames go round than the ring has places.
            self.fill.push(many, at as u64 / CHUNK as u64 * CHUNK as u64);
            many += 1;
        }
        self.fill.publish(many);
        self.received.consume(many);
    }

    /// Frames that were lost up to now because they were not read in time.
    pub fn lost(&self) -> u64 {
        let statistics = sockopt::xdp_statistics(&self.shared.socket);
        statistics.map_or(0, |s| {
            // A frame that finds the ring full is not counted elsewhere.
            s.rx_dropped + s.rx_ring_full.unwrap_or(0) + s.rx_fill_ring_empty_descs.unwrap_or(0)
        })
    }
}

impl AsFd for XskIn {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.socket.as_fd()
    }
}

impl XskOut {
    /// Takes back what was sent.
    fn reclaim(&mut self) {
        let many = self.done.filled();
        for ahead in 0..many {
            self.free.push(self.done.peek(ahead));
        }
        self.done.consume(many);
    }

    /// Puts frames into the ring, as far as there is room, and says how many.
    pub fn put<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> usize {
        self.reclaim();
        let mut many = 0;
        for frame in frames {
            let Some(&at) = self.free.last().filter(|_| frame.len() <= CHUNK) else { break };
            let options = XdpDescOptions::empty();
            let descriptor = XdpDesc { addr: at, len: frame.len() as u32, options };
            if at as usize > self.shared.frames.len - CHUNK || !self.send.push(many, descriptor) {
                break;
            }
            self.free.pop();
            // SAFETY: the place is free, thus nobody else's; it lies inside the frames and is not
            // shorter than the frame.
            unsafe {
                let to = self.shared.frames.at.as_ptr().add(at as usize);
                to.copy_from_nonoverlapping(frame.as_ptr(), frame.len());
            }
            many += 1;
        }
        self.send.publish(many);
        many as usize
    }

    /// Requests the kernel to send the frames of the ring. Returns how many remain.
    ///
    /// # Errors
    /// The operating system's error, when frames are left and none went.
    pub fn kick(&mut self) -> io::Result<u32> {
        loop {
            let before = self.send.in_flight();
            if before == 0 {
                return Ok(0);
            }
            let done = rustix::net::send(&self.shared.socket, &[], SendFlags::DONTWAIT);
            // The kernel sends some at a time and then requests another call.
            if self.send.in_flight() == before {
                return done.map(|_| before).map_err(io::Error::from);
            }
        }
    }
}
