//! `SCHED_DEADLINE` of Linux: EDF over hard constant bandwidth servers that reclaim unused
//! bandwidth by GRUB, above a time-share policy.

use laxity_core::{OptionInfo, OptionKind, PolicyInfo, Span, Time};

use crate::admission::Ledger;
use crate::order::Order;
use crate::posix::BELOW;
use crate::queue::Queue;
use crate::table::Table;
use crate::{
    Admitted, Attributes, CpuId, Pick, Policy, Refusal, Reservation, Service, Share, TaskId,
};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "sched-deadline",
    summary: "Reservations by earliest deadline, throttled when used up unless others leave \
              bandwidth; the rest below them.",
    source: "Linux SCHED_DEADLINE; Abeni, Lelli, Scordino, Palopoli 2014 (GRUB)",
    // Deadlines are met without `reclaim`, and for tasks that stay within their budgets. Reclaimed
    // bandwidth is not available to a task that wakes or joins before the period is over, least of
    // all when deadlines are shorter than periods; the kernel does not guarantee more.
    keeps_deadlines: false,
    live: &[],
    options: &[
        OptionInfo {
            name: "reclaim",
            kind: OptionKind::Bool,
            required: false,
            default: "true",
            example: "true",
            summary: "Whether reservations may use bandwidth that others leave (GRUB).",
            reference: None,
        },
        OptionInfo { default: "eevdf", example: "\"eevdf\"", ..BELOW },
    ],
    table: options_table!("sched-deadline", "{ reclaim = false }"),
};

/// The greatest reserved share of a CPU: 95 %, rounded up, so that exactly 95 % fits.
const MAX_RESERVED: Share = Share::ONE.minus(Share::per_mille(50));

/// Reservations on one CPU.
#[derive(Clone, Debug)]
pub struct SchedDeadline {
    reclaim: bool,
    tasks: Table<Entity>,
    ledger: Ledger,
    ready: Order,
    /// Throttled tasks by the start of their next period.
    throttled: Queue,
    /// Sleeping tasks by the time until which they are active (non-contending).
    inactive: Queue,
    /// The sum of the shares of active tasks.
    active: Share,
}

#[derive(Clone, Debug)]
struct Entity {
    reservation: Reservation,
    share: Share,
    remaining_budget: u64,
    deadline: u64,
    runnable: bool,
    active: bool,
}

impl SchedDeadline {
    /// No tasks yet.
    pub fn new(reclaim: bool) -> SchedDeadline {
        SchedDeadline {
            reclaim,
            tasks: Table::new(),
            ledger: Ledger::default(),
            ready: Order::default(),
            throttled: Queue::default(),
            inactive: Queue::default(),
            active: Share::ZERO,
        }
    }

    fn reservation(a: &Attributes) -> Result<Reservation, Refusal> {
        match a.service {
            Service::Hard(r) | Service::Soft(r) => Ok(r),
            Service::BestEffort => Err(Refusal::NothingLeft),
        }
    }

    /// The speed at which budgets are used, as `speed / MAX_RESERVED`.
    fn speed(&self, share: Share) -> Share {
        if self.reclaim { self.active.max(share).min(MAX_RESERVED) } else { MAX_RESERVED }
    }

    fn activate(&mut self, task: TaskId) {
        self.inactive.remove(task.0);
        if let Some(e) = self.tasks.get_mut(task).filter(|e| !e.active) {
            e.active = true;
            self.active = self.active.plus(e.share);
        }
    }

    fn deactivate(&mut self, task: TaskId) {
        self.inactive.remove(task.0);
        if let Some(e) = self.tasks.get_mut(task).filter(|e| e.active) {
            e.active = false;
            self.active = self.active.minus(e.share);
        }
    }

    /// Throttles a task whose budget is exhausted until its next period starts, which may be now.
    fn throttle(&mut self, now: u64, task: TaskId) {
        let Some(e) = self.tasks.get_mut(task) else { return };
        let Reservation { period, deadline, .. } = e.reservation;
        let next = e.deadline.saturating_sub(deadline.0).saturating_add(period.0);
        if next <= now {
            self.replenish(task);
        } else {
            self.ready.leave(task.0);
            self.throttled.set(task.0, next, 0);
        }
    }

    fn replenish(&mut self, task: TaskId) {
        let Some(e) = self.tasks.get_mut(task) else { return };
        e.remaining_budget = e.reservation.budget.0;
        e.deadline = e.deadline.saturating_add(e.reservation.period.0);
        if e.runnable {
            self.ready.enter(task.0, e.deadline);
        }
    }

    fn charge(&mut self, task: TaskId, ran: Span) {
        let Some(share) = self.tasks.get(task).map(|e| e.share) else { return };
        let used = u128::from(ran.0) * u128::from(self.speed(share).0);
        let used = used.div_ceil(u128::from(MAX_RESERVED.0)) as u64;
        if let Some(e) = self.tasks.get_mut(task) {
            e.remaining_budget = e.remaining_budget.saturating_sub(used);
        }
    }
}

