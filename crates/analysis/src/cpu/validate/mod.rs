//! Whether a recorded run of CPUs is legal, and whether the premises held under which nothing is late.
//!
//! The record says what ran, and of each server when it was ready, under which deadline, with which budget, and
//! its *promise*, the share that it has from some instant on. From the record alone it is judged that
//! - on each cluster of `m` CPUs the `m` ready servers with the earliest deadlines run, and no CPU idles or runs
//!   anything else while more are ready;
//! - each server executes no more than its budget, and keeps the rule of `laxity_cpu::servers`: its promise changes
//!   only from its zero-lag time on, its deadline is no earlier than where the promise has given its budget, and
//!   does not go back; a server that is expired is released no earlier than that;
//! - at every instant the shares add up to no more than the CPUs;
//! - each job of a hard reservation has a ready server, with no later deadline, from its release to its end.
//!
//! While a higher scheduling class waits for a live CPU, ready reservations go by deadline before all best effort,
//! and may do so from there on until none is ready; where no server is ready, a reservation may execute without budget.
//! No job is promised anything then.
//!
//! The premises are that each job keeps its reserved budget, period and deadline. Then no hard job is late
//! (`proofs/cpu/Changes.v`, `proofs/cpu/Machine.v`; on clusters of several CPUs by the argument of
//! `crates/cpu/src/gfb.rs`). Zero-lag times and demands are computed from the slices, not believed. The cost is
//! `n log n`.

mod describe;
mod execution;
mod jobs;
mod promise;
mod servers;
mod sum;
mod walk;

use std::error::Error;
use std::fmt;

use laxity_core::{PolicyInfo, Span, Time};
use laxity_cpu::Service;
use laxity_cpu::registry::find;
use laxity_results::csv::cpu_run::{CpuRunRecord, RequestRow, RunRow};
use laxity_scenario::cpu::CpuScenario;
use laxity_sim::cpu::{Task, with_overheads};

pub use walk::judge;

/// What a record says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuValidation {
    /// The number of slices.
    pub slices: usize,
    /// The number of jobs with deadlines that were promised.
    pub jobs: usize,
    /// Events that a live record lacks: with a gap it is not judged.
    pub lost: u64,
    /// The first instant at which the run was not legal.
    pub illegal: Option<CpuFault>,
    /// Premises that failed, the first of each task, in order of time.
    pub broken: Vec<Premise>,
    /// Late jobs of hard tasks.
    pub late: Vec<LateJob>,
    /// A task whose deadline is shorter than its period: while it is reserved, the sum of shares says nothing about
    /// deadlines and is not judged.
    pub constrained: Option<String>,
}

impl CpuValidation {
    /// Whether there is a verdict: a record with a gap has none.
    pub fn is_judged(&self) -> bool {
        self.lost == 0
    }

    /// Whether the run is legal and all premises held, so that nothing is late.
    pub fn holds(&self) -> bool {
        self.is_judged() && self.illegal.is_none() && self.broken.is_empty()
    }

    /// A promised job that was late in a legal run. There is none, unless the judgement is wrong.
    pub fn contradiction(&self) -> Option<&LateJob> {
        let implied = self.is_judged() && self.illegal.is_none() && self.constrained.is_none();
        self.late.iter().find(|late| implied && late.promised && late.by.0 > jobs::ROUNDING)
    }
}

/// A job that was late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateJob {
    /// Its task.
    pub task: String,
    /// When it was released.
    pub release: Time,
    /// When it was due.
    pub deadline: Time,
    /// By how much it was late at least.
    pub by: Span,
    /// Whether its premises held.
    pub promised: bool,
}

