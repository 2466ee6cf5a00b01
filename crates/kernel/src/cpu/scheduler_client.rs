//! The client of the running scheduler: reserves, finds and releases reservations.

use std::time::Duration;

use laxity_cpu::Reservation;

use super::live::{open_control_programs, reservation_status};
use super::requests::{Answer, ControlPrograms, FIND, RELEASE, REPORT, RESERVE, Request};
use super::{
    CpuError, PlacedReservation, Policy, ReservationBackend, ReservationRequest, ReservationStatus,
    ReservationTable, ReserveOutcome, check, deadline_server, place_on_cores, reserve_with_retry,
    system,
};

/// Interval at which draining bandwidth is polled: released bandwidth that was not used ahead is free
/// within its period.
const DRAIN_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Delay before the next attempt when jobs of other reservations are pending. It divides few periods.
const PENDING_JOBS_DELAY: Duration = Duration::from_micros(3_700);

/// A client of the scheduler of this machine. It keeps the control programs loaded between calls and
/// reloads them after a restart of the scheduler.
pub struct SchedulerClient {
    programs: &'static [&'static str],
    session: Option<Session>,
}

/// The control programs of one instance of the scheduler.
struct Session {
    identity: Option<u64>,
    policy: Policy,
    control: ControlPrograms,
}

impl Default for SchedulerClient {
    fn default() -> SchedulerClient {
        SchedulerClient::with_programs(&[RESERVE, RELEASE, FIND, REPORT])
    }
}

impl SchedulerClient {
    /// Loads these control programs only; the kernel verifies each one that is loaded.
    pub(super) fn with_programs(programs: &'static [&'static str]) -> SchedulerClient {
        SchedulerClient { programs, session: None }
    }

    fn session(&mut self) -> Result<&Session, CpuError> {
        let identity = system::identity();
        let is_current = |s: &Session| identity.is_some() && s.identity == identity;
        let session = match self.session.take().filter(is_current) {
            Some(session) => Session { policy: session.control.policy()?, ..session },
            None => {
                let (policy, control) = open_control_programs(self.programs)?;
                Session { identity, policy, control }
            }
        };
        Ok(self.session.insert(session))
    }

    /// The current policy and the control programs.
    pub(super) fn control(&mut self) -> Result<(&Policy, &ControlPrograms), CpuError> {
        self.session().map(|session| (&session.policy, &session.control))
    }
}

/// Sizes the kernel's deadline servers of CPUs to the reservations there. What was requested has been done already, so
/// a failure here is not one of the request; `status` shows the sizes. Requires the lock.
pub(super) fn size_deadline_servers(control: &ControlPrograms, policy: &Policy, cpus: &[u32]) {
    let Ok(entries) = control.entries() else { return };
    for &cpu in cpus {
        let own = entries.iter().filter(|e| e.placed.cpu == cpu).map(|e| e.placed.reservation);
        let own: Vec<Reservation> = own.collect();
        deadline_server::size(cpu, &own, policy.best_effort_min());
    }
}

impl ReservationBackend for SchedulerClient {
    fn reservations(&mut self) -> Result<ReservationTable, CpuError> {
        let cpus = system::online()?.len() as u32;
        let session = self.session()?;
        let placed = session.control.entries()?.iter().map(|e| (e.placed, e.owner)).collect();
        Ok(ReservationTable { policy: session.policy.clone(), cpus, placed })
    }

    fn allowed_cpus(&self, pid: u32) -> Result<Vec<u32>, CpuError> {
        system::allowed(pid)
    }

