//! Requests to the running scheduler (`bpf/scx/control.h`).

use std::time::Duration;

use laxity_core::Span;
use laxity_cpu::{Reservation, Share};
use libbpf_rs::{MapCore as _, MapFlags, Object};

use super::load::{kernel_error, load_control_programs, run};
use super::{
    CpuError, CpuStatus, Inferred, Overheads, PlacedReservation, Policy, ReservationRequest, system,
};
use crate::layout::Field;
use crate::layout::cpu::{
    LX_MAX_RESERVATIONS, lx_ended, lx_report, lx_request, lx_reservation, lx_setup, lx_task_report,
    lx_totals, lxc_policy_change,
};

/// The programs.
pub(super) const RESERVE: &str = "laxity_reserve";
pub(super) const RELEASE: &str = "laxity_release";
pub(super) const FIND: &str = "laxity_find";
pub(super) const REPORT: &str = "laxity_report";
pub(super) const TASK: &str = "laxity_task";
pub(super) const CHANGE: &str = "laxity_change";

/// Control programs, loaded over the maps of the running scheduler.
pub(super) struct ControlPrograms {
    object: Object,
}

/// A reservation in the scheduler's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Counted from one.
    pub number: u32,
    pub placed: PlacedReservation,
    pub inherited: bool,
    /// The user to whose share it counts.
    pub owner: u32,
}

/// As `struct lx_report`: the state of a CPU, and of a reservation there.
pub(super) struct Report {
    pub cpu: CpuStatus,
    pub members: u64,
    pub deadline_misses: u64,
    pub max_lateness_ns: u64,
    pub pid: Option<u32>,
}

/// A request about a task.
pub(super) struct Request {
    pub reserve: ReservationRequest,
    /// What is added to the budget for switches and the release.
    pub overhead: Span,
    pub cpu: u32,
    /// Whether it may start later if it cannot start immediately.
    pub deferrable: bool,
}

impl Request {
    /// A request that only names a task.
    fn about(pid: u32) -> Request {
        Request {
            reserve: ReservationRequest::empty(pid),
            overhead: Span::ZERO,
            cpu: 0,
            deferrable: false,
        }
    }
}

/// Answers of requests by their numbers: errors of Linux, which go by these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The time until it is in force; and the number of the reservation, if requested.
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

impl ControlPrograms {
    /// Loads these control programs.
    pub(super) fn new(programs: &[&str]) -> Result<ControlPrograms, CpuError> {
        Ok(ControlPrograms { object: load_control_programs(programs)? })
    }

    /// All control programs, of a scheduler that was just started.
    pub(super) fn of(object: Object) -> ControlPrograms {
        ControlPrograms { object }
    }

    /// Resets the deadline misses and the maxima of each CPU.
    pub(super) fn reset_maxima(&self) -> Result<(), CpuError> {
        for cpu in 0..system::cpus()? {
            self.report_and_reset(cpu, 0, true)?;
        }
        Ok(())
    }

    fn call(&self, name: &str, context: &mut [u8]) -> Result<(), CpuError> {
        run(&self.object, name, context)
    }

