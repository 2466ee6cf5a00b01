//! EDF with admission and overrun protection for hard tasks; other tasks have idle time only.

use laxity_core::{PolicyInfo, Span};

use crate::cbs;
use crate::layered::Layered;
use crate::round_robin::RoundRobin;
use crate::servers::{Servers, describe};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "edf",
    summary: "Admitted tasks by earliest deadline, each held to its budget; best effort in turn \
              while none of them is ready.",
    source: "Liu and Layland 1973; BEBS, section 3",
    keeps_deadlines: true,
    live: &[],
    options: &[describe::MIN_BEST_EFFORT_BW],
    table: options_table!("edf", "{ min-best-effort-bw = 100 }"),
};

/// The quantum of a best-effort task.
const QUANTUM: Span = Span::from_millis(100);

/// The core of BEBS without its servers for best effort.
pub fn new(options: &cbs::Options) -> Layered<Servers, RoundRobin> {
    global(options, 1)
}

/// The same as global EDF on several CPUs that share one queue.
pub fn global(options: &cbs::Options, cpus: u32) -> Layered<Servers, RoundRobin> {
    let servers = Servers::global(*cbs::new(options).rules(), cpus);
    Layered::new(servers, RoundRobin::new(QUANTUM))
}
