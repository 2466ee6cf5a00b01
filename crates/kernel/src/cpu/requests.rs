//! What is asked of the running scheduler, as `bpf/scx/requests.h` has it.

use std::time::Duration;

use laxity_core::Span;
use laxity_cpu::{Reservation, Share};
use libbpf_rs::{MapCore as _, MapFlags, Object};

use super::load::{attend, refused, run};
use super::{CpuError, CpuStatus, Held, Inferred, POLICIES, Policy, Wish, system};
use crate::struct_writer::StructWriter;

/// The programs.
pub(super) const RESERVE: &str = "laxity_reserve";
pub(super) const RELEASE: &str = "laxity_release";
pub(super) const FIND: &str = "laxity_find";
pub(super) const REPORT: &str = "laxity_report";
pub(super) const TASK: &str = "laxity_task";
pub(super) const CHANGE: &str = "laxity_change";

/// Where the policy's number stands in the setup: behind rules, a share and an address.
const POLICY_AT: usize = 104;
/// Reservations there may be.
const RESERVATIONS: u32 = 256;

/// The programs that answer.
pub(super) struct Attendant {
    object: Object,
}

/// A reservation in the scheduler's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Counted from one.
    pub number: u32,
    pub held: Held,
    pub inherited: bool,
    /// The user to whose share it counts.
    pub owner: u32,
}

/// As `struct lx_report`: what was asked about a CPU, and about a reservation there.
pub(super) struct Report {
    pub cpu: CpuStatus,
    pub members: u64,
    pub late: u64,
    pub latest: u64,
    pub pid: Option<u32>,
}

/// What was asked for a task.
pub(super) struct Request {
    pub wish: Wish,
    pub cpu: u32,
    /// If it cannot begin at once, it shall begin later.
    pub patient: bool,
}

impl Request {
    /// That only names a task.
    fn about(pid: u32) -> Request {
        Request { wish: Wish::nothing(pid), cpu: 0, patient: false }
    }
}

/// Answers of requests by their numbers: errors of Linux, which go by these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// In force after so long; and the number of the reservation where that was asked.
    Done {
        from: Duration,
        number: u32,
    },
    /// It cannot begin at once.
    NotNow,
    NoTask,
    HasNone,
    HasOne,
    NoRoom,
    Elsewhere,
    TooMany,
}

impl Attendant {
    /// For requests of these kinds.
    pub(super) fn new(programs: &[&str]) -> Result<Attendant, CpuError> {
        Ok(Attendant { object: attend(programs)? })
    }

    /// All of them, of the scheduler that was just started.
    pub(super) fn of(object: Object) -> Attendant {
        Attendant { object }
    }

    /// What was worst on each CPU is counted from now on.
    pub(super) fn count_anew(&self) -> Result<(), CpuError> {
        for cpu in 0..system::cpus()? {
            self.report_and(cpu, 0, true)?;
        }
        Ok(())
    }

    fn call(&self, name: &str, context: &mut [u8]) -> Result<(), CpuError> {
        run(&self.object, name, context)
    }

    fn request(&self, name: &str, request: &Request) -> Result<Answer, CpuError> {
        let Request { wish: Wish { pid, reservation, inherit, owner }, cpu, patient } = request;
        let mut image = StructWriter::default();
        image.u64(reservation.budget.0).u64(reservation.period.0).u64(0);
        image.u32(*pid).u32(*cpu).u32((*inherit).into()).u32(*owner);
        image.u32(0).u32(u32::MAX).u32((*patient).into()).u32(0);
        let mut context = image.into_bytes();
        self.call(name, &mut context)?;
        match word(&context, 44) {
            0 => Ok(Answer::Done {
                from: Duration::from_nanos(long(&context, 16)),
                number: word(&context, 40),
            }),
            2 => Ok(Answer::HasNone),
            3 => Ok(Answer::NoTask),
            11 => Ok(Answer::NotNow),
            12 => Ok(Answer::TooMany),
            16 => Ok(Answer::HasOne),
            22 => Ok(Answer::Elsewhere),
            28 => Ok(Answer::NoRoom),
            other => Err(CpuError::Kernel {
                what: "answer as expected",
                why: format!("{name}: {other}"),
            }),
        }
    }

    pub(super) fn reserve(&self, request: &Request) -> Result<Answer, CpuError> {
        self.request(RESERVE, request)
    }

    pub(super) fn release(&self, pid: u32) -> Result<Answer, CpuError> {
        self.request(RELEASE, &Request::about(pid))
    }

    /// The number of the reservation that a task is of; zero for none.
    pub(super) fn find(&self, pid: u32) -> Result<u32, CpuError> {
        match self.request(FIND, &Request::about(pid))? {
            Answer::Done { number, .. } => Ok(number),
            _ => Err(CpuError::NoTask { pid }),
        }
    }

    /// About a CPU, and a reservation unless its number is zero.
    pub(super) fn report(&self, cpu: u32, reservation: u32) -> Result<Report, CpuError> {
        self.report_and(cpu, reservation, false)
    }

