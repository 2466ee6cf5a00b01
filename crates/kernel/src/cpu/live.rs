//! The scheduler of this machine: brought up, asked, taken down.

use std::time::Duration;

use laxity_core::Span;
use laxity_cpu::Share;

use super::record::Recording;
use super::requests::{Attendant, CHANGE, Entry};
use super::{CpuError, Policy, Reserved, load, system};

const STEP: Duration = Duration::from_millis(50);

/// What one CPU's servers did and hold. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuStatus {
    /// The CPU.
    pub cpu: u32,
    /// What is reserved of it.
    pub reserved: Share,
    /// Weights that divide the rest.
    pub load: u64,
    /// Servers that there are.
    pub servers: u64,
    /// Tasks that began to run.
    pub switches: u64,
    /// Tasks that other CPUs took from it.
    pub steals: u64,
    /// By how much a budget was overrun at most.
    pub overrun: u64,
    /// By how much a reservation's release was late at most.
    pub late_release: u64,
    /// Periods of its reservations, those that have ended too, in which work within the budget ended after the
    /// period.
    pub deadline_misses: u64,
    /// By how much at most.
    pub max_lateness_ns: u64,
}

/// What a task of best effort, one that ran lately, was found to need: so much CPU time at once, and
/// the time in which its share comes to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// The task, by its number in the PID namespace of the process that asks.
    pub pid: u32,
    /// The CPU that it is on.
    pub cpu: u32,
    /// CPU time. Under BEBS with the margin that is added.
    pub budget: Span,
    /// The time.
    pub period: Span,
}

/// The scheduler as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its policy.
    pub policy: String,
    /// By CPU.
    pub cpus: Vec<CpuStatus>,
    /// In the order in which they were made.
    pub reservations: Vec<Reserved>,
    /// In no order.
    pub inferred: Vec<Inferred>,
    /// Tasks beyond those it has places for, each time that one was served.
    pub unaccounted: u64,
    /// Reserved tasks that could not run where their reservation is.
    pub elsewhere: u64,
    /// Chosen tasks that were on their way elsewhere.
    pub absent: u64,
    /// Locks that could not be got: never, or something is broken.
    pub unlocked: u64,
    /// The longest wait of one CPU for the tables of another, in ns.
    pub waited: u64,
}

/// Gives the machine's CPUs to a policy. It stays when the caller ends; it goes when [`down`] is
/// called, or when the kernel finds that a task was not served for 30 s.
///
/// Where another policy has them, tasks and reservations go over to this one within the running
/// scheduler, all of a CPU at once; answers which policy that was.
///
/// # Errors
/// See [`CpuError`]; whatever was in charge before then still is.
pub fn up(policy: &str) -> Result<Option<&'static str>, CpuError> {
    let policy = Policy::named(policy)?;
    let _lock = match system::running()? {
        Some(name) if !system::is_ours(&name) => return Err(CpuError::Occupied { name }),
        _ => system::lock()?,
    };
    // Somebody else may have started it before this had the lock.
    if system::running()?.is_some() {
        let (before, attendant) = attend(&[CHANGE])?;
        if before.name == policy.name {
            return Err(CpuError::Up);
        }
        return attendant.change(&policy).map(|()| Some(before.name));
    }
    // Of a scheduler that the kernel took away, or of a loader that was killed.
    system::remove_pins()?;
    start(&policy, 0).map(|()| None)
}

/// Starts the scheduler, and counts what is late from then on: while the kernel hands its tasks over,
/// it puts off timers.
fn start(policy: &Policy, recorded_until: u64) -> Result<(), CpuError> {
    let attendant = Attendant::of(load::start(policy, recorded_until)?);
    attendant.reset_worst_cases().or_else(|error| system::remove_pins().and(Err(error)))
}

/// The same where no policy is up, with all that is decided recorded from the beginning, for so
/// long; [`Recorder`](super::record::Recorder) gets it.
///
/// # Errors
/// As [`up`]; also when a policy is up.
pub fn up_recorded(policy: &str, length: Duration) -> Result<(), CpuError> {
    let policy = Policy::named(policy)?;
    let _lock = system::lock()?;
    match system::running()? {
        Some(name) if !system::is_ours(&name) => return Err(CpuError::Occupied { name }),
        Some(_) => return Err(CpuError::Up),
        None => system::remove_pins()?,
    }
    // The kernel takes its time to verify it.
    let loading = Duration::from_secs(60);
    start(&policy, system::after(loading + length))?;
    Recording::open()?.until(system::after(length))
}

/// The kernel's own scheduler takes over again.
///
/// # Errors
/// When the scheduler is not up, or its files cannot be removed.
pub fn down() -> Result<(), CpuError> {
    let _lock = system::lock()?;
    if !system::is_pinned()? {
        return Err(CpuError::Down);
    }
    system::remove_pins()?;
    // The kernel does it a little later.
    for _ in 0..100 {
        if system::running()?.is_none_or(|name| !system::is_ours(&name)) {
            return Ok(());
        }
        std::thread::sleep(STEP);
    }
    Err(CpuError::State("the kernel still runs the scheduler; something else holds it"))
}

/// The policy that is up, and who answers for it.
pub(super) fn attend(programs: &[&str]) -> Result<(Policy, Attendant), CpuError> {
    let name = system::running()?;
    if !system::is_pinned()? {
        return Err(CpuError::Down);
    }
    let attendant = Attendant::new(programs)?;
    if name.is_some_and(|name| system::is_ours(&name)) {
        return Ok((attendant.policy()?, attendant));
    }
    Err(CpuError::Ended { why: attendant.ended()? })
}

/// How a reservation was kept.
pub(super) fn reserved(attendant: &Attendant, entry: &Entry) -> Result<Reserved, CpuError> {
    let report = attendant.report(entry.held.cpu, entry.number)?;
    Ok(Reserved {
        pid: report.pid,
        owner: entry.owner,
        held: entry.held,
        inherited: entry.inherited,
        tasks: report.members,
        deadline_misses: report.deadline_misses,
        max_lateness_ns: report.max_lateness_ns,
    })
}

/// Loads the programs of a policy without starting anything, and says how many instructions the
/// verifier processed for each.
///
/// # Errors
/// When they do not load.
pub fn verify(policy: &str) -> Result<Vec<(String, u32)>, CpuError> {
    load::verify(&Policy::named(policy)?)
}
