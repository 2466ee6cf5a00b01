//! One policy above another: hard tasks belong to the upper one, all others to the lower one, which
//! has the remaining CPU time.

use alloc::vec::Vec;

use laxity_core::{Span, Time};

use crate::{Admitted, Attributes, CpuId, Pick, Policy, Refusal, Service, TaskId};

/// `above` serves hard tasks and has precedence; `below` serves the others while `above` is idle.
#[derive(Clone, Debug, Hash)]
pub struct Layered<A, B> {
    above: A,
    below: B,
    places: Vec<Place>,
    /// By CPU: whether the lower policy has it. Grows at the first pick for a CPU.
    lower_has_cpu: Vec<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Nowhere,
    Above { runnable: bool },
    Below { runnable: bool },
}

impl<A: Policy, B: Policy> Layered<A, B> {
    /// Puts one above the other.
    pub fn new(above: A, below: B) -> Layered<A, B> {
        Layered { above, below, places: Vec::new(), lower_has_cpu: alloc::vec![false] }
    }

    /// The upper policy.
    pub fn above(&self) -> &A {
        &self.above
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
            Place::Above { runnable } => {
                *runnable = set_runnable;
                Some(&mut self.above)
            }
            Place::Below { runnable } => {
                *runnable = set_runnable;
                Some(&mut self.below)
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
            if hard { self.above.join(now, task, a)? } else { self.below.join(now, task, a)? };
        *self.place(task) = match hard {
            true => Place::Above { runnable: false },
            false => Place::Below { runnable: false },
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
            Place::Above { .. } if hard => return self.above.change(now, task, a),
            Place::Below { .. } if !hard => return self.below.change(now, task, a),
            Place::Above { runnable } => {
                self.below.join(now, task, a)?;
                self.above.leave(now, task, Span::ZERO);
                *self.place(task) = Place::Below { runnable };
                if runnable {
                    self.below.wake(now, task);
                }
                return Ok(Admitted { from: now });
            }
            Place::Below { runnable } => runnable,
        };
        let admitted = self.above.join(now, task, a)?;
        self.below.leave(now, task, Span::ZERO);
        *self.place(task) = Place::Above { runnable };
        if runnable {
            self.above.wake(now, task);
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
            Some(Place::Above { .. }) => self.above.ran(now, task, ran),
            Some(Place::Below { .. }) => self.below.ran(now, task, ran),
            _ => {}
        }
    }

    fn timer(&mut self, now: Time) {
        self.above.timer(now);
        self.below.timer(now);
    }

    fn next_event(&self) -> Option<Time> {
        match (self.above.next_event(), self.below.next_event()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        if self.lower_has_cpu.len() <= cpu.index() {
            self.lower_has_cpu.resize(cpu.index() + 1, false);
        }
        let upper = self.above.pick(now, cpu);
        let lower_ran = core::mem::replace(&mut self.lower_has_cpu[cpu.index()], upper.is_none());
        if upper.is_some() {
            if lower_ran {
                self.below.displace(now, cpu);
            }
            return upper;
        }
        self.below.pick(now, cpu)
    }

    fn displace(&mut self, now: Time, cpu: CpuId) {
        self.above.displace(now, cpu);
        if self.lower_has_cpu.get(cpu.index()) == Some(&true) {
            self.lower_has_cpu[cpu.index()] = false;
            self.below.displace(now, cpu);
        }
    }

    fn ran_in_background(&mut self, now: Time, task: TaskId, ran: Span) {
        match self.places.get(task.index()) {
            Some(Place::Above { .. }) => self.above.ran_in_background(now, task, ran),
            Some(Place::Below { .. }) => self.below.ran_in_background(now, task, ran),
            _ => {}
        }
    }

    fn execution_estimate(&self, task: TaskId) -> Option<Span> {
        match self.places.get(task.index())? {
            Place::Above { .. } => self.above.execution_estimate(task),
            Place::Below { .. } => self.below.execution_estimate(task),
            Place::Nowhere => None,
        }
    }

    fn set_execution_estimate(&mut self, task: TaskId, execution_estimate: Span) {
        match self.places.get(task.index()) {
            Some(Place::Above { .. }) => {
                self.above.set_execution_estimate(task, execution_estimate)
            }
            Some(Place::Below { .. }) => {
                self.below.set_execution_estimate(task, execution_estimate)
            }
            _ => {}
        }
    }
}
