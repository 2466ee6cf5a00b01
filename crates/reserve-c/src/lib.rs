//! `include/laxity_reserve.h`: what the crate `laxity-reserve` does, for programs in C.
//!
//! Pointers of callers are written through and nothing is kept: functions that take some are unsafe to
//! call, and all that writes is `Place::put`. Numbers and structures are those of the header, which a test compiles and compares.
#![deny(unsafe_code)]
#![warn(clippy::undocumented_unsafe_blocks)]

use std::ffi::{CStr, c_char, c_int};
use std::panic::catch_unwind;
use std::time::Duration;

use laxity_reserve::{Client, Code, Error, Request, State};

/// No server is there, or it may not be asked.
const UNREACHABLE: c_int = 15;
/// No answer came.
const INTERRUPTED: c_int = 16;
const INHERIT: u32 = 1;

/// `struct laxity_reservation`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reservation {
    runtime_ns: u64,
    period_ns: u64,
    tasks: u64,
    late: u64,
    latest_ns: u64,
    held_ppm: u64,
    most_ppm: u64,
    cpu: u32,
    inherit: u32,
}

/// `struct laxity_error`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Failure {
    fits_ns: u64,
    text: [u8; 504],
}

/// Where a caller wants to have something; nowhere for a null pointer.
struct Place<T>(*mut T);

impl<T: Copy> Place<T> {
    /// # Safety
    /// A pointer that is not null is to a structure that may be written as long as this lives. It
    /// may be uninitialised, and need not be aligned.
    #[allow(unsafe_code)]
    unsafe fn new(to: *mut T) -> Place<T> {
        Place(to)
    }

    #[allow(unsafe_code)]
    fn put(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the caller of the unsafe constructor promised that it may be written; it is not read.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

/// A call to the server; its code, with why it failed where the caller wants to know.
fn call<T>(
    error: Place<Failure>,
    ask: impl FnOnce() -> Result<T, Error> + std::panic::UnwindSafe,
    done: impl FnOnce(T),
) -> c_int {
    // A panic must not go through frames of C.
    match catch_unwind(ask) {
        Ok(Ok(answer)) => {
            done(answer);
            0
        }
        Ok(Err(why)) => {
            let fits = why.fits().unwrap_or_default();
            error
                .put(failure(u64::try_from(fits.as_nanos()).unwrap_or(u64::MAX), &why.to_string()));
            match why {
                Error::Refused(refusal) => refusal.code.number(),
                Error::Unreachable { .. } => UNREACHABLE,
                Error::Interrupted { .. } => INTERRUPTED,
                _ => Code::Malformed.number(),
            }
        }
        Err(_) => {
            error.put(failure(0, "something inside the library"));
            Code::Internal.number()
        }
    }
}

/// With as much of the text as there is room for, up to a zero.
fn failure(fits_ns: u64, text: &str) -> Failure {
    let mut failure = Failure { fits_ns, text: [0; 504] };
    let room = failure.text.len() - 1;
    let end = (0..=text.len().min(room)).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    for (to, from) in failure.text.iter_mut().zip(&text.as_bytes()[..end]) {
        *to = *from;
    }
    failure
}

/// Zero is the calling thread.
fn task(number: u32) -> Option<u32> {
    (number != 0).then_some(number)
}

/// See the header.
///
/// # Safety
/// Each pointer is null or to a structure of its type that may be written.
#[allow(unsafe_code)]
// SAFETY: the name is the library's own prefix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn laxity_reserve(
    number: u32,
    runtime_ns: u64,
    period_ns: u64,
    flags: u32,
    reserved: *mut Reservation,
    error: *mut Failure,
) -> c_int {
    // SAFETY: the caller's promise.
    let (reserved, error) = unsafe { (Place::new(reserved), Place::new(error)) };
    let ask = move || {
        let mut request =
            Request::new(Duration::from_nanos(runtime_ns), Duration::from_nanos(period_ns));
        if let Some(number) = task(number) {
            request = request.for_task(number);
        }
        if flags & INHERIT != 0 {
            request = request.inherited();
        }
        if flags & !INHERIT != 0 {
            let text = format!("flags {flags:#x}: there is none but LAXITY_INHERIT");
            let refusal = laxity_reserve::protocol::Refusal::new(Code::Unusable, text);
            return Err(Error::Refused(refusal));
        }
        Client::later().reserve(&request)
    };
    call(error, ask, |answer| {
        let laxity_reserve::Reserved { cpu, runtime_ns, period_ns } = answer;
        reserved.put(Reservation { runtime_ns, period_ns, cpu, ..Reservation::default() });
    })
}

/// See the header.
///
/// # Safety
/// As [`laxity_reserve()`].
#[allow(unsafe_code)]
// SAFETY: the name is the library's own prefix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn laxity_query(
    number: u32,
    state: *mut Reservation,
    error: *mut Failure,
) -> c_int {
    // SAFETY: the caller's promise.
    let (state, error) = unsafe { (Place::new(state), Place::new(error)) };
    let ask = move || Client::later().query(task(number));
    call(error, ask, |State { reservation, share }| {
        let mut out = Reservation::default();
        if let Some(held) = reservation {
            out = Reservation {
                runtime_ns: held.runtime_ns,
                period_ns: held.period_ns,
                tasks: held.tasks,
                late: held.late,
                latest_ns: held.latest_ns,
                cpu: held.cpu,
                inherit: held.inherit.into(),
                ..out
            };
        }
        if let Some(share) = share {
            (out.held_ppm, out.most_ppm) = (share.held_ppm, share.most_ppm);
        }
        state.put(out);
    })
}

