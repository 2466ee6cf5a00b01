//! A recorded run of CPUs: what ran, the jobs, the requests, and each change of a server.
//!
//! The first line is [`VERSION_LINE`]; each further one begins with what it is about, in order of time. The columns
//! are in `docs/reference/cpu-run.md`. Times are in ns, shares in units of 2^-56 of a CPU.

mod read;
mod write;

use laxity_core::{Span, Time};

pub use read::read_cpu_runs;
pub use write::CpuRunWriter;

/// The first line; its number grows when a column changes.
pub const VERSION_LINE: &str = "laxity-cpu-run,1";

/// The run of one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuRunRecord {
    /// The policy.
    pub policy: String,
    /// The cluster of each CPU.
    pub clusters: Vec<u32>,
    /// What is known of a live run; none of a simulated one.
    pub live: Option<LiveRun>,
    /// The names of the tasks, by number.
    pub tasks: Vec<String>,
    /// What happened, in order of time.
    pub rows: Vec<RunRow>,
    /// When the record ends.
    pub end: Time,
}

/// What a record of a live CPU says of the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveRun {
    /// The CPU of the machine.
    pub cpu: u32,
    /// How many events of all CPUs were lost: then the record has gaps.
    pub lost: u64,
    /// How long best effort runs on although other best effort is due earlier.
    pub wakeup_granularity: Span,
}

/// A line of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunRow {
    /// A task joined or asked for something else.
    Request(RequestRow),
    /// The promises of servers are reset in the call of the next rows.
    Reset(ResetRow),
    /// A server changed.
    Server(ServerRow),
    /// A task had a CPU.
    Slice(RunSlice),
    /// A job ended, or did not.
    Job(RunJob),
    /// A higher scheduling class waited for a live CPU.
    HigherClass(HigherClass),
}

/// A time in which a higher scheduling class waited for a live CPU, or had it, while reservations preceded best effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HigherClass {
    /// When the CPU last executed a task of the scheduler before.
    pub from: Time,
    /// The first decision without.
    pub until: Time,
}

/// What a task asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRow {
    /// When.
    pub at: Time,
    /// The task's number.
    pub task: u32,
    /// Whether it is a hard reservation.
    pub hard: bool,
    /// Budget, period and deadline; zero without a reservation.
    pub budget: Span,
    /// See `budget`.
    pub period: Span,
    /// See `budget`.
    pub deadline: Span,
    /// From when on it is in force; none if it was refused.
    pub from: Option<Time>,
}

/// The policy resets the promises of all servers but hard ones, and forgets what they executed ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetRow {
    /// When.
    pub at: Time,
    /// The number of the call.
    pub call: u64,
    /// The cluster.
    pub cluster: u32,
}

/// Names of the values of a column.
macro_rules! named {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident $text:literal),+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// As it stands in a record.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)+
                }
            }
        }
    };
}

named! {
    /// The call of the scheduler in which a server changed.
    RunEvent {
        /// A task joined.
        Join "join",
        /// A task left.
        Leave "leave",
        /// A task asked for other attributes.
        Change "change",
        /// A task became runnable.
        Wake "wake",
        /// A task blocked.
        Block "block",
        /// Execution was charged.
        Ran "ran",
        /// Releases and reclaims were due.
        Timer "timer",
        /// A task was picked.
        Pick "pick"
    }
}

named! {
    /// The state of a server.
    RunState {
        /// No member is runnable.
        Blocked "blocked",
        /// It competes under its deadline.
        Ready "ready",
        /// It waits for its next release.
        Expired "expired",
        /// Its members have left.
        Leaving "leaving",
        /// There is none at this place.
        Vacant "vacant"
    }
}

named! {
    /// The kind of a server.
    RunKind {
        /// Of a guaranteed reservation.
        Hard "hard",
        /// The same, with a deadline shorter than its period.
        Constrained "constrained",
        /// With a declared budget and period.
        Soft "soft",
        /// With a share of the best-effort bandwidth.
        Shared "shared"
    }
}

/// A server after a call of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerRow {
    /// When.
    pub at: Time,
    /// The number of the call: rows of one call belong together.
    pub call: u64,
    /// What was called.
    pub event: RunEvent,
    /// The cluster.
    pub cluster: u32,
    /// The place of the server in it.
    pub slot: u32,
    /// Its state.
    pub state: RunState,
    /// Its kind.
    pub kind: RunKind,
    /// How often it was replenished.
    pub replenished: u64,
    /// The remaining budget, without execution that was not reported yet.
    pub remaining: Span,
    /// The deadline, while it is ready.
    pub deadline: Time,
    /// The next release of an expired one.
    pub release: Option<Time>,
    /// From when on the promise holds.
    pub from: Time,
    /// The ends of the promise's steps and their shares, in units of 2^-56 of a CPU.
    pub steps: [(Time, u64); 2],
    /// The share after them, in the same units.
    pub rest: u64,
}

/// What execution was charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunCharge {
    /// A server, by cluster and place.
    Server(u32, u32),
    /// None, as the policy has none for the task.
    Unserved,
    /// None, on a CPU that would idle.
    Background,
}

/// A task on a CPU without interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSlice {
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub to: Time,
    /// The CPU.
    pub cpu: u32,
    /// The task's number.
    pub task: u32,
    /// What it was charged to.
    pub charge: RunCharge,
}

/// A job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunJob {
    /// The task's number.
    pub task: u32,
    /// When it was released.
    pub release: Time,
    /// When it was due, if it was.
    pub deadline: Option<Time>,
    /// When it ended, or the record or its task did.
    pub end: Time,
    /// Whether it ended.
    pub ended: bool,
}

impl RunRow {
    /// The instant of the row: the end of what takes time.
    pub fn at(&self) -> Time {
        match self {
            RunRow::Request(row) => row.at,
            RunRow::Reset(row) => row.at,
            RunRow::Server(row) => row.at,
            RunRow::Slice(row) => row.to,
            RunRow::Job(row) => row.end,
            RunRow::HigherClass(row) => row.until,
        }
    }
}
