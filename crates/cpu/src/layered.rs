//! One policy above another: hard tasks belong to the upper one, all others to the lower one, which
//! has the remaining CPU time.

use alloc::vec::Vec;

use laxity_core::{Span, Time};

use crate::{
    Admitted, Attributes, Charge, CpuId, Pick, Policy, Refusal, ServerView, Service, TaskId,
};

/// `upper` serves hard tasks and has precedence; `lower` serves the others while `upper` is idle.
#[derive(Clone, Debug, Hash)]
pub struct Layered<A, B> {
    upper: A,
    lower: B,
    places: Vec<Place>,
    /// By CPU: whether the lower policy has it. Grows at the first pick for a CPU.
    lower_has_cpu: Vec<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Nowhere,
    Upper { runnable: bool },
    Lower { runnable: bool },
}

impl<A: Policy, B: Policy> Layered<A, B> {
    /// Puts one above the other.
    pub fn new(upper: A, lower: B) -> Layered<A, B> {
        Layered { upper, lower, places: Vec::new(), lower_has_cpu: alloc::vec![false] }
    }

    /// The upper policy.
    pub fn upper(&self) -> &A {
        &self.upper
    }

    fn place(&mut self, task: TaskId) -> &mut Place {
        if self.places.len() <= task.index() {
            self.places.resize(task.index() + 1, Place::Nowhere);
        }
        &mut self.places[task.index()]
    }

    fn set_runnable(&mut self, task: TaskId, set_runnable: bool) -> Option<&mut dyn Policy> {
        match self.places.get_mut(task.index())? {
            Place::Nowhere => None,
            Place::Upper { runnable } => {
                *runnable = set_runnable;
                Some(&mut self.upper)
            }
            Place::Lower { runnable } => {
                *runnable = set_runnable;
                Some(&mut self.lower)
            }
        }
    }
}

impl<A: Policy, B: Policy> Policy for Layered<A, B> {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        if *self.place(task) != Place::Nowhere {
            return Err(Refusal::Known(task));
        }
        let hard = matches!(a.service, Service::Hard(_));
        let admitted =
            if hard { self.upper.join(now, task, a)? } else { self.lower.join(now, task, a)? };
        *self.place(task) = match hard {
            true => Place::Upper { runnable: false },
            false => Place::Lower { runnable: false },
        };
        Ok(admitted)
    }

    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        if let Some(policy) = self.set_runnable(task, false) {
            policy.leave(now, task, ran);
            *self.place(task) = Place::Nowhere;
        }
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let hard = matches!(a.service, Service::Hard(_));
        let runnable = match *self.place(task) {
            Place::Nowhere => return Err(Refusal::Unknown(task)),
            Place::Upper { .. } if hard => return self.upper.change(now, task, a),
            Place::Lower { .. } if !hard => return self.lower.change(now, task, a),
            Place::Upper { runnable } => {
                self.lower.join(now, task, a)?;
                self.upper.leave(now, task, Span::ZERO);
                *self.place(task) = Place::Lower { runnable };
                if runnable {
                    self.lower.wake(now, task);
                }
                return Ok(Admitted { from: now });
            }
            Place::Lower { runnable } => runnable,
        };
        let admitted = self.upper.join(now, task, a)?;
        self.lower.leave(now, task, Span::ZERO);
        *self.place(task) = Place::Upper { runnable };
        if runnable {
            self.upper.wake(now, task);
        }
        Ok(admitted)
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        if let Some(policy) = self.set_runnable(task, true) {
            policy.wake(now, task);
        }
    }

    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        if let Some(policy) = self.set_runnable(task, false) {
            policy.block(now, task, ran);
        }
    }

    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        match self.places.get(task.index()) {
            Some(Place::Upper { .. }) => self.upper.ran(now, task, ran),
            Some(Place::Lower { .. }) => self.lower.ran(now, task, ran),
            _ => {}
        }
    }

    fn timer(&mut self, now: Time) {
        self.upper.timer(now);
        self.lower.timer(now);
    }

    fn next_event(&self) -> Option<Time> {
        Time::first(self.upper.next_event(), self.lower.next_event())
    }

    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        if self.lower_has_cpu.len() <= cpu.index() {
            self.lower_has_cpu.resize(cpu.index() + 1, false);
        }
        let upper = self.upper.pick(now, cpu);
        let lower_ran = core::mem::replace(&mut self.lower_has_cpu[cpu.index()], upper.is_none());
        if upper.is_some() {
            if lower_ran {
                self.lower.displace(now, cpu);
            }
            return upper;
        }
        self.lower.pick(now, cpu)
    }

    fn displace(&mut self, now: Time, cpu: CpuId) {
        self.upper.displace(now, cpu);
        if self.lower_has_cpu.get(cpu.index()) == Some(&true) {
            self.lower_has_cpu[cpu.index()] = false;
            self.lower.displace(now, cpu);
        }
    }

    fn ran_in_background(&mut self, now: Time, task: TaskId, ran: Span) {
        match self.places.get(task.index()) {
            Some(Place::Upper { .. }) => self.upper.ran_in_background(now, task, ran),
            Some(Place::Lower { .. }) => self.lower.ran_in_background(now, task, ran),
            _ => {}
        }
    }

    fn execution_estimate(&self, task: TaskId) -> Option<Span> {
        match self.places.get(task.index())? {
            Place::Upper { .. } => self.upper.execution_estimate(task),
            Place::Lower { .. } => self.lower.execution_estimate(task),
            Place::Nowhere => None,
        }
    }

    fn set_execution_estimate(&mut self, task: TaskId, execution_estimate: Span) {
        match self.places.get(task.index()) {
            Some(Place::Upper { .. }) => {
                self.upper.set_execution_estimate(task, execution_estimate)
            }
            Some(Place::Lower { .. }) => {
                self.lower.set_execution_estimate(task, execution_estimate)
            }
            _ => {}
        }
    }

    fn servers(&self, now: Time, each: &mut dyn FnMut(&ServerView)) {
        self.upper.servers(now, each);
    }

    fn resets(&self, cluster: u32) -> u64 {
        self.upper.resets(cluster)
    }

    fn charged_to(&self, cpu: CpuId, task: TaskId) -> Charge {
        match self.places.get(task.index()) {
            Some(Place::Upper { .. }) => self.upper.charged_to(cpu, task),
            _ => Charge::Unserved,
        }
    }
}
