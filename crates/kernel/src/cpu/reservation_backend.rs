//! The scheduler interface that the broker depends on.

use std::thread::sleep;
use std::time::Duration;

use super::{CpuError, PlacedReservation, Policy, ReservationRequest};

/// Maximum attempts to reserve while released bandwidth drains.
pub const MAX_ATTEMPTS: u32 = 40;

/// Retries a reservation while the scheduler answers [`ReserveOutcome::RetryAfter`], and sleeps until
/// it is in force. The argument of `try_reserve` is `deferrable`: the first half of the attempts
/// requires an immediate start, the second half accepts a deferred one. Returns the CPU, or `None`
/// when the released bandwidth did not drain ([`CpuError::Draining`]).
///
/// # Errors
/// Those of `try_reserve`.
pub fn reserve_with_retry<E>(
    mut try_reserve: impl FnMut(bool) -> Result<ReserveOutcome, E>,
) -> Result<Option<u32>, E> {
    for attempt in 0..MAX_ATTEMPTS {
        match try_reserve(attempt >= MAX_ATTEMPTS / 2)? {
            ReserveOutcome::Placed { cpu, in_force_after } => {
                sleep(in_force_after);
                return Ok(Some(cpu));
            }
            ReserveOutcome::RetryAfter(delay) => sleep(delay),
        }
    }
    Ok(None)
}

/// A scheduler with reservations. With the feature `kernel`, `SchedulerClient` implements it for the
/// scheduler of this machine.
pub trait ReservationBackend: Send {
    /// All reservations, with the policy and the number of CPUs.
    ///
    /// # Errors
    /// No scheduler is running, or it does not answer.
    fn reservations(&mut self) -> Result<ReservationTable, CpuError>;

    /// The CPUs on which a task may run.
    ///
    /// # Errors
    /// The task does not exist.
    fn allowed_cpus(&self, pid: u32) -> Result<Vec<u32>, CpuError>;

    /// Tries once to reserve. The reservation starts immediately, which requires that no job of another
    /// reservation is pending on that CPU; a `deferrable` one may start later.
    ///
    /// # Errors
    /// The reservation does not fit (the error names what would), the task does not exist, or it is
    /// already reserved.
    fn try_reserve(
        &mut self,
        request: &ReservationRequest,
        deferrable: bool,
    ) -> Result<ReserveOutcome, CpuError>;

    /// Ends the reservation of a task; the task continues as best effort.
    ///
    /// # Errors
    /// The task does not exist, or it is not reserved.
    fn release(&mut self, pid: u32) -> Result<(), CpuError>;

    /// The reservation that a task belongs to.
    ///
    /// # Errors
    /// The task does not exist, or no scheduler is running.
    fn find(&mut self, pid: u32) -> Result<Option<ReservationStatus>, CpuError>;
}

/// The result of one attempt to reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveOutcome {
    /// The reservation is placed.
    Placed {
        /// The CPU.
        cpu: u32,
        /// The time until it is in force: a deferred reservation starts after best effort has given
        /// back the time that it used ahead.
        in_force_after: Duration,
    },
    /// The reservation fits, but released bandwidth still drains or it cannot start immediately: retry
    /// after this time.
    RetryAfter(Duration),
}

/// The state that an admission decision depends on.
#[derive(Clone, Debug)]
pub struct ReservationTable {
    /// The policy, which determines the share left to best effort.
    pub policy: Policy,
    /// The number of CPUs.
    pub cpus: u32,
    /// Each reservation, and the user to whose share it counts.
    pub placed: Vec<(PlacedReservation, u32)>,
}

/// A reservation and its deadline statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservationStatus {
    /// The task that it was made for, as a PID in the namespace of the caller; `None` where that
    /// namespace does not contain it, as for a task of another container.
    pub pid: Option<u32>,
    /// The user to whose share it counts.
    pub owner: u32,
    /// Its CPU, budget and period.
    pub placed: PlacedReservation,
    /// Whether children share it.
    pub inherited: bool,
    /// The number of tasks that share it.
    pub tasks: u64,
    /// The number of periods in which work within the budget ended after the deadline.
    pub deadline_misses: u64,
    /// The greatest lateness of such work, in ns.
    pub max_lateness_ns: u64,
}
