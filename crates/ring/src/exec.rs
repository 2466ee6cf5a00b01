//! Executing a program in place of this one, without a change of what it inherits.

use core::sync::atomic::{AtomicBool, Ordering};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Whether this process was started with SIGPIPE ignored, as services of systemd are.
static IGNORES_SIGPIPE: AtomicBool = AtomicBool::new(false);

// SAFETY: the dynamic linker calls the functions of this section without arguments that matter, before the runtime of
// Rust ignores the signal.
#[used]
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn() = init;

extern "C" fn init() {
    // SAFETY: all of its fields may be zero.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: without a new action the call only writes to `action`, which is valid for writes.
    let known = unsafe { libc::sigaction(libc::SIGPIPE, core::ptr::null(), &raw mut action) } == 0;
    IGNORES_SIGPIPE.store(known && action.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
}

/// Executes a command in place of this process. SIGPIPE stays ignored if it was when this process started, which
/// [`CommandExt::exec`](std::os::unix::process::CommandExt::exec) alone would end: a service that counts on `EPIPE`
/// would be killed. Returns only if that fails, and why.
pub fn exec(command: &mut Command) -> io::Error {
    if IGNORES_SIGPIPE.load(Ordering::Relaxed) {
        let ignore = || {
            // SAFETY: it replaces no handler that anything here counts on; the program to come inherits that.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
            Ok(())
        };
        // SAFETY: the function is called in this process, after the signal was reset, and allocates nothing.
        unsafe { command.pre_exec(ignore) };
    }
    command.exec()
}
