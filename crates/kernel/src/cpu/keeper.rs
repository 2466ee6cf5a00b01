//! What decides about reservations needs from the code that keeps them.

use std::thread::sleep;
use std::time::Duration;

use super::{CpuError, Held, Policy, Wish};

/// How often an [`Attempt`] is made that has to wait for what was given back.
pub const SETTLING: u32 = 40;

/// Tries to reserve until what was given back is free and it can be at once, or after half of the
/// attempts whenever it can be, and waits until it is in force. Answers on which CPU; on none when
/// what was given back does not come free, which is [`CpuError::Settling`].
///
/// # Errors
/// Those of the attempts.
pub fn settle<E>(mut attempt: impl FnMut(bool) -> Result<Attempt, E>) -> Result<Option<u32>, E> {
    for tried in 0..SETTLING {
        match attempt(tried >= SETTLING / 2)? {
            Attempt::Placed { cpu, after } => {
                sleep(after);
                return Ok(Some(cpu));
            }
            Attempt::Settling(wait) => sleep(wait),
        }
    }
    Ok(None)
}

/// A scheduler that keeps reservations; with the feature `kernel`, `Desk` asks that of this machine.
pub trait Keeper: Send {
    /// What is reserved.
    ///
    /// # Errors
    /// When no scheduler is up, or it cannot be asked.
    fn table(&mut self) -> Result<Table, CpuError>;

    /// CPUs on which a task may run.
    ///
    /// # Errors
    /// When there is no such task.
    fn allowed(&self, pid: u32) -> Result<Vec<u32>, CpuError>;

    /// Tries once to reserve: at once, which is when no job of another reservation is pending there,
    /// or for one that is `deferrable` later if need be.
    ///
    /// # Errors
    /// When it does not fit, with what would; when there is no such task or it has a reservation.
    fn attempt(&mut self, wish: &Wish, deferrable: bool) -> Result<Attempt, CpuError>;

    /// Ends a task's reservation; the task goes on as best effort.
    ///
    /// # Errors
    /// When there is no such task, or it has none.
    fn release(&mut self, pid: u32) -> Result<(), CpuError>;

    /// The reservation that a task is of.
    ///
    /// # Errors
    /// When there is no such task, or no scheduler.
    fn find(&mut self, pid: u32) -> Result<Option<Reserved>, CpuError>;
}

/// What an attempt to reserve came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It is on this CPU, and in force after so long: for one that is deferrable best effort may have
    /// used time ahead, and first gives it back.
    Placed {
        /// The CPU.
        cpu: u32,
        /// So long.
        after: Duration,
    },
    /// It fits, but of what was given back some is still in use, or it cannot be at once: try again
    /// after so long.
    Settling(Duration),
}

/// What is reserved, to decide about more.
#[derive(Clone, Debug)]
pub struct Table {
    /// The policy, which says what best effort is left.
    pub policy: Policy,
    /// CPUs that there are.
    pub cpus: u32,
    /// Each reservation, and the user to whose share it counts.
    pub held: Vec<(Held, u32)>,
}

/// A reservation and how it was kept. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// The task that it was made for, by its number in the PID namespace of the process that asks; none where it is not
    /// seen from there, as another container's.
    pub pid: Option<u32>,
    /// The user to whose share it counts.
    pub owner: u32,
    /// Where, and what.
    pub held: Held,
    /// Whether children are of it too.
    pub inherited: bool,
    /// Tasks that are of it.
    pub tasks: u64,
    /// Periods in which work within the budget ended after the deadline, and by how much at most.
    pub deadline_misses: u64,
    /// See `late`.
    pub max_lateness_ns: u64,
}
