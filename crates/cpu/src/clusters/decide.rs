//! Who has which CPU: each cluster's policy first, then background work on what is left.

use laxity_core::{Span, Time};

use super::{Clusters, Given, NOBODY, State};
use crate::{CpuId, CpuSet, Pick, Policy, TaskId};

impl<P: Policy> Clusters<P> {
    /// Brings every CPU up to date.
    pub(super) fn decide(&mut self, now: Time) {
        let mut dirty = core::mem::take(&mut self.dirty);
        for &k in &dirty {
            self.touch(now, k);
            self.ask(now, k);
        }
        dirty.clear();
        self.dirty = dirty;
        self.lend(now);
        self.stale = false;
    }

    /// Asks the policy of a cluster about all of its CPUs.
    fn ask(&mut self, now: Time, k: u32) {
        let mut answers = core::mem::take(&mut self.answers);
        let cluster = &mut self.clusters[k as usize];
        cluster.dirty = false;
        let cpus = cluster.cpus.len();
        for (slot, answer) in answers.iter_mut().enumerate().take(cpus) {
            let pick = cluster.policy.pick(now, CpuId(slot as u32));
            *answer = pick.and_then(|pick| {
                let task = *cluster.tasks.get(pick.task.index())?;
                (task != NOBODY).then_some(Pick { task: TaskId(task), ..pick })
            });
        }
        // A policy may have timers long past; once told they change nothing more.
        if let Some(at) = cluster.policy.next_event() {
            self.events.set(k, at.0, u64::from(k));
        }
        // CPUs are taken away before they are given, as tasks may change places.
        for (slot, answer) in answers[..cpus].iter().enumerate() {
            let cpu = self.clusters[k as usize].cpus[slot];
            match (self.cpus[cpu.index()].given, answer) {
                (Given::Home(old), Some(new)) if old.task == new.task => {}
                (Given::Home(_), _) | (Given::Lent(_), Some(_)) => self.take_away(cpu),
                _ => {}
            }
        }
        for (slot, answer) in answers[..cpus].iter().enumerate() {
            let cpu = self.clusters[k as usize].cpus[slot];
            let Some(pick) = *answer else { continue };
            let Some(row) = self.row(pick.task) else { continue };
            match row.state {
                State::Waiting => self.waits_no_more(pick.task),
                // It comes home.
                State::Lent(elsewhere) => {
                    self.take_away(elsewhere);
                    self.waits_no_more(pick.task);
                }
                State::Home(_) | State::Asleep => {}
            }
            self.give(cpu, Given::Home(pick));
        }
        self.answers = answers;
    }

    /// Runs waiting best-effort tasks on CPUs that would idle.
    fn lend(&mut self, now: Time) {
        for cpu in self.lent.iter() {
            let Given::Lent(pick) = self.cpus[cpu.index()].given else { continue };
            if pick.until > now {
                continue;
            }
            let own =
                self.row(pick.task).map(|row| (self.is_foreign(cpu, row.cluster), row.service));
            let next = self.candidate(cpu).filter(|next| Some((next.0, next.1)) < own);
            let task = next.map_or(pick.task, |(.., task)| task);
            if next.is_some() {
                self.take_away(cpu);
                self.waits_no_more(task);
            }
            let until = now + self.options.quantum;
            self.give(cpu, Given::Lent(Pick { task, until }));
        }
        for cpu in self.idle.iter() {
            if self.waiting.is_empty() {
                return;
            }
            let Some((_, service, task)) = self.candidate(cpu) else { continue };
            self.floor = self.floor.max(service);
            self.waits_no_more(task);
            let until = now + self.options.quantum;
            self.give(cpu, Given::Lent(Pick { task, until }));
        }
    }

    fn is_foreign(&self, cpu: CpuId, cluster: u32) -> bool {
        self.cpus[cpu.index()].cluster != cluster
    }

    /// Who goes first on an idle CPU: whether from elsewhere, and how much it had.
    fn candidate(&self, cpu: CpuId) -> Option<(bool, u64, TaskId)> {
        let cluster = &self.clusters[self.cpus[cpu.index()].cluster as usize];
        if let Some((service, local)) = cluster.waiting.first() {
            return Some((false, service, TaskId(cluster.tasks[local as usize])));
        }
        let (service, task) = self.waiting.first(cpu).filter(|_| self.options.steal)?;
        let task = TaskId(task);
        Some((self.is_foreign(cpu, self.row(task)?.cluster), service, task))
    }

    /// Gives a CPU that nobody else has.
    fn give(&mut self, cpu: CpuId, given: Given) {
        let one = CpuSet::one(cpu);
        let (task, state) = match given {
            Given::Idle => return self.vacate(cpu),
            Given::Home(pick) => (pick.task, State::Home(cpu)),
            Given::Lent(pick) => {
                self.lent = self.lent.or(one);
                (pick.task, State::Lent(cpu))
            }
        };
        self.idle = self.idle.without(one);
        self.cpus[cpu.index()].given = given;
        if let Some(row) = &mut self.rows[task.index()] {
            row.state = state;
        }
    }

    /// Whoever has this CPU waits from now on.
    pub(super) fn take_away(&mut self, cpu: CpuId) {
        let (Given::Home(pick) | Given::Lent(pick)) = self.cpus[cpu.index()].given else { return };
        self.vacate(cpu);
        self.waits(pick.task);
    }

    /// Nobody has this CPU from now on.
    pub(super) fn vacate(&mut self, cpu: CpuId) {
        self.cpus[cpu.index()].given = Given::Idle;
        self.idle = self.idle.or(CpuSet::one(cpu));
        self.lent = self.lent.without(CpuSet::one(cpu));
    }

    /// A runnable task has no CPU.
    pub(super) fn waits(&mut self, task: TaskId) {
        let Some(row) = &mut self.rows[task.index()] else { return };
        row.state = State::Waiting;
        if !row.helped {
            return;
        }
        self.waiting.enter(row.class, task.0, row.service);
        let cluster = &mut self.clusters[row.cluster as usize];
        if cluster.cpus.len() > 1 {
            cluster.waiting.set(row.local, row.service, u64::from(task.0));
        }
    }

    /// A task has a CPU, or sleeps, or lives elsewhere.
    pub(super) fn waits_no_more(&mut self, task: TaskId) {
        let Some(row) = self.rows.get(task.index()).and_then(Option::as_ref) else { return };
        if row.helped {
            self.waiting.leave(row.class, task.0);
            self.clusters[row.cluster as usize].waiting.remove(row.local);
        }
    }

    /// A task stops being runnable after it ran for `ran` more; answers what its policy must be told.
    pub(super) fn halt(&mut self, now: Time, task: TaskId, ran: Span) -> Span {
        let Some(row) = self.rows.get_mut(task.index()).and_then(Option::as_mut) else {
            return Span::ZERO;
        };
        row.serve(ran);
        let mut tell = Span(core::mem::take(&mut row.untold));
        let (k, local, state) = (row.cluster, TaskId(row.local), row.state);
        row.demand.sleeps(now);
        match state {
            State::Asleep => {}
            State::Waiting => self.waits_no_more(task),
            State::Home(cpu) => {
                tell = tell + ran;
                self.vacate(cpu);
            }
            State::Lent(cpu) => {
                self.clusters[k as usize].policy.lent(now, local, ran);
                self.vacate(cpu);
            }
        }
        if let Some(row) = &mut self.rows[task.index()] {
            row.state = State::Asleep;
        }
        tell
    }
}
