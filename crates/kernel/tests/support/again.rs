//! The policy that is asked again what the kernel decided.

use std::collections::HashMap;

use laxity_core::Span;
use laxity_cpu::{Attributes, CpuId, GroupId, Policy as _, Reservation, TaskId};
use laxity_kernel::cpu::record::{Event, EventKind};

use crate::shown::Shown;
use crate::simulated::weighing;

/// The first of the ids that stand for reservations whose task is not there yet.
pub const PLACES: u32 = 20_000;

/// The policy that is asked again.
pub struct Again {
    pub policy: Box<dyn Shown>,
    pub reservations: HashMap<u32, Reservation>,
    /// Decisions, and how many of them chose a task.
    pub decisions: [u32; 2],
    /// Weights that tasks got while they were there.
    pub weights: Vec<u32>,
}

impl Again {
    pub fn new(policy: Box<dyn Shown>) -> Again {
        Again { policy, reservations: HashMap::new(), decisions: [0, 0], weights: Vec::new() }
    }

    fn join(&mut self, event: &Event, task: TaskId, attributes: &Attributes) {
        let joined = self.policy.join(event.at, task, attributes);
        assert!(joined.is_ok(), "{event}: {joined:?}");
    }

    fn of_reservation(&self, number: u32) -> Attributes {
        Attributes::hard(self.reservations[&number]).in_group(GroupId(number))
    }

    pub fn apply(&mut self, event: &Event) {
        let (at, task) = (event.at, event.slot.map(TaskId));
        let of = || task.unwrap_or_else(|| panic!("no task: {event}"));
        match event.kind {
            EventKind::Joined { weight, learnt } => {
                self.join(event, of(), &weighing(weight));
                if learnt > Span::ZERO {
                    self.policy.set_execution_estimate(of(), learnt);
                }
            }
            EventKind::Reserved { number, reservation } => {
                self.reservations.insert(number, reservation);
                self.join(event, TaskId(PLACES + number), &self.of_reservation(number));
            }
            EventKind::Bound { number } => {
                self.join(event, of(), &self.of_reservation(number));
                self.policy.leave(at, TaskId(PLACES + number), Span::ZERO);
            }
            EventKind::Left => self.policy.leave(at, of(), Span::ZERO),
            EventKind::Weighed { weight } => {
                self.weights.push(weight);
                let changed = self.policy.change(at, of(), &weighing(weight));
                assert!(changed.is_ok(), "{event}: {changed:?}");
            }
            EventKind::Woke { by_current: false } => self.policy.wake(at, of()),
            EventKind::Woke { by_current: true } => self.policy.wake_by_running(at, of()),
            EventKind::Blocked => self.policy.block(at, of(), Span::ZERO),
            EventKind::Ran { length } => self.policy.ran(at, of(), length),
            EventKind::Resumed => self.policy.resume(at, of()),
            EventKind::Timer => self.policy.timer(at),
            EventKind::Chosen { left, deadline } => {
                let picked = self.policy.pick(at, CpuId(0));
                let deadline_of = |task| self.policy.of(task).map(|(_, _, d)| d);
                let reference = picked.map(|p| (p.task, p.until.since(at), deadline_of(p.task)));
                let kernel = task.map(|task| (task, left, Some(deadline)));
                assert_eq!(reference, kernel, "decision {:?}: {event}", self.decisions);
                self.decisions[0] += 1;
                self.decisions[1] += u32::from(task.is_some());
            }
            EventKind::Started { .. } | EventKind::Stopped => {}
        }
    }
}