    fn request(&self, name: &str, request: &Request) -> Result<Answer, CpuError> {
        let Request { reserve, overhead, cpu, deferrable } = request;
        let ReservationRequest { pid, reservation, inherit, owner } = reserve;
        let mut context = [0; lx_request::SIZEOF];
        lx_request::BUDGET.set_u64(&mut context, (reservation.budget + *overhead).0);
        lx_request::PERIOD.set_u64(&mut context, reservation.period.0);
        lx_request::OVERHEAD.set_u64(&mut context, overhead.0);
        lx_request::PID.set_u32(&mut context, *pid);
        lx_request::CPU.set_u32(&mut context, *cpu);
        lx_request::INHERIT.set_u32(&mut context, (*inherit).into());
        lx_request::OWNER.set_u32(&mut context, *owner);
        lx_request::DEFERRABLE.set_u32(&mut context, (*deferrable).into());
        lx_request::ERROR.set_u32(&mut context, u32::MAX);
        self.call(name, &mut context)?;
        match lx_request::ERROR.u32(&context) {
            0 => Ok(Answer::Done {
                from: Duration::from_nanos(lx_request::DELAY.u64(&context)),
                number: lx_request::NUMBER.u32(&context),
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
        self.report_and_reset(cpu, reservation, false)
    }

    /// The same; with `reset` the deadline misses and the maxima of the CPU are reset.
    fn report_and_reset(
        &self,
        cpu: u32,
        reservation: u32,
        reset: bool,
    ) -> Result<Report, CpuError> {
        let mut context = [0; lx_report::SIZEOF];
        lx_report::CPU.set_u32(&mut context, cpu);
        lx_report::RESERVATION.set_u32(&mut context, reservation);
        lx_report::RESET.set_u64(&mut context, reset.into());
        self.call(REPORT, &mut context)?;
        let [deadline_misses, max_lateness_ns, pid] =
            [lx_report::DEADLINE_MISSES, lx_report::MAX_LATENESS_NS, lx_report::PID]
                .map(|field| field.u64(&context));
        if lx_report::RESET.u64(&context) != 0 {
            return Err(CpuError::State("the scheduler cannot reset its maxima"));
        }
        Ok(Report {
            cpu: CpuStatus {
                cpu,
                reserved: Share(lx_report::RESERVED_BW.u64(&context)),
                total_weight: lx_report::TOTAL_WEIGHT.u64(&context),
                servers: lx_report::SERVERS.u64(&context),
                switches: lx_report::SWITCHES.u64(&context),
                steals: lx_report::STEALS.u64(&context),
                max_overrun_ns: lx_report::MAX_OVERRUN_NS.u64(&context),
                max_release_lateness_ns: lx_report::MAX_RELEASE_LATENESS_NS.u64(&context),
                deadline_misses: if reservation == 0 { deadline_misses } else { 0 },
                max_lateness_ns: if reservation == 0 { max_lateness_ns } else { 0 },
            },
            members: lx_report::MEMBERS.u64(&context),
            deadline_misses,
            max_lateness_ns,
            pid: Some(pid as u32).filter(|pid| *pid != 0),
        })
    }

    fn value(&self, map: &str, key: u32) -> Result<Vec<u8>, CpuError> {
        let map = self.object.maps().find(|m| m.name() == map);
        let map = map.ok_or(CpuError::State("the object lacks a map"))?;
        let value = map.lookup(&key.to_ne_bytes(), MapFlags::ANY).map_err(kernel_error)?;
        Ok(value.unwrap_or_default())
    }

    /// All reservations in force.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, CpuError> {
        let mut entries = Vec::new();
        for at in 0..LX_MAX_RESERVATIONS as u32 {
            let value = self.value("reservations", at)?;
            if lx_reservation::IN_USE.u32(&value) == 0 {
                continue;
            }
            let budget = Span(lx_reservation::BUDGET.u64(&value));
            let period = Span(lx_reservation::PERIOD.u64(&value));
            let reservation = Reservation::new(budget, period);
            let overhead = Span(lx_reservation::OVERHEAD.u64(&value));
            entries.push(Entry {
                number: at + 1,
                placed: PlacedReservation {
                    cpu: lx_reservation::CPU.u32(&value),
                    reservation,
                    overhead,
                },
                inherited: lx_reservation::INHERIT.u32(&value) != 0,
                owner: lx_reservation::OWNER.u32(&value),
            });
        }
        Ok(entries)
    }

    /// Inferred parameters of tasks without a reservation that ran lately.
    pub(super) fn inferred(&self) -> Result<Vec<Inferred>, CpuError> {
        let mut tasks = Vec::new();
        let (mut slot, mut slots) = (0, 1);
        while slot < slots {
            let mut context = [0; lx_task_report::SIZEOF];
            lx_task_report::SLOT.set_u32(&mut context, slot);
            self.call(TASK, &mut context)?;
            slots = lx_task_report::SLOTS.u32(&context);
            let pid = lx_task_report::PID.u32(&context);
            if pid != 0 {
                tasks.push(Inferred {
                    pid,
                    cpu: lx_task_report::CPU.u32(&context),
                    budget: Span(lx_task_report::BUDGET.u64(&context)),
                    period: Span(lx_task_report::PERIOD.u64(&context)),
                });
            }
            slot += 1;
        }
        Ok(tasks)
    }

    /// The policy in force.
    pub(super) fn policy(&self) -> Result<Policy, CpuError> {
        let setup = self.value(".data.setup", 0)?;
        let best_effort_min = Share(lx_setup::BEST_EFFORT_BW_MIN.u64(&setup));
        let rules = lx_setup::RULES.of(&setup);
        let policy = Policy::numbered(lx_setup::POLICY.u32(&setup), rules, best_effort_min)?;
        Ok(policy.with_overheads(Overheads {
            switch: Span(lx_setup::SWITCH_OVERHEAD.u64(&setup)),
            release: Span(lx_setup::RELEASE_OVERHEAD.u64(&setup)),
            ..Overheads::default()
        }))
    }

    /// Another policy for all tasks.
    pub(super) fn change(&self, policy: &Policy) -> Result<(), CpuError> {
        let mut context = [0; lxc_policy_change::SIZEOF];
        lxc_policy_change::RULES.set(&mut context, &policy.rules()?.image());
        lxc_policy_change::BEST_EFFORT_BW_MIN.set_u64(&mut context, policy.best_effort_min().0);
        let Overheads { switch, release, .. } = policy.overheads();
        lxc_policy_change::SWITCH_OVERHEAD.set_u64(&mut context, switch.0);
        lxc_policy_change::RELEASE_OVERHEAD.set_u64(&mut context, release.0);
        lxc_policy_change::POLICY.set_u32(&mut context, policy.number);
        self.call(CHANGE, &mut context)?;
        let changed = lxc_policy_change::CHANGED.u32(&context);
        if changed == system::cpus()? {
            return Ok(());
        }
        Err(CpuError::Kernel {
            what: "change the policy of all CPUs",
            why: format!("it changed that of {changed}"),
        })
    }

    /// Tasks without a place, runs of reserved tasks on another CPU, chosen tasks that migrated,
    /// locks that could not be got, the longest wait for one in ns.
    pub(super) fn totals(&self) -> Result<[u64; 5], CpuError> {
        let value = self.value(".data.totals", 0)?;
        let fields = [
            lx_totals::UNACCOUNTED,
            lx_totals::ELSEWHERE,
            lx_totals::ABSENT,
            lx_totals::UNLOCKED,
            lx_totals::WAITED,
        ];
        Ok(fields.map(|field| field.u64(&value)))
    }

    /// Why the kernel ended the scheduler.
    pub(super) fn exit_reason(&self) -> Result<String, CpuError> {
        let value = self.value(".data.ended", 0)?;
        let text = |field: Field| {
            let bytes = field.of(&value);
            let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        let (reason, message) = (text(lx_ended::REASON), text(lx_ended::MESSAGE));
        Ok(match (reason.is_empty(), message.is_empty()) {
            (true, _) => "for a reason that it does not give".to_owned(),
            (_, true) => reason,
            _ => format!("{reason}: {message}"),
        })
    }
}
