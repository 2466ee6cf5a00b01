//! The only unsafe code of this crate: a system call that no safe crate offers.
#![allow(unsafe_code)]

use std::io;

use rustix::process::{Pid, setpriority_process};

/// Gives a thread a nice value, under the default policy and without effect on the children that it starts
/// later: else a thread could pass its priority on to any number of them.
///
/// # Errors
/// The thread does not exist, or this process lacks `CAP_SYS_NICE`.
pub fn set_nice(tid: u32, nice: i32) -> io::Result<()> {
    let pid = i32::try_from(tid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let (policy, parameters) =
        (libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, libc::sched_param { sched_priority: 0 });
    // SAFETY: the kernel reads `parameters`, which outlives the call, and writes nothing.
    let result = unsafe {
        libc::sched_setscheduler(pid.as_raw_nonzero().get(), policy, &raw const parameters)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // For Linux a thread id is as good as that of a process here.
    Ok(setpriority_process(Some(pid), nice)?)
}