    fn try_reserve(
        &mut self,
        request: &ReservationRequest,
        deferrable: bool,
    ) -> Result<ReserveOutcome, CpuError> {
        check(request.reservation)?;
        let pid = request.pid;
        self.session()?;
        let _lock = system::lock()?;
        // Read again under the lock: the policy may have changed before.
        let Session { policy, control, .. } = self.session()?;
        let allowed = system::allowed(pid)?;
        let reservation = request.reservation;
        if let Some(quota) = system::quota(pid).filter(|quota| !quota.allows(&reservation)) {
            return Err(CpuError::Quota { reservation, quota });
        }
        let placed: Vec<PlacedReservation> = control.entries()?.iter().map(|e| e.placed).collect();
        let cores = system::cores();
        let overhead = policy.overheads().per_job();
        let mut candidates = allowed.clone();
        loop {
            let cpu = match place_on_cores(policy, &placed, reservation, &candidates, &cores) {
                Ok(cpu) => cpu,
                // A CPU that was left out has room once released bandwidth has drained there.
                Err(_) if candidates.len() < allowed.len() => {
                    return Ok(ReserveOutcome::RetryAfter(DRAIN_POLL_INTERVAL));
                }
                Err(error) => return Err(error),
            };
            let attempt = Request { reserve: *request, overhead, cpu, deferrable };
            return match control.reserve(&attempt)? {
                Answer::Done { from, .. } => {
                    size_deadline_servers(control, policy, &[cpu]);
                    Ok(ReserveOutcome::Placed { cpu, in_force_after: from })
                }
                Answer::NoRoom => {
                    candidates.retain(|candidate| *candidate != cpu);
                    continue;
                }
                Answer::NotNow => Ok(ReserveOutcome::RetryAfter(PENDING_JOBS_DELAY)),
                Answer::NoTask => Err(CpuError::NoTask { pid }),
                // A task that a higher scheduling class keeps from running leaves its reservation later.
                Answer::HasOne if control.find(pid)? == 0 => {
                    Ok(ReserveOutcome::RetryAfter(PENDING_JOBS_DELAY))
                }
                Answer::HasOne => Err(CpuError::AlreadyReserved),
                Answer::Elsewhere => {
                    Err(CpuError::Affinity("the task may no longer run on that CPU"))
                }
                Answer::TooMany | Answer::HasNone => Err(CpuError::TableFull),
            };
        }
    }

    fn release(&mut self, pid: u32) -> Result<(), CpuError> {
        match self.session()?.control.release(pid)? {
            Answer::Done { .. } => {
                // Its CPU is not known any more. Where the task runs, it leaves when it stops: until the next request the
                // server is larger than necessary. The policy may have changed before this got the lock.
                if let (Ok(_lock), Ok(cpus)) = (system::lock(), system::online()) {
                    if let Ok(Session { policy, control, .. }) = self.session() {
                        size_deadline_servers(control, policy, &cpus);
                    }
                }
                Ok(())
            }
            Answer::NoTask => Err(CpuError::NoTask { pid }),
            Answer::HasOne => Err(CpuError::Pending),
            _ => Err(CpuError::NotReserved),
        }
    }

    fn find(&mut self, pid: u32) -> Result<Option<ReservationStatus>, CpuError> {
        let control = &self.session()?.control;
        let number = control.find(pid)?;
        let entries = control.entries()?;
        let entry = entries.iter().find(|e| e.number == number);
        entry.map(|entry| reservation_status(control, entry)).transpose()
    }
}

/// Reserves CPU time for a task, with `inherit` also for its future children. Returns the CPU once the
/// reservation is in force there. The reservation ends with the last of its tasks.
///
/// # Errors
/// As [`ReservationBackend::try_reserve`].
pub fn reserve(pid: u32, reservation: Reservation, inherit: bool) -> Result<u32, CpuError> {
    let request = ReservationRequest { pid, reservation, inherit, owner: 0 };
    let mut client = SchedulerClient::with_programs(&[RESERVE, FIND]);
    reserve_with_retry(|deferrable| client.try_reserve(&request, deferrable))?
        .ok_or(CpuError::Draining)
}

/// Ends the reservation of a task; the task continues as best effort.
///
/// # Errors
/// As [`ReservationBackend::release`].
pub fn release(pid: u32) -> Result<(), CpuError> {
    SchedulerClient::with_programs(&[RELEASE]).release(pid)
}
