//! Assignment of CPUs: each cluster's policy first, then background work on idle CPUs.

use laxity_core::{Span, Time};

use super::{Assignment, Clusters, NO_TASK, State};
use crate::{CpuId, CpuSet, Pick, Policy, TaskId};

impl<P: Policy> Clusters<P> {
    /// Updates the assignment of every CPU.
    pub(super) fn decide(&mut self, now: Time) {
        let mut dirty = core::mem::take(&mut self.dirty);
        for &k in &dirty {
            self.mark_dirty(now, k);
            self.query_policy(now, k);
        }
        dirty.clear();
        self.dirty = dirty;
        self.assign_background(now);
        self.stale = false;
    }

    /// Picks tasks for all CPUs of a cluster.
    fn query_policy(&mut self, now: Time, k: u32) {
        let mut picks = core::mem::take(&mut self.picks);
        let cluster = &mut self.clusters[k as usize];
        cluster.dirty = false;
        let cpus = cluster.cpus.len();
        for (slot, answer) in picks.iter_mut().enumerate().take(cpus) {
            let pick = cluster.policy.pick(now, CpuId(slot as u32));
            *answer = pick.and_then(|pick| {
                let task = *cluster.tasks.get(pick.task.index())?;
                (task != NO_TASK).then_some(Pick { task: TaskId(task), ..pick })
            });
        }
        // A policy may have timers long past, which have no further effect once handled.
        if let Some(at) = cluster.policy.next_event() {
            self.events.set(k, at.0, u64::from(k));
        }
        // Preemptions come before assignments, as tasks may swap CPUs.
        for (slot, answer) in picks[..cpus].iter().enumerate() {
            let cpu = self.clusters[k as usize].cpus[slot];
            match (self.cpus[cpu.index()].assignment, answer) {
                (Assignment::Own(old), Some(new)) if old.task == new.task => {}
                (Assignment::Own(_), _) | (Assignment::Background(_), Some(_)) => self.preempt(cpu),
                _ => {}
            }
        }
        for (slot, answer) in picks[..cpus].iter().enumerate() {
            let cpu = self.clusters[k as usize].cpus[slot];
            let Some(pick) = *answer else { continue };
            let Some(row) = self.row(pick.task) else { continue };
            match row.state {
                State::Waiting => self.dequeue_waiting(pick.task),
                // It stops its background execution on another CPU.
                State::Background(elsewhere) => {
                    self.preempt(elsewhere);
                    self.dequeue_waiting(pick.task);
                }
                State::Own(_) | State::Asleep => {}
            }
            self.assign(cpu, Assignment::Own(pick));
        }
        self.picks = picks;
    }

    /// Runs waiting best-effort tasks on idle CPUs.
    fn assign_background(&mut self, now: Time) {
        for cpu in self.background.iter() {
            let Assignment::Background(pick) = self.cpus[cpu.index()].assignment else { continue };
            if pick.until > now {
                continue;
            }
            let own =
                self.row(pick.task).map(|row| (self.is_foreign(cpu, row.cluster), row.service));
            let next = self.candidate(cpu).filter(|next| Some((next.0, next.1)) < own);
            let task = next.map_or(pick.task, |(.., task)| task);
            if next.is_some() {
                self.preempt(cpu);
                self.dequeue_waiting(task);
            }
            let until = now + self.options.quantum;
            self.assign(cpu, Assignment::Background(Pick { task, until }));
        }
        for cpu in self.idle.iter() {
            if self.waiting.is_empty() {
                return;
            }
            let Some((_, service, task)) = self.candidate(cpu) else { continue };
            self.service_floor = self.service_floor.max(service);
            self.dequeue_waiting(task);
            let until = now + self.options.quantum;
            self.assign(cpu, Assignment::Background(Pick { task, until }));
        }
    }

    fn is_foreign(&self, cpu: CpuId, cluster: u32) -> bool {
        self.cpus[cpu.index()].cluster != cluster
    }