    /// The same, and if asked for the counts of what was worst on the CPU start at zero again.
    fn report_and(&self, cpu: u32, reservation: u32, anew: bool) -> Result<Report, CpuError> {
        let mut image = StructWriter::default();
        image.u32(cpu).u32(reservation).array(10, 8, [0u64; 10], |i, x| {
            i.u64(x);
        });
        image.u64(anew.into()).u64(0);
        let mut context = image.into_bytes();
        self.call(REPORT, &mut context)?;
        let at = |i: usize| long(&context, 8 + 8 * i);
        if at(10) != 0 {
            return Err(CpuError::State("the scheduler cannot start its counts again"));
        }
        Ok(Report {
            cpu: CpuStatus {
                cpu,
                reserved: Share(at(0)),
                load: at(1),
                servers: at(2),
                switches: at(3),
                taken: at(4),
                overrun: at(5),
                late_release: at(6),
                late: if reservation == 0 { at(8) } else { 0 },
                latest: if reservation == 0 { at(9) } else { 0 },
            },
            members: at(7),
            late: at(8),
            latest: at(9),
            pid: Some(word(&context, 8 + 8 * 11)).filter(|pid| *pid != 0),
        })
    }

    fn value(&self, map: &str, key: u32) -> Result<Vec<u8>, CpuError> {
        let map = self.object.maps().find(|m| m.name() == map);
        let map = map.ok_or(CpuError::State("the object lacks a map"))?;
        let value = map.lookup(&key.to_ne_bytes(), MapFlags::ANY).map_err(refused)?;
        Ok(value.unwrap_or_default())
    }

    /// All reservations in force.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, CpuError> {
        let mut entries = Vec::new();
        for at in 0..RESERVATIONS {
            let value = self.value("reservations", at)?;
            if word(&value, 24) == 0 {
                continue;
            }
            let reservation = Reservation::new(Span(long(&value, 0)), Span(long(&value, 8)));
            entries.push(Entry {
                number: at + 1,
                held: Held { cpu: word(&value, 16), reservation },
                inherited: word(&value, 28) != 0,
                owner: word(&value, 36),
            });
        }
        Ok(entries)
    }

    /// What is inferred of tasks that are not reserved and ran lately.
    pub(super) fn inferred(&self) -> Result<Vec<Inferred>, CpuError> {
        let mut tasks = Vec::new();
        let (mut slot, mut slots) = (0, 1);
        while slot < slots {
            let mut image = StructWriter::default();
            image.u32(slot).u32(0).u32(0).u32(0).u64(0).u64(0);
            let mut context = image.into_bytes();
            self.call(TASK, &mut context)?;
            slots = word(&context, 4);
            let pid = word(&context, 8);
            if pid != 0 {
                let (budget, period) = (Span(long(&context, 16)), Span(long(&context, 24)));
                tasks.push(Inferred { pid, cpu: word(&context, 12), budget, period });
            }
            slot += 1;
        }
        Ok(tasks)
    }

    /// The policy in force.
    pub(super) fn policy(&self) -> Result<Policy, CpuError> {
        let number = word(&self.value(".data.setup", 0)?, POLICY_AT);
        let name = POLICIES.get(number as usize).copied().unwrap_or_default();
        Policy::named(name)
    }

    /// Another policy for all tasks.
    pub(super) fn change(&self, policy: &Policy) -> Result<(), CpuError> {
        let mut image = StructWriter::default();
        image.bytes(&policy.rules()?.image()).u64(policy.kept().0).u32(policy.number()).u32(0);
        let mut context = image.into_bytes();
        self.call(CHANGE, &mut context)?;
        let changed = word(&context, context.len() - 4);
        if changed == system::cpus()? {
            return Ok(());
        }
        Err(CpuError::Kernel {
            what: "change the policy of all CPUs",
            why: format!("it changed that of {changed}"),
        })
    }

    /// Tasks without a place, reserved tasks that ran elsewhere, chosen ones that were not there,
    /// locks that could not be got, the longest wait for one in ns.
    pub(super) fn totals(&self) -> Result<[u64; 5], CpuError> {
        let value = self.value(".data.totals", 0)?;
        Ok([0, 8, 16, 24, 32].map(|at| long(&value, at)))
    }

    /// Why the kernel ended the scheduler.
    pub(super) fn ended(&self) -> Result<String, CpuError> {
        let value = self.value(".data.ended", 0)?;
        let text = |range: std::ops::Range<usize>| {
            let bytes = value.get(range).unwrap_or_default();
            let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        let (reason, message) = (text(8..72), text(72..328));
        Ok(match (reason.is_empty(), message.is_empty()) {
            (true, _) => "for a reason that it does not give".to_owned(),
            (_, true) => reason,
            _ => format!("{reason}: {message}"),
        })
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
    bytes.map_or(0, u32::from_ne_bytes)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..at + 8).and_then(|b| b.try_into().ok());
    bytes.map_or(0, u64::from_ne_bytes)
}
