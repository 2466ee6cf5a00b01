//! The scheduler of this machine: start, stop, status.

use std::time::Duration;

use laxity_core::{OptionValue, Span};
use laxity_cpu::Share;

use super::record::Recording;
use super::requests::{CHANGE, ControlPrograms, Entry};
use super::scheduler_client::size_deadline_servers;
use super::{CpuError, Overheads, Policy, ReservationStatus, deadline_server, load, system};

/// Interval at which [`down`] checks whether the kernel's scheduler is back.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The state and counters of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuStatus {
    /// The CPU.
    pub cpu: u32,
    /// The share that is reserved.
    pub reserved: Share,
    /// The sum of the weights that divide the rest.
    pub total_weight: u64,
    /// The number of servers.
    pub servers: u64,
    /// The number of times that a task started to run.
    pub switches: u64,
    /// The number of tasks that other CPUs stole from this one.
    pub steals: u64,
    /// The greatest overrun of a budget, in ns.
    pub max_overrun_ns: u64,
    /// The greatest lateness of a reservation's release, in ns.
    pub max_release_lateness_ns: u64,
    /// The number of periods of present and past reservations in which work within the budget ended after
    /// the period.
    pub deadline_misses: u64,
    /// The greatest lateness of such work, in ns.
    pub max_lateness_ns: u64,
}

/// The inferred demand of a best-effort task that ran recently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// The task, as a PID in the namespace of the caller.
    pub pid: u32,
    /// Its CPU.
    pub cpu: u32,
    /// The CPU time that it uses at once; under BEBS with the margin.
    pub budget: Span,
    /// The time in which its share amounts to that.
    pub period: Span,
}

/// The status of the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its policy.
    pub policy: String,
    /// The options of the policy.
    pub options: Vec<(&'static str, OptionValue)>,
    /// What is added to the budget of a reservation that is made now.
    pub overheads: Overheads,
    /// By CPU.
    pub cpus: Vec<CpuStatus>,
    /// In the order of their table entries.
    pub reservations: Vec<ReservationStatus>,
    /// Unordered.
    pub inferred: Vec<Inferred>,
    /// The number of times that a task without a table entry was served.
    pub unaccounted: u64,
    /// The number of times that a reserved task ran on another CPU than that of its reservation.
    pub misplaced_runs: u64,
    /// The number of chosen tasks that were migrating.
    pub absent: u64,
    /// The number of locks that were not acquired; anything but zero is a fault.
    pub unlocked: u64,
    /// The longest wait of a CPU for the lock of another, in ns.
    pub waited: u64,
}

/// Schedules the CPUs of this machine by a policy. The scheduler outlives the caller; it ends with
/// [`down`], or when the kernel finds a task that was not served for 30 s.
///
/// If a scheduler with another policy or other options is running, changes its policy, CPU by CPU, without
/// losing tasks or reservations, and returns the previous policy. A policy without
/// [overheads](Policy::with_overheads) keeps those of the running scheduler.
///
/// # Errors
/// See [`CpuError`]; the previous scheduler then remains.
pub fn up(policy: &Policy) -> Result<Option<&'static str>, CpuError> {
    let _lock = match system::running()? {
        Some(name) if !system::is_ours(&name) => return Err(CpuError::OtherScheduler { name }),
        _ => system::lock()?,
    };
    // Another process may have started it before this one acquired the lock.
    if system::running()?.is_some() {
        let (before, control) = open_control_programs(&[CHANGE])?;
        let policy = policy.clone().or_overheads_of(&before);
        let state = |p: &Policy| (p.name, p.options(), p.overheads());
        if state(&before) == state(&policy) {
            return Err(CpuError::AlreadyRunning);
        }
        control.change(&policy)?;
        // Deadline servers include the minimum of best effort.
        size_deadline_servers(&control, &policy, &system::online().unwrap_or_default());
        return Ok(Some(before.name));
    }
    start(policy, 0).map(|()| None)
}

/// Starts the scheduler, then resets the maxima: the kernel delays timers while it hands over tasks.
fn start(policy: &Policy, recorded_until: u64) -> Result<(), CpuError> {
    // Pins of a scheduler that the kernel ended, or of a loader that was killed.
    system::remove_pins()?;
    deadline_server::reset();
    let control = ControlPrograms::of(load::start(policy, recorded_until)?);
    control.reset_maxima().or_else(|error| system::remove_pins().and(Err(error)))
}

/// As [`up`] where no scheduler is running, and records all decisions from the start, for `length`;
/// [`Recorder`](super::record::Recorder) reads them.
///
/// # Errors
/// As [`up`]; also when a scheduler is running, or somebody records.
pub fn up_recorded(policy: &Policy, length: Duration) -> Result<(), CpuError> {
    let _lock = system::lock()?;
    match system::running()? {
        Some(name) if !system::is_ours(&name) => return Err(CpuError::OtherScheduler { name }),
        Some(_) => {
            let why = "the scheduler is up already, and a recording begins with it; `laxity cpu down` first";
            return Err(CpuError::State(why));
        }
        None => {}
    }
    // An earlier recording may still be written; then nothing is to be started.
    let _recording = system::lock_recording()?;
    // An upper bound on the time of the verifier.
    let loading = Duration::from_secs(60);
    start(policy, system::after(loading + length))?;
    Recording::open()?.until(system::after(length))
}

/// Stops the scheduler and returns the CPUs to that of the kernel.
///
/// # Errors
/// The scheduler is not running, or its files cannot be removed.
pub fn down() -> Result<(), CpuError> {
    let _lock = system::lock()?;
    if !system::is_pinned()? {
        return Err(CpuError::NotRunning);
    }
    system::remove_pins()?;
    deadline_server::reset();
    // The kernel detaches the scheduler asynchronously, and first its name.
    for _ in 0..100 {
        if system::running()?.is_none_or(|name| !name.is_empty() && !system::is_ours(&name)) {
            return Ok(());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Err(CpuError::State("the kernel still runs the scheduler; another process holds it"))
}

/// The current policy, and control programs of the running scheduler.
pub(super) fn open_control_programs(
    programs: &[&str],
) -> Result<(Policy, ControlPrograms), CpuError> {
    let name = system::running()?;
    if !system::is_pinned()? {
        return Err(CpuError::NotRunning);
    }
    let control = ControlPrograms::new(programs)?;
    if name.is_some_and(|name| system::is_ours(&name)) {
        return Ok((control.policy()?, control));
    }
    Err(CpuError::Ejected { why: control.exit_reason()? })
}

/// The status of the reservation of a table entry.
pub(super) fn reservation_status(
    control: &ControlPrograms,
    entry: &Entry,
) -> Result<ReservationStatus, CpuError> {
    let report = control.report(entry.placed.cpu, entry.number)?;
    Ok(ReservationStatus {
        pid: report.pid,
        owner: entry.owner,
        placed: entry.placed,
        inherited: entry.inherited,
        tasks: report.members,
        deadline_misses: report.deadline_misses,
        max_lateness_ns: report.max_lateness_ns,
    })
}

/// Loads the programs of a policy without attaching them, and returns the number of instructions that
/// the verifier processed for each.
///
/// # Errors
/// The programs do not load.
pub fn verify(policy: &str) -> Result<Vec<(String, u32)>, CpuError> {
    load::verify(&Policy::named(policy)?)
}
