//! The status of the running scheduler, read repeatedly.

use super::live::reservation_status;
use super::requests::{REPORT, TASK};
use super::scheduler_client::SchedulerClient;
use super::{CpuError, Status, system};

/// Reads the status of the scheduler of this machine. It keeps the control programs loaded between
/// reads, since the kernel verifies and compiles them on each load.
pub struct StatusMonitor(SchedulerClient);

impl Default for StatusMonitor {
    fn default() -> StatusMonitor {
        StatusMonitor(SchedulerClient::with_programs(&[REPORT, TASK]))
    }
}

impl StatusMonitor {
    /// The current status.
    ///
    /// # Errors
    /// The scheduler is not running, the kernel ended it, or it does not answer.
    pub fn status(&mut self) -> Result<Status, CpuError> {
        let (policy, control) = self.0.control()?;
        let mut cpus = Vec::new();
        for cpu in 0..system::cpus()? {
            cpus.push(control.report(cpu, 0)?.cpu);
        }
        let mut reservations = Vec::new();
        for entry in control.entries()? {
            reservations.push(reservation_status(control, &entry)?);
        }
        let inferred = control.inferred()?;
        let [unaccounted, misplaced_runs, absent, unlocked, waited] = control.totals()?;
        Ok(Status {
            options: policy.options(),
            overheads: policy.overheads(),
            policy: policy.name.to_owned(),
            cpus,
            reservations,
            inferred,
            unaccounted,
            misplaced_runs,
            absent,
            unlocked,
            waited,
        })
    }

    /// Resets the deadline misses and the maxima of each CPU.
    ///
    /// # Errors
    /// As [`StatusMonitor::status`].
    pub fn reset_maxima(&mut self) -> Result<(), CpuError> {
        self.0.control()?.1.reset_maxima()
    }
}

/// The current status, read once.
///
/// # Errors
/// As [`StatusMonitor::status`].
pub fn status() -> Result<Status, CpuError> {
    StatusMonitor::default().status()
}