/// See the header.
///
/// # Safety
/// As [`laxity_reserve()`].
#[allow(unsafe_code)]
// SAFETY: the name is the library's own prefix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn laxity_release(number: u32, error: *mut Failure) -> c_int {
    // SAFETY: the caller's promise.
    let error = unsafe { Place::new(error) };
    call(error, move || Client::later().release(task(number)), |()| ())
}

/// See the header.
#[allow(unsafe_code)]
// SAFETY: the name is the library's own prefix.
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
        4 => c"has-one",
        5 => c"has-none",
        6 => c"no-task",
        7 => c"unusable",
        8 => c"affinity",
        9 => c"down",
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

    /// Fails when a code of the protocol has no name here, or another one.
    #[test]
    fn codes_have_the_names_of_the_protocol() {
        for code in Code::ALL {
            assert_eq!(name(code.number()).to_str(), Ok(code.name()));
        }
        assert_eq!(name(-1), c"unknown");
        assert_eq!(name(99), c"unknown");
    }

    /// Fails when a text is cut in the middle of a character, or its end is missing.
    #[test]
    fn texts_end() {
        let text = |failure: Failure| {
            let text = CStr::from_bytes_until_nul(&failure.text).expect("an end");
            text.to_str().expect("UTF-8").to_owned()
        };
        assert_eq!(text(failure(7, "short")), "short");
        let cut = text(failure(7, &"\u{20ac}".repeat(400)));
        assert_eq!(cut.len(), 501);
        assert_eq!(text(failure(0, &"x".repeat(504))).len(), 503);
    }

    /// Fails when a null pointer is written through.
    #[test]
    #[allow(unsafe_code)]
    fn null_pointers_and_strange_flags_do_no_harm() {
        // No server is needed to refuse flags.
        let mut error = failure(1, "");
        // SAFETY: null, and a structure of ours.
        let refused = unsafe { laxity_reserve(0, 1, 2, 6, null_mut(), &mut error) };
        assert_eq!(refused, Code::Unusable.number());
        assert!(error.text.starts_with(b"flags 0x6"));
        // SAFETY: null.
        let refused = unsafe { laxity_reserve(0, 1, 2, 6, null_mut(), null_mut()) };
        assert_eq!(refused, Code::Unusable.number());
    }
}