/// Why a run is not legal. Servers are named by a task that they serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuFault {
    /// The policy has no servers.
    NoServers,
    /// Two slices at once on a CPU, or of a task or server.
    Together {
        /// When the second began.
        at: Time,
        /// Its task.
        task: String,
    },
    /// A task ran although its server was not ready.
    NotReady {
        /// When it began.
        at: Time,
        /// The task.
        task: String,
    },
    /// Another task should have run.
    Wrong {
        /// When it began.
        at: Time,
        /// The task that ran.
        task: String,
        /// The one that waited and was due earlier.
        waiting: String,
    },
    /// A CPU idled while a task waited.
    Idle {
        /// Since when.
        at: Time,
        /// The task.
        waiting: String,
    },
    /// A server executed more than its budget.
    Budget {
        /// When it was exhausted.
        at: Time,
        /// Its task.
        task: String,
    },
    /// A share changed before the server's zero-lag time.
    Share {
        /// When it was changed.
        at: Time,
        /// The task.
        task: String,
        /// From when on.
        from: Time,
        /// The zero-lag time.
        zero_lag: Time,
    },
    /// A deadline is earlier than the share permits.
    Early {
        /// When it was set.
        at: Time,
        /// The task.
        task: String,
        /// The deadline.
        deadline: Time,
        /// The earliest that is permitted.
        least: Time,
    },
    /// All promises were reset while a hard job was pending.
    Pending {
        /// When.
        at: Time,
        /// The task of the job.
        task: String,
    },
    /// A ready server's deadline moved back.
    Back {
        /// When.
        at: Time,
        /// The task.
        task: String,
    },
    /// An expired server is released before its share has caught up with what it executed.
    Release {
        /// When it was decided.
        at: Time,
        /// The task.
        task: String,
        /// The release.
        release: Time,
    },
    /// The shares exceeded the CPUs.
    Sum {
        /// Since when.
        at: Time,
        /// Their sum, in thousandths of a CPU.
        thousandths: u64,
        /// The number of CPUs that share the queue.
        cpus: u32,
    },
    /// A hard job's server was not ready from the job's release on.
    Unready {
        /// The job's release.
        at: Time,
        /// The task.
        task: String,
    },
    /// A hard job's server had a later deadline.
    Later {
        /// The job's release.
        at: Time,
        /// The task.
        task: String,
        /// The server's deadline.
        deadline: Time,
        /// The job's.
        due: Time,
    },
}

/// A premise that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Premise {
    /// A task was refused.
    Refused {
        /// The task.
        task: String,
        /// When.
        at: Time,
    },
    /// A higher scheduling class took a part of a live CPU.
    HigherClass {
        /// Since when it first waited.
        at: Time,
        /// For how long in all it waited or executed.
        length: Span,
    },
    /// A job needed more than its budget.
    Budget {
        /// The task.
        task: String,
        /// When the job was released.
        release: Time,
        /// What it executed.
        needed: Span,
        /// The reserved budget.
        declared: Span,
    },
    /// A job was released too soon after the one before.
    Period {
        /// The task.
        task: String,
        /// When the job was released.
        release: Time,
        /// The time since the one before.
        distance: Span,
        /// The reserved period.
        declared: Span,
    },
    /// A job was due sooner than reserved.
    Deadline {
        /// The task.
        task: String,
        /// When the job was released.
        release: Time,
        /// The time to its deadline.
        within: Span,
        /// The reserved deadline.
        declared: Span,
    },
}

/// Why a record cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuValidateError {
    /// The policy is none.
    UnknownPolicy(String),
    /// The policy has no servers with deadlines, so no live record of it can be judged.
    NoDeadlines(String),
    /// The record is of live CPUs, or of simulated ones.
    Live(bool),
    /// The record is of other tasks.
    OtherTasks,
    /// The record is of other CPUs.
    OtherCpus,
    /// The scenario has locks, of which records say nothing.
    Locks,
    /// A task asked for something that the scenario has not.
    OtherRequest {
        /// The task.
        task: String,
        /// When.
        at: Time,
    },
}

impl fmt::Display for CpuValidateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remedy = "give the scenario of this run";
        match self {
            CpuValidateError::UnknownPolicy(name) => write!(f, "`{name}` is no CPU policy"),
            CpuValidateError::NoDeadlines(name) => {
                let can = "live records of bebs and bebs-credit can be judged";
                write!(f, "best effort under {name} has no servers with deadlines; {can}")
            }
            CpuValidateError::Live(true) => {
                write!(f, "a record of live CPUs is judged without a scenario; leave it out")
            }
            CpuValidateError::Live(false) => write!(f, "a record of a simulated run; {remedy}"),
            CpuValidateError::OtherTasks => write!(f, "the scenario has other tasks; {remedy}"),
            CpuValidateError::Locks => {
                write!(f, "the scenario has locks, and runs with locks have no records; {remedy}")
            }
            CpuValidateError::OtherCpus => write!(f, "the scenario has other CPUs; {remedy}"),
            CpuValidateError::OtherRequest { task, at } => {
                write!(f, "{task} asks at {} for what the scenario has not; {remedy}", Span(at.0))
            }
        }
    }
}

impl Error for CpuValidateError {}

/// How a policy departs from EDF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuRules {
    /// While nothing is reserved, best effort may run on although another is due earlier.
    pub wakeups_wait: bool,
    /// Judge as live CPUs run: they need some time to do what the scheduler decides.
    pub live: Option<Live>,
}

