//! The memory limit of a command: its sum, which no bound on a single size covers.
//!
//! Queues, histograms and recordings grow with the run, and their size is not known in advance.
//! A thread checks the memory of the process every 10 ms and ends it beyond the limit, with a
//! remedy: the machine does not start to swap, and existing files stay whole.

use std::time::Duration;

use laxity_core::Bytes;

use crate::failure::BAD_INPUT;
use crate::{files, warning};

/// Time between two checks. A thread that keeps touching new memory uses some 20 MB meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Slices, jobs and waits of a schedule take about so many bytes together, with what a page draws
/// of them.
const SCHEDULED: u64 = 160;

/// Keeps this process to a limit from now on.
pub fn limit(limit: Bytes) {
    if used().is_none() {
        warning::say("warning: /proc is missing, so --memory is not enforced");
        return;
    }
    let watch = move || loop {
        if let Some(used) = used().filter(|used| *used > limit) {
            files::abandon();
            warning::say(format_args!(
                "{} of memory are in use, and --memory allows {}: shorten --duration, run fewer \
                 policies or seeds, lower `count`, `burst` or `buffer` in the scenario, or raise \
                 --memory",
                shown(used),
                shown(limit)
            ));
            std::process::exit(i32::from(BAD_INPUT));
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    // Without another thread the command goes on unwatched.
    let _ = std::thread::Builder::new().name("memory".into()).spawn(watch);
}

/// Limit on the record of a schedule: half of the memory for one policy after the other.
pub fn kept_of_a_schedule(limit: Bytes, policies: usize) -> usize {
    let each = limit.0 / 2 / SCHEDULED / (policies.max(1) as u64);
    usize::try_from(each).unwrap_or(usize::MAX).max(1000)
}

fn shown(bytes: Bytes) -> String {
    format!("{} MB", bytes.0 / 1_000_000)
}

/// Resident memory of this process.
fn used() -> Option<Bytes> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib * 1024))
}
