//! Memory of the program, read and written through the kernel: a bad pointer is an error.

use std::io::{IoSlice, IoSliceMut};

use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;

/// Reads bytes at an address.
///
/// # Errors
/// `EFAULT` for a bad address; others where the machine forbids this way.
pub fn read<const N: usize>(base: usize) -> Result<[u8; N], Errno> {
    let mut bytes = [0; N];
    let remote = [RemoteIoVec { base, len: N }];
    let read = process_vm_readv(Pid::this(), &mut [IoSliceMut::new(&mut bytes)], &remote)?;
    if read == N { Ok(bytes) } else { Err(Errno::EFAULT) }
}

/// Writes bytes to an address.
///
/// # Errors
/// As for [`read`].
pub fn write(base: usize, bytes: &[u8]) -> Result<(), Errno> {
    let remote = [RemoteIoVec { base, len: bytes.len() }];
    process_vm_writev(Pid::this(), &[IoSlice::new(bytes)], &remote).map(drop)
}
