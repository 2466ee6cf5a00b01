//! The few calls of bpf(2) that XDP sockets need: a map of sockets, a program of six instructions
//! that gives each frame to the socket of its queue, and a link that ends with its descriptor.

use std::io;
use std::mem::size_of_val;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_int, c_long};

// Commands and types of linux/bpf.h.
const MAP_CREATE: c_int = 0;
const MAP_UPDATE: c_int = 2;
const PROG_LOAD: c_int = 5;
const LINK_CREATE: c_int = 28;
const MAP_OF_SOCKETS: u32 = 17;
const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// `bpf_redirect_map`.
const REDIRECT_MAP: i32 = 51;
/// `XDP_PASS`, the action for frames of queues without a socket: the kernel's stack takes them.
const PASS: i32 = 2;

/// A map from the number of a queue to its socket.
///
/// # Errors
/// The operating system's error.
pub fn socket_map(queues: u32) -> io::Result<OwnedFd> {
    let attributes = [MAP_OF_SOCKETS, 4, 4, queues];
    // SAFETY: the attributes hold no pointers.
    owned(unsafe { call(MAP_CREATE, &attributes) }?)
}

/// Puts the socket of a queue into the map.
///
/// # Errors
/// The operating system's error.
pub fn insert(map: BorrowedFd<'_>, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
    let value = socket.as_raw_fd() as u32;
    let attributes = [
        map.as_raw_fd() as u64,
        (&raw const queue) as u64,
        (&raw const value) as u64,
        0, // any
    ];
    // SAFETY: the pointers lead to a key and a value of four bytes each, as the map has them, and
    // these outlive the call.
    unsafe { call(MAP_UPDATE, &attributes) }.map(drop)
}

/// Loads the program that redirects into a map.
///
/// # Errors
/// The operating system's error.
pub fn redirect(map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let instruction = |code: u64, to: u64, from: u64, offset: u64, value: i32| {
        code | to << 8 | from << 12 | offset << 16 | u64::from(value as u32) << 32
    };
    let program = [
        instruction(0x61, 2, 1, 16, 0), // r2 = context->rx_queue_index
        instruction(0x18, 1, 1, 0, map.as_raw_fd()), // r1 = map, ...
        0,                              // ... which takes two
        instruction(0xb7, 3, 0, 0, PASS), // r3 = PASS
        instruction(0x85, 0, 0, 0, REDIRECT_MAP), // r0 = bpf_redirect_map(r1, r2, r3)
        instruction(0x95, 0, 0, 0, 0),  // return r0
    ];
    let licence = c"Dual MIT/GPL";
    let attributes = [
        u64::from(PROGRAM_XDP) | (program.len() as u64) << 32,
        program.as_ptr() as u64,
        licence.as_ptr() as u64,
        0, // no log
        0,
        0,
    ];
    // SAFETY: the pointers lead to as many instructions as are announced and to a string with its
    // zero, which outlive the call.
    owned(unsafe { call(PROG_LOAD, &attributes) }?)
}

/// Attaches a program to an interface until the returned descriptor is closed.
///
/// # Errors
/// The operating system's error; `ResourceBusy` when another program is attached.
pub fn attach(program: BorrowedFd<'_>, ifindex: u32) -> io::Result<OwnedFd> {
    let attributes = [program.as_raw_fd() as u32, ifindex, ATTACH_XDP, 0];
    // SAFETY: the attributes hold no pointers.
    owned(unsafe { call(LINK_CREATE, &attributes) }?)
}

/// # Safety
/// Pointers among the attributes must lead to what the command reads there.
unsafe fn call<T>(command: c_int, attributes: &[T]) -> io::Result<c_int> {
    let (pointer, size) = (attributes.as_ptr(), size_of_val(attributes));
    // SAFETY: `size` bytes are there, and the caller answers for what they say. The kernel takes
    // attributes beyond them as zero.
    let done = unsafe { libc::syscall(libc::SYS_bpf, c_long::from(command), pointer, size) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done as c_int) }
}

fn owned(fd: c_int) -> io::Result<OwnedFd> {
    // SAFETY: a call of bpf(2) has just made the descriptor, nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
