//! A policy as the simulator drives it when a recorded run is replayed from its middle on, on a CPU where a
//! switch takes time.

use std::collections::HashMap;

use laxity_core::{Span, Time};
use laxity_cpu::{Admitted, Attributes, CpuId, Pick, Policy, Refusal, Service, TaskId};
use laxity_kernel::cpu::replay::FIRST_PLACE;

use crate::simulated::RecordedRun;

/// Where those come that it does not know: the place of one that has ended there is not free as soon here.
const NEW: u32 = 10_000;

/// A policy in the kernel's time that knows some of the tasks already, by where the kernel keeps them. A switch
/// is in the turn that it begins, and the policy does not see it.
pub struct Resumed<P> {
    policy: P,
    start: Time,
    /// Of the first tasks, which are as they are.
    slots: Vec<u32>,
    /// By those.
    tasks: HashMap<TaskId, TaskId>,
    /// Of a switch.
    cost: Span,
    /// The task that has the CPU, and what of the switch to it has not passed.
    current: Option<(TaskId, Span)>,
}

impl<P: Policy> Resumed<P> {
    /// Of a policy that has seen all events until `start`.
    pub fn new(policy: P, start: Time, cost: Span, recorded: &RecordedRun) -> Resumed<P> {
        let slots = recorded.slots.clone();
        let tasks = (0..).map(TaskId).zip(&slots).map(|(task, slot)| (TaskId(*slot), task));
        Resumed { tasks: tasks.collect(), slots, ..Resumed::starting_at(policy, start, cost) }
    }

    /// Of one that has seen none.
    pub fn starting_at(policy: P, start: Time, cost: Span) -> Resumed<P> {
        let (slots, tasks) = (Vec::new(), HashMap::new());
        Resumed { policy, start, slots, tasks, cost, current: None }
    }

    fn at(&self, now: Time) -> Time {
        Time(self.start.0 + now.0)
    }

    fn slot(&self, task: TaskId) -> TaskId {
        self.slots.get(task.index()).map_or(TaskId(NEW + task.0), |slot| TaskId(*slot))
    }

    fn since(&self, at: Time) -> Time {
        if at == Time::MAX { at } else { Time(at.since(self.start).0) }
    }

    /// An execution without the cost of the switch before it.
    fn without_switch(&mut self, task: TaskId, ran: Span) -> Span {
        let Some((_, owed)) = self.current.as_mut().filter(|(of, _)| *of == task) else {
            return ran;
        };
        let passed = ran.min(*owed);
        *owed = Span(owed.0 - passed.0);
        Span(ran.0 - passed.0)
    }
}

impl<P: Policy> Policy for Resumed<P> {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let (at, slot) = (self.at(now), self.slot(task));
        if task.index() < self.slots.len() {
            return Ok(Admitted { from: now });
        }
        let joined = self.policy.join(at, slot, a)?;
        if let (Service::Hard(_), Some(group)) = (a.service, a.group) {
            self.policy.leave(at, TaskId(FIRST_PLACE + group.0), Span::ZERO);
        }
        Ok(Admitted { from: self.since(joined.from) })
    }
    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        let ran = self.without_switch(task, ran);
        self.policy.leave(self.at(now), self.slot(task), ran);
    }
    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let changed = self.policy.change(self.at(now), self.slot(task), a)?;
        Ok(Admitted { from: self.since(changed.from) })
    }
    fn wake(&mut self, now: Time, task: TaskId) {
        self.policy.wake(self.at(now), self.slot(task));
    }
    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        let ran = self.without_switch(task, ran);
        self.policy.block(self.at(now), self.slot(task), ran);
    }
    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        let ran = self.without_switch(task, ran);
        self.policy.ran(self.at(now), self.slot(task), ran);
    }
    fn timer(&mut self, now: Time) {
        self.policy.timer(self.at(now));
    }
    fn next_event(&self) -> Option<Time> {
        self.policy.next_event().map(|at| self.since(at))
    }
    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        let Some(pick) = self.policy.pick(self.at(now), cpu) else {
            self.current = None;
            return None;
        };
        let known = self.tasks.get(&pick.task).copied();
        let task = known.unwrap_or_else(|| TaskId(pick.task.0 - NEW));
        let same = self.current.filter(|(before, _)| *before == task);
        let (_, owed) = *self.current.insert(same.unwrap_or((task, self.cost)));
        Some(Pick { task, until: self.since(pick.until) + owed })
    }
}
