//! The priority of a time-critical thread.

/// The nice value of the highest priority.
const HIGHEST: i32 = -20;

/// Raises the priority of this thread. Without the privilege the priority stays, and the thread is delayed
/// on a busy CPU.
pub fn raise() {
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), HIGHEST);
}