    /// The first background candidate for a CPU: whether it is of another cluster, its service, and
    /// the task.
    fn candidate(&self, cpu: CpuId) -> Option<(bool, u64, TaskId)> {
        let cluster = &self.clusters[self.cpus[cpu.index()].cluster as usize];
        if let Some((service, local)) = cluster.waiting.first() {
            return Some((false, service, TaskId(cluster.tasks[local as usize])));
        }
        let (service, task) = self.waiting.first(cpu).filter(|_| self.options.steal)?;
        let task = TaskId(task);
        Some((self.is_foreign(cpu, self.row(task)?.cluster), service, task))
    }

    /// Assigns an idle CPU, or changes the pick of its task.
    fn assign(&mut self, cpu: CpuId, assignment: Assignment) {
        let one = CpuSet::one(cpu);
        let (task, state) = match assignment {
            Assignment::Idle => return self.vacate(cpu),
            Assignment::Own(pick) => (pick.task, State::Own(cpu)),
            Assignment::Background(pick) => {
                self.background = self.background.or(one);
                (pick.task, State::Background(cpu))
            }
        };
        self.idle = self.idle.without(one);
        self.cpus[cpu.index()].assignment = assignment;
        if let Some(row) = &mut self.rows[task.index()] {
            row.state = state;
        }
    }

    /// Preempts the task on this CPU, which waits from now on.
    pub(super) fn preempt(&mut self, cpu: CpuId) {
        let (Assignment::Own(pick) | Assignment::Background(pick)) =
            self.cpus[cpu.index()].assignment
        else {
            return;
        };
        self.vacate(cpu);
        self.enqueue_waiting(pick.task);
    }

    /// Makes this CPU idle.
    pub(super) fn vacate(&mut self, cpu: CpuId) {
        self.cpus[cpu.index()].assignment = Assignment::Idle;
        self.idle = self.idle.or(CpuSet::one(cpu));
        self.background = self.background.without(CpuSet::one(cpu));
    }

    /// Adds a runnable task without a CPU to the waiting queues.
    pub(super) fn enqueue_waiting(&mut self, task: TaskId) {
        let Some(row) = &mut self.rows[task.index()] else { return };
        row.state = State::Waiting;
        if !row.uses_background {
            return;
        }
        self.waiting.enter(row.class, task.0, row.service);
        let cluster = &mut self.clusters[row.cluster as usize];
        if cluster.cpus.len() > 1 {
            cluster.waiting.set(row.local, row.service, u64::from(task.0));
        }
    }

    /// Removes a task from the waiting queues.
    pub(super) fn dequeue_waiting(&mut self, task: TaskId) {
        let Some(row) = self.rows.get(task.index()).and_then(Option::as_ref) else { return };
        if row.uses_background {
            self.waiting.leave(row.class, task.0);
            self.clusters[row.cluster as usize].waiting.remove(row.local);
        }
    }

    /// A task stops being runnable after running for `ran` more; returns the execution to report to
    /// its policy.
    pub(super) fn stop_running(&mut self, now: Time, task: TaskId, ran: Span) -> Span {
        let Some(row) = self.rows.get_mut(task.index()).and_then(Option::as_mut) else {
            return Span::ZERO;
        };
        row.charge(ran);
        let mut report = Span(core::mem::take(&mut row.unreported));
        let (k, local, state) = (row.cluster, TaskId(row.local), row.state);
        row.demand.sleeps(now);
        match state {
            State::Asleep => {}
            State::Waiting => self.dequeue_waiting(task),
            State::Own(cpu) => {
                report = report + ran;
                self.vacate(cpu);
            }
            State::Background(cpu) => {
                self.clusters[k as usize].policy.ran_in_background(now, local, ran);
                self.vacate(cpu);
            }
        }
        if let Some(row) = &mut self.rows[task.index()] {
            row.state = State::Asleep;
        }
        report
    }
}