impl Policy for SchedDeadline {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let reservation = SchedDeadline::reservation(a)?;
        if self.tasks.get(task).is_some() {
            return Err(Refusal::Known(task));
        }
        self.ledger.admit(None, reservation, Share::ONE.minus(MAX_RESERVED))?;
        let entity = Entity {
            reservation,
            share: Share::up(reservation.budget, reservation.period),
            remaining_budget: 0,
            deadline: 0,
            runnable: false,
            active: false,
        };
        let reach = self.tasks.join(task, entity)?;
        self.ready.reserve(reach);
        self.throttled.reserve(reach);
        self.inactive.reserve(reach);
        self.ledger.set(task.0, Some(reservation));
        Ok(Admitted { from: now })
    }

    fn leave(&mut self, _: Time, task: TaskId, _: Span) {
        // The kernel frees the bandwidth at the zero-lag time. Freeing it at once is safe here: no
        // task below has a guarantee, and the ledger is consulted only when another task joins.
        self.deactivate(task);
        self.ready.leave(task.0);
        self.throttled.remove(task.0);
        if self.tasks.leave(task).is_some() {
            self.ledger.set(task.0, None);
        }
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let reservation = SchedDeadline::reservation(a)?;
        self.tasks.known(task)?;
        self.ledger.admit(Some(task.0), reservation, Share::ONE.minus(MAX_RESERVED))?;
        self.ledger.set(task.0, Some(reservation));
        let active = self.tasks.known(task)?.active;
        self.deactivate(task);
        let entity = self.tasks.known(task)?;
        entity.reservation = reservation;
        entity.share = Share::up(reservation.budget, reservation.period);
        if active {
            self.activate(task);
        }
        Ok(Admitted { from: now })
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        self.activate(task);
        let Some(e) = self.tasks.get_mut(task).filter(|e| !e.runnable) else { return };
        e.runnable = true;
        if self.throttled.key(task.0).is_some() {
            return;
        }
        let Reservation { budget, period, deadline } = e.reservation;
        let until = e.deadline.saturating_sub(now.0);
        // The remaining budget exceeds the share until the deadline: c / (d - t) > b / D.
        let over = u128::from(e.remaining_budget) * u128::from(deadline.0)
            > u128::from(until) * u128::from(budget.0);
        let start = e.deadline.saturating_sub(deadline.0);
        if e.reservation.is_constrained()
            && e.deadline > 0
            && now.0 < start.saturating_add(period.0)
        {
            // One job a period, as admission by demand assumes.
            e.remaining_budget = 0;
            self.throttle(now.0, task);
        } else {
            if until == 0 || over {
                e.remaining_budget = budget.0;
                e.deadline = now.0.saturating_add(deadline.0);
            }
            self.ready.enter(task.0, e.deadline);
            if e.remaining_budget == 0 {
                self.throttle(now.0, task);
            }
        }
    }

    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        self.charge(task, ran);
        self.ready.leave(task.0);
        let Some(e) = self.tasks.get_mut(task) else { return };
        e.runnable = false;
        let Reservation { budget, deadline, .. } = e.reservation;
        let unused = u128::from(e.remaining_budget) * u128::from(deadline.0) / u128::from(budget.0);
        let zero_lag = e.deadline.saturating_sub(unused as u64);
        if zero_lag <= now.0 {
            self.deactivate(task);
        } else {
            self.inactive.set(task.0, zero_lag, 0);
        }
    }

    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        self.charge(task, ran);
        if self.tasks.get(task).is_some_and(|e| e.runnable && e.remaining_budget == 0) {
            self.throttle(now.0, task);
        }
    }

    fn timer(&mut self, now: Time) {
        while let Some((_, task)) = self.inactive.first().filter(|(at, _)| *at <= now.0) {
            self.deactivate(TaskId(task));
        }
        while let Some((_, task)) = self.throttled.first().filter(|(at, _)| *at <= now.0) {
            self.throttled.remove(task);
            self.replenish(TaskId(task));
        }
    }

    fn next_event(&self) -> Option<Time> {
        match (self.inactive.first(), self.throttled.first()) {
            (Some((a, _)), Some((b, _))) => Some(Time(a.min(b))),
            (a, b) => a.or(b).map(|(at, _)| Time(at)),
        }
    }

    fn pick(&mut self, now: Time, _: CpuId) -> Option<Pick> {
        let task = TaskId(self.ready.choose()?);
        let entity = self.tasks.get(task)?;
        let speed = u128::from(self.speed(entity.share).0);
        let length =
            u128::from(entity.remaining_budget) * u128::from(MAX_RESERVED.0) / speed.max(1);
        Some(Pick { task, until: now + Span((length as u64).max(1)) })
    }
}
