//! Reservations of the running scheduler: asked for, found, given back.

use std::time::Duration;

use laxity_cpu::Reservation;

use super::live::{attend, reserved};
use super::requests::{Answer, Attendant, FIND, RELEASE, REPORT, RESERVE, Request};
use super::{
    Attempt, CpuError, Held, Keeper, Policy, Reserved, Table, Wish, check, place, settle, system,
};

/// A share that was given back comes free when it has not been used ahead, within its period. So
/// often it is looked at.
const STEP: Duration = Duration::from_millis(50);
/// Jobs of other reservations were pending; periods are rarely multiples of this.
const MOMENT: Duration = Duration::from_micros(3_700);

/// Asks the scheduler of this machine. The programs that answer stay loaded between them; when
/// another scheduler has come up, they are loaded again.
pub struct Desk {
    programs: &'static [&'static str],
    open: Option<Open>,
}

struct Open {
    identity: Option<u64>,
    policy: Policy,
    attendant: Attendant,
}

impl Default for Desk {
    fn default() -> Desk {
        Desk::only(&[RESERVE, RELEASE, FIND, REPORT])
    }
}

impl Desk {
    /// For some requests only: the kernel verifies what is loaded.
    pub(super) fn only(programs: &'static [&'static str]) -> Desk {
        Desk { programs, open: None }
    }

    fn open(&mut self) -> Result<&Open, CpuError> {
        let identity = system::identity();
        let open = match self.open.take().filter(|o| identity.is_some() && o.identity == identity) {
            Some(open) => Open { policy: open.attendant.policy()?, ..open },
            None => {
                let (policy, attendant) = attend(self.programs)?;
                Open { identity, policy, attendant }
            }
        };
        Ok(self.open.insert(open))
    }

    /// The policy that is up, and who answers for it.
    pub(super) fn asking(&mut self) -> Result<(&Policy, &Attendant), CpuError> {
        self.open().map(|open| (&open.policy, &open.attendant))
    }
}

impl Keeper for Desk {
    fn table(&mut self) -> Result<Table, CpuError> {
        let cpus = system::online()?.len() as u32;
        let open = self.open()?;
        let held = open.attendant.entries()?.iter().map(|e| (e.held, e.owner)).collect();
        Ok(Table { policy: open.policy.clone(), cpus, held })
    }

    fn allowed(&self, pid: u32) -> Result<Vec<u32>, CpuError> {
        system::allowed(pid)
    }

    fn attempt(&mut self, wish: &Wish, deferrable: bool) -> Result<Attempt, CpuError> {
        check(wish.reservation)?;
        let pid = wish.pid;
        let open = self.open()?;
        let _lock = system::lock()?;
        let allowed = system::allowed(pid)?;
        let held: Vec<Held> = open.attendant.entries()?.iter().map(|e| e.held).collect();
        let cpu = place(&open.policy, &held, wish.reservation, &allowed)?;
        match open.attendant.reserve(&Request { wish: *wish, cpu, deferrable })? {
            Answer::Done { from, .. } => Ok(Attempt::Placed { cpu, after: from }),
            Answer::NoRoom => Ok(Attempt::Settling(STEP)),
            Answer::NotNow => Ok(Attempt::Settling(MOMENT)),
            Answer::NoTask => Err(CpuError::NoTask { pid }),
            Answer::HasOne => Err(CpuError::HasOne),
            Answer::Elsewhere => Err(CpuError::Affinity("the task may no longer run on that CPU")),
            Answer::TooMany | Answer::HasNone => Err(CpuError::NoPlace),
        }
    }

    fn release(&mut self, pid: u32) -> Result<(), CpuError> {
        match self.open()?.attendant.release(pid)? {
            Answer::Done { .. } => Ok(()),
            Answer::NoTask => Err(CpuError::NoTask { pid }),
            Answer::HasOne => Err(CpuError::Pending),
            _ => Err(CpuError::HasNone),
        }
    }

    fn find(&mut self, pid: u32) -> Result<Option<Reserved>, CpuError> {
        let attendant = &self.open()?.attendant;
        let number = attendant.find(pid)?;
        let entries = attendant.entries()?;
        let entry = entries.iter().find(|e| e.number == number);
        entry.map(|entry| reserved(attendant, entry)).transpose()
    }
}

/// Reserves CPU time for a task, and with `inherit` for the children that it will have. Answers on
/// which CPU, once it is in force there. The reservation ends with the last of its tasks.
///
/// # Errors
/// As [`Keeper::attempt`].
pub fn reserve(pid: u32, asked: Reservation, inherit: bool) -> Result<u32, CpuError> {
    let wish = Wish { pid, reservation: asked, inherit, owner: 0 };
    let mut desk = Desk::only(&[RESERVE]);
    settle(|deferrable| desk.attempt(&wish, deferrable))?.ok_or(CpuError::Settling)
}

/// Ends a task's reservation; the task goes on as best effort.
///
/// # Errors
/// As [`Keeper::release`].
pub fn release(pid: u32) -> Result<(), CpuError> {
    Desk::only(&[RELEASE]).release(pid)
}