/// How a live CPU departs from what its scheduler decides, and how its tasks depart from what they reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// The longest time for which another task runs than the one with the earliest deadline, or none, and the
    /// longest execution beyond a budget; a job may come so much sooner than its period after the one before, and
    /// end so much later than its deadline.
    pub tolerance: Span,
}

/// Judges the record of a run of a scenario, given the tasks of the scenario.
///
/// # Errors
/// The record is not of this scenario.
pub fn validate(
    scenario: &CpuScenario,
    tasks: &[Task],
    run: &CpuRunRecord,
) -> Result<CpuValidation, CpuValidateError> {
    if run.live.is_some() {
        return Err(CpuValidateError::Live(true));
    }
    let info = policy_of(run)?;
    if run.tasks.len() != tasks.len() || run.tasks.iter().zip(tasks).any(|(a, b)| *a != b.name) {
        return Err(CpuValidateError::OtherTasks);
    }
    if tasks.iter().any(|task| !task.sections.is_empty()) {
        return Err(CpuValidateError::Locks);
    }
    if cluster_of_each_cpu(scenario) != run.clusters {
        return Err(CpuValidateError::OtherCpus);
    }
    // Policies are asked for budgets with the overheads of scheduling.
    let tasks = with_overheads(scenario, tasks);
    let requests = run.rows.iter().filter_map(|row| match row {
        RunRow::Request(row) => Some(row),
        _ => None,
    });
    for row in requests {
        let task = &tasks[row.task as usize];
        let changes = task.changes.iter().map(|change| &change.attributes);
        if !changes.chain([&task.attributes]).any(|a| asks(&a.service, row)) {
            let (task, at) = (task.name.clone(), row.at);
            return Err(CpuValidateError::OtherRequest { task, at });
        }
    }
    if !info.keeps_deadlines {
        let illegal = Some(CpuFault::NoServers);
        return Ok(CpuValidation { illegal, ..not_judged(run) });
    }
    let granularity = scenario.policy.options.bebs_credit.wakeup_granularity;
    Ok(judge(run, CpuRules { wakeups_wait: wakeups_wait(run, granularity), live: None }))
}

/// Judges the record of a live CPU, which needs no scenario: reservations are in it as requests.
///
/// # Errors
/// The record is of a simulated run, or of a policy whose servers have no deadlines.
pub fn validate_live(
    run: &CpuRunRecord,
    tolerance: Span,
) -> Result<CpuValidation, CpuValidateError> {
    let live = run.live.ok_or(CpuValidateError::Live(false))?;
    let info = policy_of(run)?;
    if !info.keeps_deadlines || info.sched_ext().is_none() {
        return Err(CpuValidateError::NoDeadlines(run.policy.clone()));
    }
    if live.lost > 0 {
        return Ok(CpuValidation { lost: live.lost, ..not_judged(run) });
    }
    let wakeups_wait = wakeups_wait(run, live.wakeup_granularity);
    Ok(judge(run, CpuRules { wakeups_wait, live: Some(Live { tolerance }) }))
}

fn policy_of(run: &CpuRunRecord) -> Result<&'static PolicyInfo, CpuValidateError> {
    find(&run.policy).ok_or_else(|| CpuValidateError::UnknownPolicy(run.policy.clone()))
}

/// A verdict that has counted slices only.
fn not_judged(run: &CpuRunRecord) -> CpuValidation {
    let slices = run.rows.iter().filter(|row| matches!(row, RunRow::Slice(_))).count();
    CpuValidation { slices, ..CpuValidation::default() }
}

fn wakeups_wait(run: &CpuRunRecord, granularity: Span) -> bool {
    run.policy == "bebs-credit" && granularity > Span::ZERO
}

/// The cluster of each CPU of a scenario, as records name them.
pub fn cluster_of_each_cpu(scenario: &CpuScenario) -> Vec<u32> {
    match scenario.cpu.layout() {
        Ok(Some(layout)) => {
            let mut clusters = vec![0; layout.cpus() as usize];
            for (k, set) in layout.clusters().iter().enumerate() {
                set.iter().for_each(|cpu| clusters[cpu.index()] = k as u32);
            }
            clusters
        }
        _ => vec![0],
    }
}

fn asks(service: &Service, row: &RequestRow) -> bool {
    let (hard, reserved) = match service {
        Service::Hard(r) => (true, [r.budget, r.period, r.deadline]),
        Service::Soft(r) => (false, [r.budget, r.period, r.deadline]),
        Service::BestEffort => (false, [Span::ZERO; 3]),
    };
    (hard, reserved) == (row.hard, [row.budget, row.period, row.deadline])
}
