//! The C interface of the crate `laxity-reserve`: `include/laxity_reserve.h`.
//!
//! Functions with pointer arguments are unsafe to call. Only `OutPointer::write` writes through a pointer,
//! and no pointer is stored. Codes and structures match the header, which a test compiles and compares.
#![deny(unsafe_code)]
#![warn(clippy::undocumented_unsafe_blocks)]

use std::ffi::{CStr, c_char, c_int};
use std::panic::catch_unwind;
use std::time::Duration;

use laxity_reserve::{Client, Code, Error, Request, State};

/// No server listens, or the caller may not connect.
const UNREACHABLE: c_int = 15;
/// No answer arrived.
const INTERRUPTED: c_int = 16;
const INHERIT: u32 = 1;

/// `struct laxity_reservation`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reservation {
    runtime_ns: u64,
    period_ns: u64,
    tasks: u64,
    deadline_misses: u64,
    max_lateness_ns: u64,
    reserved_ppm: u64,
    limit_ppm: u64,
    cpu: u32,
    inherit: u32,
}

/// `struct laxity_error`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ErrorInfo {
    max_runtime_ns: u64,
    text: [u8; 504],
}

/// An output parameter of a caller; may be null.
struct OutPointer<T>(*mut T);

impl<T: Copy> OutPointer<T> {
    /// # Safety
    /// The pointer is null or valid for writes as long as this lives. The target may be uninitialised and
    /// unaligned.
    #[allow(unsafe_code)]
    unsafe fn new(target: *mut T) -> OutPointer<T> {
        OutPointer(target)
    }

    #[allow(unsafe_code)]
    fn write(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the caller of the constructor guarantees that it is valid for writes; it is not read.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

/// Calls the server and returns the code; writes the cause of a failure to `error`.
fn call<T>(
    error: OutPointer<ErrorInfo>,
    request: impl FnOnce() -> Result<T, Error> + std::panic::UnwindSafe,
    on_success: impl FnOnce(T),
) -> c_int {
    // A panic must not unwind into C.
    match catch_unwind(request) {
        Ok(Ok(answer)) => {
            on_success(answer);
            0
        }
        Ok(Err(why)) => {
            let max_runtime = why.max_runtime().unwrap_or_default();
            let max_runtime_ns = u64::try_from(max_runtime.as_nanos()).unwrap_or(u64::MAX);
            error.write(error_info(max_runtime_ns, &why.to_string()));
            match why {
                Error::Refused(refusal) => refusal.code.number(),
                Error::Unreachable { .. } => UNREACHABLE,
                Error::Interrupted { .. } => INTERRUPTED,
                _ => Code::Malformed.number(),
            }
        }
        Err(_) => {
            error.write(error_info(0, "an internal error of the library"));
            Code::Internal.number()
        }
    }
}

/// The error with its text truncated to the buffer and terminated by a zero byte.
fn error_info(max_runtime_ns: u64, text: &str) -> ErrorInfo {
    let mut info = ErrorInfo { max_runtime_ns, text: [0; 504] };
    let max = info.text.len() - 1;
    let end = (0..=text.len().min(max)).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    for (to, from) in info.text.iter_mut().zip(&text.as_bytes()[..end]) {
        *to = *from;
    }
    info
}

/// A task; zero is the calling thread.
fn task(tid: u32) -> Option<u32> {
    (tid != 0).then_some(tid)
}

/// See the header.
///
/// # Safety
/// Each pointer is null or valid for writes of its type.
#[allow(unsafe_code)]
// SAFETY: the name has the prefix of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn laxity_reserve(
    tid: u32,
    runtime_ns: u64,
    period_ns: u64,
    flags: u32,
    grant: *mut Reservation,
    error: *mut ErrorInfo,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    let (grant, error) = unsafe { (OutPointer::new(grant), OutPointer::new(error)) };
    let send = move || {
        let mut request =
            Request::new(Duration::from_nanos(runtime_ns), Duration::from_nanos(period_ns));
        if let Some(tid) = task(tid) {
            request = request.for_task(tid);
        }
        if flags & INHERIT != 0 {
            request = request.inherited();
        }
        if flags & !INHERIT != 0 {
            let text = format!("flags {flags:#x}: LAXITY_INHERIT is the only flag");
            let refusal = laxity_reserve::protocol::Refusal::new(Code::Invalid, text);
            return Err(Error::Refused(refusal));
        }
        Client::unconnected().reserve(&request)
    };
    call(error, send, |laxity_reserve::Grant { cpu, runtime_ns, period_ns }| {
        grant.write(Reservation { runtime_ns, period_ns, cpu, ..Reservation::default() });
    })
}

/// See the header.
///
/// # Safety
/// As [`laxity_reserve()`].
#[allow(unsafe_code)]
// SAFETY: the name has the prefix of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn laxity_query(
    tid: u32,
    state: *mut Reservation,
    error: *mut ErrorInfo,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    let (state, error) = unsafe { (OutPointer::new(state), OutPointer::new(error)) };
    let send = move || Client::unconnected().query(task(tid));
    call(error, send, |State { reservation, share }| {
        let mut out = Reservation::default();
        if let Some(status) = reservation {
            out = Reservation {
                runtime_ns: status.runtime_ns,
                period_ns: status.period_ns,
                tasks: status.tasks,
                deadline_misses: status.deadline_misses,
                max_lateness_ns: status.max_lateness_ns,
                cpu: status.cpu,
                inherit: status.inherit.into(),
                ..out
            };
        }
        if let Some(share) = share {
            (out.reserved_ppm, out.limit_ppm) = (share.reserved_ppm, share.limit_ppm);
        }
        state.write(out);
    })
}

