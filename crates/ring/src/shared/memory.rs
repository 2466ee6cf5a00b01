//! Memory that two processes share: made, sealed, checked, mapped.

use core::ffi::c_void;
use core::fmt;
use core::ptr::{NonNull, null_mut};
use core::slice;
use core::sync::atomic::AtomicU64;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate,
    memfd_create,
};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::error::OpenError;
use super::reader::Reader;
use super::shape::Shape;
use super::writer::Writer;

/// The consumer's end of a ring in memory shared with another process.
pub type Consumer = Reader<Mapping>;

/// The producer's end of a ring in memory shared with another process.
pub type Producer = Writer<Mapping>;

/// Makes a ring: the consumer's end, and the descriptor for the producer, which can be closed here
/// when it has been passed on. It is closed on exec.
///
/// All memory is populated now, so that reading packets causes no page fault.
pub fn create(shape: Shape) -> Result<(Consumer, OwnedFd), OpenError> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know the flag; some later ones insist on it.
    let memory = memfd_create(c"laxity-ring", flags | MemfdFlags::NOEXEC_SEAL)
        .or_else(|e| if e == Errno::INVAL { memfd_create(c"laxity-ring", flags) } else { Err(e) })
        .map_err(system("memfd_create"))?;
    ftruncate(&memory, shape.memory()).map_err(system("ftruncate"))?;
    fcntl_add_seals(&memory, SIZE_IS_FIXED).map_err(system("fcntl F_ADD_SEALS"))?;
    let mapping = Mapping::new(memory.as_fd(), shape.memory(), MapFlags::POPULATE)?;
    Ok((Reader::new(mapping, shape)?, memory))
}

/// The producer's end of the ring behind a descriptor that its consumer passed on. The descriptor
/// is needed no longer.
pub fn attach(descriptor: impl AsFd) -> Result<Producer, OpenError> {
    Writer::new(Mapping::open(descriptor)?)
}

/// Seals the size, and the seals.
const SIZE_IS_FIXED: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

fn system(call: &'static str) -> impl Fn(Errno) -> OpenError {
    move |error| OpenError::System { call, error: io::Error::from(error) }
}

/// Memory of fixed size, as words. Other processes may write it at any time.
pub struct Mapping {
    start: NonNull<AtomicU64>,
    words: usize,
}

impl Mapping {
    /// Maps all the memory behind a descriptor, if its size is sealed.
    pub fn open(descriptor: impl AsFd) -> Result<Mapping, OpenError> {
        // The magic number of tmpfs, where memfds live. Those with huge pages live elsewhere, and
        // touching one can fail when there is no huge page left.
        const TMPFS: u64 = 0x0102_1994;
        let descriptor = descriptor.as_fd();
        let seals = fcntl_get_seals(descriptor).unwrap_or(SealFlags::empty());
        let tmpfs = fstatfs(descriptor).is_ok_and(|s| u64::try_from(s.f_type) == Ok(TMPFS));
        if !tmpfs || !seals.contains(SIZE_IS_FIXED) {
            return Err(OpenError::Unsealed);
        }
        let bytes = fstat(descriptor).map_err(system("fstat"))?.st_size;
        Mapping::new(descriptor, u64::try_from(bytes).unwrap_or(0), MapFlags::empty())
    }

    /// Maps the first `bytes`, which the caller has seen to be there for good.
    fn new(descriptor: BorrowedFd<'_>, bytes: u64, flags: MapFlags) -> Result<Mapping, OpenError> {
        let words = usize::try_from(bytes / 8).unwrap_or(usize::MAX);
        if words == 0 || bytes > Shape::MOST_MEMORY {
            return Err(OpenError::NoRing);
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, where the kernel likes, touches nothing that exists.
        let start =
            unsafe { mmap(null_mut(), 8 * words, access, MapFlags::SHARED | flags, descriptor, 0) };
        let start = start.map_err(system("mmap"))?;
        let start = NonNull::new(start.cast()).ok_or(OpenError::NoRing)?;
        Ok(Mapping { start, words })
    }
}

impl AsRef<[AtomicU64]> for Mapping {
    #[inline(always)]
    fn as_ref(&self) -> &[AtomicU64] {
        // SAFETY: `words` words are mapped at `start`, at the start of a page, until `self` is
        // dropped; no page of them can vanish, because the size is sealed. Any bits are an
        // `AtomicU64`, and this process reaches them in no other way.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length; no reference outlives `self`.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast::<c_void>(), 8 * self.words) };
        debug_assert!(unmapped.is_ok());
    }
}

// SAFETY: a mapping belongs to the process, not to a thread, and its words are atomic.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapping").field("words", &self.words).finish_non_exhaustive()
    }
}
