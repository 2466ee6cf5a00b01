//! Preloaded into a program (`LD_PRELOAD`), turns `sched_setattr(2)` with `SCHED_DEADLINE` into a request to
//! `laxity cpu serve`: the thread has a reservation, needs no privilege, and does not precede other reservations.
//!
//! Four functions of the C library are interposed. `syscall` is one of them, since C libraries before glibc 2.41
//! have no function for `sched_setattr(2)`. All that is not about `SCHED_DEADLINE` goes on to the C library
//! unchanged, and so does that, where no server or scheduler runs.
//!
//! Unsafe code is in this file only. A caller's memory is read and written through the kernel, so that a bad pointer
//! gives `EFAULT` as in a system call.
#![deny(unsafe_code)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod attributes;
mod deadline;
mod grants;
mod memory;

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::panic::catch_unwind;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use nix::errno::Errno;

use deadline::Answer;

/// The C library's `syscall`.
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Finds the C library's `syscall` while the program is loaded, since `dlsym` is not safe in signal handlers and
/// children of `vfork`, where programs may use `syscall`.
#[used]
#[allow(unsafe_code)]
// SAFETY: the dynamic linker calls the functions of this section without arguments that matter.
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn() = init;

extern "C" fn init() {
    next();
}

#[allow(unsafe_code)]
fn next() -> *mut c_void {
    let known = NEXT.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: the name ends with a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"syscall".as_ptr()) };
    NEXT.store(found, Ordering::Relaxed);
    found
}

/// The arguments of a system call.
type Arguments = [c_long; 6];

/// Calls the C library's `syscall`.
#[allow(unsafe_code)]
fn pass(number: c_long, [a, b, c, d, e, f]: Arguments) -> c_long {
    let next = next();
    if next.is_null() {
        return failed(Errno::ENOSYS);
    }
    // SAFETY: `next` is `syscall`, of this type. What the system call does with its arguments is the caller's
    // responsibility; this library invents none.
    unsafe {
        let next: unsafe extern "C" fn(c_long, ...) -> c_long = std::mem::transmute(next);
        next(number, a, b, c, d, e, f)
    }
}

/// The result of a system call that fails.
fn failed(error: Errno) -> c_long {
    error.set();
    -1
}

#[allow(unsafe_code)]
unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

const PTHREAD_CANCEL_DISABLE: c_int = 1;

/// Calls a function during which the thread cannot be cancelled: the functions here are no cancellation points, and a
/// cancelled thread must not unwind through them.
#[allow(unsafe_code)]
fn uncancelled<T>(call: impl FnOnce() -> T) -> T {
    let mut old = 0;
    // SAFETY: the state is one of two, and `old` is valid for writes.
    let changed = unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut old) } == 0;
    let result = call();
    if changed {
        // SAFETY: as above.
        unsafe { pthread_setcancelstate(old, &raw mut old) };
    }
    result
}

/// A call that this library may answer.
fn answer(
    number: c_long,
    arguments: Arguments,
    request: impl FnOnce() -> Answer + std::panic::UnwindSafe,
) -> c_long {
    // A panic must not unwind into C.
    match uncancelled(|| catch_unwind(request)) {
        Ok(Answer::Pass) => pass(number, arguments),
        Ok(Answer::PassAndRelease(tid)) => {
            let result = pass(number, arguments);
            if result == 0 {
                let _ = uncancelled(|| catch_unwind(|| deadline::release(tid)));
            }
            result
        }
        Ok(Answer::Done) => 0,
        Ok(Answer::Failed(error)) => failed(error),
        Err(_) => failed(Errno::EBUSY),
    }
}

fn set_attributes(arguments: Arguments) -> c_long {
    let [task, attributes, flags, ..] = arguments;
    answer(libc::SYS_sched_setattr, arguments, || {
        deadline::set(task as i32, attributes as usize, flags as u32)
    })
}

fn get_attributes(arguments: Arguments) -> c_long {
    let result = pass(libc::SYS_sched_getattr, arguments);
    if result == 0 && deadline::GRANTS.any() {
        let [task, attributes, size, ..] = arguments;
        let complete = || deadline::complete(task as i32, attributes as usize, size as u32);
        let _ = uncancelled(|| catch_unwind(complete));
    }
    result
}

/// The calling thread's scheduling policy for the kernel.
#[allow(unsafe_code)]
fn policy_of_caller() -> Option<u32> {
    // SAFETY: the call takes a thread id only.
    let policy = unsafe { libc::sched_getscheduler(0) };
    u32::try_from(policy & !libc::SCHED_RESET_ON_FORK).ok()
}

fn yield_cpu(arguments: Arguments) -> c_long {
    if !deadline::GRANTS.any() {
        return pass(libc::SYS_sched_yield, arguments);
    }
    answer(libc::SYS_sched_yield, arguments, || deadline::end_job(policy_of_caller))
}

/// `syscall(2)`. The C library's takes a variable number of arguments; on the 64-bit architectures of Linux they are
/// passed as those of a function with as many fixed ones, and arguments that the caller has not given are neither
/// looked at here nor by the system call.
#[allow(unsafe_code)]
// SAFETY: the name is the C library's, which this library interposes on purpose.
#[unsafe(no_mangle)]
pub extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    let arguments = [a, b, c, d, e, f];
    match number {
        libc::SYS_sched_setattr => set_attributes(arguments),
        libc::SYS_sched_getattr => get_attributes(arguments),
        libc::SYS_sched_yield => yield_cpu(arguments),
        _ => pass(number, arguments),
    }
}

/// `sched_setattr(2)`, which glibc has from 2.41 on.
#[allow(unsafe_code)]
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn sched_setattr(task: c_int, attributes: *mut c_void, flags: c_uint) -> c_int {
    set_attributes([task.into(), attributes as c_long, flags.into(), 0, 0, 0]) as c_int
}

/// `sched_getattr(2)`, which glibc has from 2.41 on.
#[allow(unsafe_code)]
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn sched_getattr(
    task: c_int,
    attributes: *mut c_void,
    size: c_uint,
    flags: c_uint,
) -> c_int {
    get_attributes([task.into(), attributes as c_long, size.into(), flags.into(), 0, 0]) as c_int
}

/// `sched_yield(2)`, by which a thread of `SCHED_DEADLINE` ends its job.
#[allow(unsafe_code)]
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn sched_yield() -> c_int {
    yield_cpu([0; 6]) as c_int
}
