//! The policies that the headers have, and the compared state.
#![allow(dead_code, reason = "not every test compares all of it")]

use laxity_core::{Span, Time};
use laxity_cpu::berate::{self, BeRate};
use laxity_cpu::servers::Servers;
use laxity_cpu::{Admitted, Attributes, CpuId, Pick, Policy, Refusal, Reservation, Service};
use laxity_cpu::{Share, TaskId, bebs};

/// Tasks there may be.
pub const TASKS: u32 = 12;

/// A policy that the headers have, and what they show of it.
pub trait Shown: Policy {
    /// Whether tasks can share.
    fn has_groups(&self) -> bool {
        false
    }
    /// The share that reservations leave.
    fn best_effort(&mut self, now: Time) -> Share;
    /// Budget, period and deadline of a task that is there.
    fn of(&self, task: TaskId) -> Option<(Span, Span, Time)>;
}

impl Shown for Servers {
    fn has_groups(&self) -> bool {
        true
    }

    fn best_effort(&mut self, _: Time) -> Share {
        Servers::best_effort(self)
    }

    fn of(&self, task: TaskId) -> Option<(Span, Span, Time)> {
        self.server_of(task)
    }
}

impl Shown for Box<dyn Shown> {
    fn best_effort(&mut self, now: Time) -> Share {
        (**self).best_effort(now)
    }

    fn of(&self, task: TaskId) -> Option<(Span, Span, Time)> {
        (**self).of(task)
    }
}

/// BeRate below servers for reservations, as the kernel has it: it divides what they leave.
pub struct BelowReservations {
    above: Servers,
    below: BeRate,
    hard: Vec<bool>,
}

/// Of no task: more than all.
const NO_TASK: TaskId = TaskId(30_000);

impl BelowReservations {
    pub fn new(options: &berate::Options) -> BelowReservations {
        BelowReservations::of(bebs::new(&bebs::Options::default()), options)
    }

    pub fn of(above: Servers, options: &berate::Options) -> BelowReservations {
        let hard = vec![false; NO_TASK.index()];
        BelowReservations { above, below: BeRate::new(options), hard }
    }

    /// Books bandwidth that has come back by now, of which only servers know.
    fn settle(&mut self, now: Time) {
        let impossible = Attributes::hard(Reservation::new(Span(2), Span(1)));
        assert!(self.above.join(now, NO_TASK, &impossible).is_err());
        self.below.set_share(self.above.best_effort());
    }

    fn layer(&mut self, now: Time, task: TaskId) -> &mut dyn Policy {
        self.settle(now);
        if self.hard[task.index()] { &mut self.above } else { &mut self.below }
    }
}

impl Policy for BelowReservations {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.hard[task.index()] = matches!(a.service, Service::Hard(_));
        self.layer(now, task).join(now, task, a)
    }

    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        self.layer(now, task).leave(now, task, ran);
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.layer(now, task).change(now, task, a)
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        self.layer(now, task).wake(now, task);
    }

    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        self.layer(now, task).block(now, task, ran);
    }

    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        self.layer(now, task).ran(now, task, ran);
    }

    fn timer(&mut self, now: Time) {
        self.above.timer(now);
    }

    fn next_event(&self) -> Option<Time> {
        self.above.next_event()
    }

    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        self.above.pick(now, cpu).or_else(|| self.below.pick(now, cpu))
    }

    fn execution_estimate(&self, task: TaskId) -> Option<Span> {
        self.below.execution_estimate(task)
    }

    fn set_execution_estimate(&mut self, task: TaskId, learnt: Span) {
        self.below.set_execution_estimate(task, learnt);
    }
}

impl Shown for BelowReservations {
    fn best_effort(&mut self, now: Time) -> Share {
        self.settle(now);
        self.above.best_effort()
    }

    fn of(&self, task: TaskId) -> Option<(Span, Span, Time)> {
        if self.hard[task.index()] {
            return self.above.server_of(task);
        }
        let known = self.below.inferred(task)?;
        Some((known.budget, known.period, known.deadline))
    }
}
