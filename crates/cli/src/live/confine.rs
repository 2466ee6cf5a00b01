//! A program that runs for long gives back the privileges that it was set up with.

pub use laxity_daemon::privileges::{Bpf, Capabilities};
use laxity_daemon::privileges::{deny_system_calls, retain};

use crate::warning;

/// Capabilities of a program that reads or changes maps of the kernel's schedulers while it runs.
pub const OF_KERNEL: Capabilities =
    Capabilities::BPF.union(Capabilities::PERFMON).union(Capabilities::SYS_ADMIN);

/// Drops all capabilities of this thread but some. A thread that cannot goes on with those that it has.
pub fn keep(kept: Capabilities) {
    let _ = retain(kept);
}

/// Gives back all capabilities but some, for this thread and those that it starts, and has the
/// kernel refuse to all threads what no such program does. Where the kernel has no such filters it
/// runs without, with a note.
pub fn confine(kept: Capabilities, bpf: Bpf) {
    if let Err(error) = retain(kept) {
        warning::say(format!("note: privileges cannot be dropped: {error}"));
    }
    if let Err(error) = deny_system_calls(bpf) {
        warning::say(format!("note: system calls cannot be filtered: {error}"));
    }
}
