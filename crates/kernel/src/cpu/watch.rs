//! Looking at the running scheduler, again and again.

use super::desk::Desk;
use super::live::reserved;
use super::requests::{REPORT, TASK};
use super::{CpuError, Status, system};

/// Looks at the scheduler of this machine. The programs that answer stay loaded between looks: the
/// kernel verifies and translates what is loaded, each time.
pub struct Watch(Desk);

impl Default for Watch {
    fn default() -> Watch {
        Watch(Desk::only(&[REPORT, TASK]))
    }
}

impl Watch {
    /// What the scheduler did and holds.
    ///
    /// # Errors
    /// When it is not up, was taken away, or cannot be asked.
    pub fn status(&mut self) -> Result<Status, CpuError> {
        let (policy, attendant) = self.0.asking()?;
        let mut cpus = Vec::new();
        for cpu in 0..system::cpus()? {
            cpus.push(attendant.report(cpu, 0)?.cpu);
        }
        let mut reservations = Vec::new();
        for entry in attendant.entries()? {
            reservations.push(reserved(attendant, &entry)?);
        }
        let inferred = attendant.inferred()?;
        let [unaccounted, elsewhere, absent, unlocked, waited] = attendant.totals()?;
        Ok(Status {
            policy: policy.name.to_owned(),
            cpus,
            reservations,
            inferred,
            unaccounted,
            elsewhere,
            absent,
            unlocked,
            waited,
        })
    }

    /// Counts from now on by how much budgets were overrun and releases late at most.
    ///
    /// # Errors
    /// As [`Watch::status`].
    pub fn reset_worst_cases(&mut self) -> Result<(), CpuError> {
        self.0.asking()?.1.reset_worst_cases()
    }
}

/// What the scheduler did and holds, asked once.
///
/// # Errors
/// As [`Watch::status`].
pub fn status() -> Result<Status, CpuError> {
    Watch::default().status()
}
