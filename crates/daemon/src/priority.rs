//! The priority of a thread that must be on time.

/// The nice value of a thread that goes before the others.
const FIRST: i32 = -20;

/// Lets this thread go before others that are ready. Without the privilege it stays as it was, and
/// is later beside a busy CPU.
pub fn raise() {
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), FIRST);
}