/// See the header.
///
/// # Safety
/// As [`laxity_reserve()`].
#[allow(unsafe_code)]
// SAFETY: the name has the prefix of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn laxity_release(tid: u32, error: *mut ErrorInfo) -> c_int {
    // SAFETY: guaranteed by the caller.
    let error = unsafe { OutPointer::new(error) };
    call(error, move || Client::unconnected().release(task(tid)), |()| ())
}

/// See the header.
#[allow(unsafe_code)]
// SAFETY: the name has the prefix of this library.
#[unsafe(no_mangle)]
pub extern "C" fn laxity_code_name(code: c_int) -> *const c_char {
    name(code).as_ptr()
}

fn name(code: c_int) -> &'static CStr {
    match code {
        0 => c"ok",
        1 => c"no-room",
        2 => c"share",
        3 => c"too-many",
        4 => c"already-reserved",
        5 => c"not-reserved",
        6 => c"no-task",
        7 => c"invalid",
        8 => c"affinity",
        9 => c"no-scheduler",
        10 => c"busy",
        11 => c"malformed",
        12 => c"version",
        13 => c"internal",
        UNREACHABLE => c"unreachable",
        INTERRUPTED => c"interrupted",
        _ => c"unknown",
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::*;

    /// Fails when the name of a code differs from that of the protocol.
    #[test]
    fn codes_have_the_names_of_the_protocol() {
        for code in Code::ALL {
            assert_eq!(name(code.number()).to_str(), Ok(code.name()));
        }
        assert_eq!(name(-1), c"unknown");
        assert_eq!(name(99), c"unknown");
    }

    /// Fails when a text is truncated within a character, or its zero byte is missing.
    #[test]
    fn texts_are_terminated() {
        let text = |info: ErrorInfo| {
            let text = CStr::from_bytes_until_nul(&info.text).expect("a zero byte");
            text.to_str().expect("UTF-8").to_owned()
        };
        assert_eq!(text(error_info(7, "short")), "short");
        let truncated = text(error_info(7, &"\u{20ac}".repeat(400)));
        assert_eq!(truncated.len(), 501);
        assert_eq!(text(error_info(0, &"x".repeat(504))).len(), 503);
    }

    /// Fails when a null pointer is written through.
    #[test]
    #[allow(unsafe_code)]
    fn null_pointers_are_allowed_and_unknown_flags_refused() {
        // The library refuses flags without a server.
        let mut error = error_info(1, "");
        // SAFETY: null, and a valid structure.
        let refused = unsafe { laxity_reserve(0, 1, 2, 6, null_mut(), &mut error) };
        assert_eq!(refused, Code::Invalid.number());
        assert!(error.text.starts_with(b"flags 0x6"));
        // SAFETY: null.
        let refused = unsafe { laxity_reserve(0, 1, 2, 6, null_mut(), null_mut()) };
        assert_eq!(refused, Code::Invalid.number());
    }
}
