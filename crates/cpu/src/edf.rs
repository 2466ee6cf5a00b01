//! EDF with admission and overrun protection for hard tasks, nothing but idle time for others.

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
    options: &[describe::LEAST_BEST_EFFORT],
};

/// The turn of a best-effort task.
const QUANTUM: Span = Span::from_millis(100);

/// The core of BEBS without its servers for best effort.
pub fn new(options: &cbs::Options) -> Layered<Servers, RoundRobin> {
    on_several(options, 1)
}

/// The same on several CPUs that share one queue.
pub fn on_several(options: &cbs::Options, cpus: u32) -> Layered<Servers, RoundRobin> {
    let servers = Servers::on_several(*cbs::new(options).rules(), cpus);
    Layered::new(servers, RoundRobin::new(QUANTUM))
}
