//! Forwards reports to the cluster of the task, with the task's slot there.

use laxity_core::{Span, Time};

use super::{Assignment, Clusters, State};
use crate::{
    Admitted, Attributes, Charge, CpuId, Pick, Policy, Refusal, ServerId, ServerView, TaskId,
};

impl<P: Policy> Policy for Clusters<P> {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.place(now, task, a)
    }

    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        let Some((k, local)) = self.row(task).map(|row| (row.cluster, row.local)) else { return };
        let ran = self.stop_running(now, task, ran);
        self.mark_dirty(now, k);
        self.clusters[k as usize].policy.leave(now, TaskId(local), ran);
        self.remove(task);
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.change_attributes(now, task, a)
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        let service_floor = self.service_floor;
        let Some(row) = self.rows.get_mut(task.index()).and_then(Option::as_mut) else { return };
        if row.is_runnable() {
            return;
        }
        row.service = row.service.max(service_floor);
        row.demand.wakes(now);
        let (k, local) = (row.cluster, row.local);
        self.mark_dirty(now, k);
        self.clusters[k as usize].policy.wake(now, TaskId(local));
        self.enqueue_waiting(task);
    }

    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        let Some((k, local)) = self.row(task).map(|row| (row.cluster, row.local)) else { return };
        let ran = self.stop_running(now, task, ran);
        self.mark_dirty(now, k);
        self.clusters[k as usize].policy.block(now, TaskId(local), ran);
    }

    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        let Some(row) = self.rows.get_mut(task.index()).and_then(Option::as_mut) else { return };
        row.charge(ran);
        let (k, local) = (row.cluster, TaskId(row.local));
        let (State::Own(cpu) | State::Background(cpu)) = row.state else { return };
        match self.cpus[cpu.index()].assignment {
            Assignment::Own(pick) => {
                row.unreported = row.unreported.saturating_add(ran.0);
                if now >= pick.until {
                    self.mark_dirty(now, k);
                }
            }
            Assignment::Background(pick) => {
                self.clusters[k as usize].policy.ran_in_background(now, local, ran);
                self.stale |= now >= pick.until;
            }
            Assignment::Idle => {}
        }
    }

    fn timer(&mut self, now: Time) {
        for at in 0..self.dirty.len() {
            let k = self.dirty[at];
            let policy = &self.clusters[k as usize].policy;
            if policy.next_event().is_some_and(|event| event <= now) {
                self.mark_dirty(now, k);
                self.clusters[k as usize].policy.timer(now);
            }
        }
        while let Some((_, k)) = self.events.first().filter(|(at, _)| *at <= now.0) {
            self.mark_dirty(now, k);
            self.clusters[k as usize].policy.timer(now);
        }
        if self.balances() && now.0 >= self.next_balance {
            self.balance(now);
        }
    }

    fn next_event(&self) -> Option<Time> {
        let reported = self.events.first().map(|(at, _)| Time(at));
        let policies = self.dirty.iter().map(|k| &self.clusters[*k as usize].policy);
        let live = policies.filter_map(Policy::next_event).min();
        let balance = self.balances().then_some(Time(self.next_balance));
        [reported, live, balance].into_iter().flatten().min()
    }

    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        if self.stale {
            self.decide(now);
        }
        match self.cpus.get(cpu.index())?.assignment {
            Assignment::Own(pick) | Assignment::Background(pick) => Some(pick),
            Assignment::Idle => None,
        }
    }

    fn displace(&mut self, now: Time, cpu: CpuId) {
        let Some(k) = self.cpus.get(cpu.index()).map(|c| c.cluster) else { return };
        let cluster = &mut self.clusters[k as usize];
        if let Some(slot) = cluster.cpus.iter().position(|c| *c == cpu) {
            cluster.policy.displace(now, CpuId(slot as u32));
        }
        self.mark_dirty(now, k);
    }

    fn servers(&self, now: Time, each: &mut dyn FnMut(&ServerView)) {
        for (k, cluster) in self.clusters.iter().enumerate() {
            cluster.policy.servers(now, &mut |view| {
                let id = ServerId { cluster: k as u32, ..view.id };
                each(&ServerView { id, ..*view });
            });
        }
    }

    fn resets(&self, cluster: u32) -> u64 {
        self.clusters.get(cluster as usize).map_or(0, |cluster| cluster.policy.resets(0))
    }

    fn charged_to(&self, cpu: CpuId, task: TaskId) -> Charge {
        let on = self.cpus.get(cpu.index());
        let (Some(on), Some(row)) = (on, self.row(task)) else { return Charge::Unserved };
        if matches!(on.assignment, Assignment::Background(_)) {
            return Charge::Background;
        }
        let cluster = &self.clusters[row.cluster as usize];
        let slot = cluster.cpus.iter().position(|c| *c == cpu).unwrap_or(0);
        match cluster.policy.charged_to(CpuId(slot as u32), TaskId(row.local)) {
            Charge::Server(id) => Charge::Server(ServerId { cluster: row.cluster, ..id }),
            other => other,
        }
    }
}
