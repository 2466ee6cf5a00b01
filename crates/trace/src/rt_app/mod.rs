//! Workloads of rt-app: threads that run, sleep and wait for timers in phases.
//!
//! From the JSON files that rt-app itself reads (its comments included) and from the freer ones of its
//! `workgen`, in which keys may repeat. Times there are microseconds.
//!
//! Keys that change the schedule are read or refused, with the line. Read are `run`, `runtime`, `sleep`,
//! `timer`, `suspend`, `resume`, `sem_wait`, `sem_post`; loops, phases, instances, delays; policies,
//! priorities, reservations of `SCHED_DEADLINE`, CPUs of threads. Refused are `wait`, `sync`, `barrier`,
//! `fork`, and work in bytes (`mem`, `iorun`, `memrun`). Keys that hardly change a schedule (`lock`,
//! `unlock`, `yield`, memory placement, clamps of utilisation, logging) are listed as ignored.

mod json;
mod read;

use std::fmt;

pub use read::read;

/// Steps of one thread at most, loops written out.
pub const MAX_STEPS: usize = 1 << 20;

/// A workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RtApp {
    /// In the order of the file.
    pub threads: Vec<RtThread>,
    /// How long it shall run; `None` without end.
    pub duration_ns: Option<u64>,
    /// Ignored keys, as `line 7: tasks.a.phases.b.lock`.
    pub ignored: Vec<String>,
}

/// A kind of thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtThread {
    /// Its key.
    pub name: String,
    /// How many there are.
    pub instances: u32,
    /// When it starts.
    pub delay_ns: u64,
    /// How it is scheduled.
    pub policy: RtPolicy,
    /// The CPUs on which it may run (affinity); empty for all.
    pub cpus: Vec<u32>,
    /// Its steps, in order.
    pub steps: Vec<RtStep>,
    /// Whether its steps repeat for ever.
    pub repeat: bool,
}

/// A scheduling policy of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtPolicy {
    /// `SCHED_OTHER` or `SCHED_BATCH` with a nice value.
    Other {
        /// From -20 to 19.
        nice: i8,
    },
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_FIFO` or `SCHED_RR`.
    Realtime {
        /// From 1 to 99, greater first.
        priority: u8,
    },
    /// `SCHED_DEADLINE`.
    Deadline {
        /// CPU time in each period.
        runtime_ns: u64,
        /// Distance between releases.
        period_ns: u64,
        /// From a release to the latest end.
        deadline_ns: u64,
    },
}

/// A step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtStep {
    /// Computes for so long.
    Run(u64),
    /// Sleeps for so long.
    Sleep(u64),
    /// Sleeps until a period after the timer was due last, at first after the thread began.
    Timer {
        /// The thread's timer, counted from zero.
        timer: u32,
        /// Its period in ns.
        period_ns: u64,
        /// Whether a timer that was missed counts from now on.
        relative: bool,
    },
    /// Waits for a wake-up, or consumes a pending one.
    Await,
    /// Wakes all instances of a thread, by place.
    Wake(usize),
}

/// An error in a workload file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtAppError {
    /// The line, counted from one.
    pub line: u64,
    /// Keys from the outermost one on, `tasks.thread0.run`; empty where JSON itself is wrong.
    pub path: String,
    /// The problem and its remedy.
    pub problem: String,
}

impl fmt::Display for RtAppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for RtAppError {}
