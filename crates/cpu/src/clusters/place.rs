//! Where tasks live: admission over clusters, and moves.

use alloc::vec::Vec;
use core::cmp::Ordering;

use laxity_core::{Span, Time};

use super::balance::Demand;
use super::{Cluster, Clusters, NOBODY, Row, State};
use crate::{Admitted, Attributes, GroupId, Policy, Refusal, Service, Share, TaskId};

/// What a service takes of a cluster for itself.
fn reserved(service: Service) -> Share {
    match service {
        Service::Hard(r) | Service::Soft(r) => Share::up(r.budget, r.period),
        Service::BestEffort => Share::ZERO,
    }
}

impl<P> Cluster<P> {
    /// Room for best effort, never nothing.
    pub(super) fn capacity(&self) -> u64 {
        let all = Share::ONE.0.saturating_mul(self.cpus.len() as u64);
        all.saturating_sub(self.reserved.0).max(1)
    }

    /// A number for a task.
    fn number(&mut self, task: TaskId) -> TaskId {
        if let Some(local) = self.vacant.pop() {
            self.tasks[local as usize] = task.0;
            return TaskId(local);
        }
        self.tasks.push(task.0);
        self.vacant.reserve(self.tasks.len());
        if self.cpus.len() > 1 {
            self.waiting.reserve(self.tasks.len());
        }
        TaskId(self.tasks.len() as u32 - 1)
    }

    fn free(&mut self, local: TaskId) {
        self.tasks[local.index()] = NOBODY;
        self.vacant.push(local.0);
    }
}

/// `a / b` against `c / d`.
pub(super) fn compare((a, b): (u64, u64), (c, d): (u64, u64)) -> Ordering {
    (u128::from(a) * u128::from(d)).cmp(&(u128::from(c) * u128::from(b)))
}

impl<P: Policy> Clusters<P> {
    fn is_helped(&self, a: &Attributes) -> bool {
        !self.options.reservations || !matches!(a.service, Service::Hard(_))
    }

    /// Whether a task with these attributes may live in a cluster: nothing there may have to wait
    /// for a CPU while another is free, so it must be allowed on all.
    fn may_live(&self, k: u32, a: &Attributes) -> bool {
        a.affinity.includes(self.clusters[k as usize].set)
    }

    fn group(&self, group: Option<GroupId>) -> Option<usize> {
        self.groups.binary_search_by_key(&group?, |(g, ..)| *g).ok()
    }

    /// Clusters in which to try, the best first.
    fn preferences(&self, a: &Attributes) -> Result<Vec<u32>, Refusal> {
        let affinity = a.affinity;
        let all = match self.group(a.group) {
            Some(at) => self.groups[at].1..self.groups[at].1 + 1,
            None => 0..self.clusters.len() as u32,
        };
        let mut order: Vec<u32> = all.filter(|k| self.may_live(*k, a)).collect();
        if order.is_empty() {
            return Err(Refusal::Affinity { affinity });
        }
        let weight = u64::from(a.nice.scale()) * Demand::FULL;
        let reserves = reserved(a.service) > Share::ZERO;
        order.sort_by(|x, y| {
            let (x, y) = (&self.clusters[*x as usize], &self.clusters[*y as usize]);
            let reserved = |c: &Cluster<P>| (c.reserved.0, c.cpus.len() as u64);
            let load = |c: &Cluster<P>| (c.load + weight, c.capacity());
            let (first, second) = if self.options.pack { (y, x) } else { (x, y) };
            let by_room =
                if reserves { compare(reserved(first), reserved(second)) } else { Ordering::Equal };
            by_room.then_with(|| compare(load(x), load(y)))
        });
        Ok(order)
    }

    /// The refusal that came closest to what was asked for, and where.
    fn closest(&self, refusals: &[(u32, Refusal)]) -> Refusal {
        let fits = |refusal: &Refusal| match refusal {
            Refusal::Overload { fits, .. } => *fits,
            _ => Span::ZERO,
        };
        // The first of the greatest: clusters were tried in order of preference.
        let best = refusals.iter().rev().max_by_key(|(_, refusal)| fits(refusal));
        match best {
            Some((k, Refusal::Overload { asked, needs, free, fits }))
                if self.clusters.len() > 1 =>
            {
                let (asked, needs, free, fits) = (*asked, *needs, *free, *fits);
                Refusal::NoCluster { closest: *k, asked, needs, free, fits }
            }
            Some((_, refusal)) => *refusal,
            None => Refusal::NothingLeft,
        }
    }

    /// A new task finds a home.
    pub(super) fn settle(
        &mut self,
        now: Time,
        task: TaskId,
        a: &Attributes,
    ) -> Result<Admitted, Refusal> {
        if self.row(task).is_some() {
            return Err(Refusal::Known(task));
        }
        let mut refusals = Vec::new();
        for k in self.preferences(a)? {
            self.touch(now, k);
            let local = self.clusters[k as usize].number(task);
            match self.clusters[k as usize].policy.join(now, local, a) {
                Ok(admitted) => {
                    self.enter(task, k, local, a);
                    return Ok(admitted);
                }
                Err(refusal) => {
                    self.clusters[k as usize].free(local);
                    refusals.push((k, refusal));
                }
            }
        }
        Err(self.closest(&refusals))
    }

    fn enter(&mut self, task: TaskId, k: u32, local: TaskId, a: &Attributes) {
        if self.rows.len() <= task.index() {
            self.rows.resize_with(task.index() + 1, || None);
        }
        let row = Row {
            cluster: k,
            local: local.0,
            attributes: *a,
            helped: self.is_helped(a),
            class: self.waiting.class(a.affinity, self.rows.len()),
            state: State::Asleep,
            untold: 0,
            service: self.floor,
            before: self.floor,
            gained: 0,
            demand: Demand::new(),
        };
        self.rows[task.index()] = Some(row);
        self.count(task);
    }

    /// A task counts where it lives.
    fn count(&mut self, task: TaskId) {
        let Some(row) = self.rows.get(task.index()).and_then(Option::as_ref) else { return };
        let cluster = &mut self.clusters[row.cluster as usize];
        cluster.load += row.load();
        cluster.reserved = cluster.reserved.plus(reserved(row.attributes.service));
        if let Some(group) = row.attributes.group {
            match self.groups.binary_search_by_key(&group, |(g, ..)| *g) {
                Ok(at) => self.groups[at].2 += 1,
                Err(at) => self.groups.insert(at, (group, row.cluster, 1)),
            }
        }
    }

    fn discount(&mut self, task: TaskId) {
        let Some(row) = self.rows.get(task.index()).and_then(Option::as_ref) else { return };
        let cluster = &mut self.clusters[row.cluster as usize];
        cluster.load -= row.load();
        cluster.reserved = cluster.reserved.minus(reserved(row.attributes.service));
        if let Some(at) = self.group(row.attributes.group) {
            self.groups[at].2 -= 1;
            if self.groups[at].2 == 0 {
                self.groups.remove(at);
            }
        }
    }

    /// A task that is gone.
    pub(super) fn forget(&mut self, task: TaskId) {
        self.discount(task);
        if let Some(row) = self.rows[task.index()].take() {
            self.clusters[row.cluster as usize].free(TaskId(row.local));
        }
    }

    /// A task asks for something else, at home if that can be. A reservation moves only when its home
    /// is no longer among the CPUs that it may use; what was promised of the job at hand ends then, as
    /// if the task left and joined.
    pub(super) fn resettle(
        &mut self,
        now: Time,
        task: TaskId,
        a: &Attributes,
    ) -> Result<Admitted, Refusal> {
        let Some(row) = self.row(task) else { return Err(Refusal::Unknown(task)) };
        let (home, local, before) = (row.cluster, row.local, row.attributes);
        let mut order = self.preferences(a)?;
        // Members of a group share a server, so only those on their own may go elsewhere.
        if order.contains(&home) {
            order.retain(|k| *k != home);
            self.touch(now, home);
            let answer = self.clusters[home as usize].policy.change(now, TaskId(local), a);
            // A reservation stays where it is: what is promised for the job at hand would be lost.
            let promised = reserved(before.service) > Share::ZERO;
            let stays = before.group.is_some() || promised || reserved(a.service) == Share::ZERO;
            match answer {
                Ok(admitted) => {
                    self.redescribe(task, a);
                    return Ok(admitted);
                }
                Err(refusal) if stays || order.is_empty() => {
                    return Err(self.closest(&[(home, refusal)]));
                }
                Err(refusal) => {
                    return self.move_to_any(now, task, a, &order, Some((home, refusal)));
                }
            }
        }
        self.move_to_any(now, task, a, &order, None)
    }

    fn move_to_any(
        &mut self,
        now: Time,
        task: TaskId,
        a: &Attributes,
        order: &[u32],
        refused: Option<(u32, Refusal)>,
    ) -> Result<Admitted, Refusal> {
        let mut refusals: Vec<(u32, Refusal)> = refused.into_iter().collect();
        for k in order {
            match self.relocate(now, task, *k, a) {
                Ok(admitted) => return Ok(admitted),
                Err(refusal) => refusals.push((*k, refusal)),
            }
        }
        Err(self.closest(&refusals))
    }

    /// A task with other attributes where it is.
    fn redescribe(&mut self, task: TaskId, a: &Attributes) {
        let Some(state) = self.row(task).map(|row| row.state) else { return };
        self.discount(task);
        if state == State::Waiting {
            self.waits_no_more(task);
        }
        let helped = self.is_helped(a);
        let class = self.waiting.class(a.affinity, self.rows.len());
        if let Some(row) = &mut self.rows[task.index()] {
            (row.attributes, row.helped, row.class) = (*a, helped, class);
        }
        self.count(task);
        match state {
            State::Waiting => self.waits(task),
            State::Lent(cpu) if !helped || !a.affinity.contains(cpu) => self.take_away(cpu),
            _ => {}
        }
    }

    /// Moves a task to another cluster for good, or has it join anew where it is.
    pub(super) fn relocate(
        &mut self,
        now: Time,
        task: TaskId,
        to: u32,
        a: &Attributes,
    ) -> Result<Admitted, Refusal> {
        let Some(row) = self.row(task) else { return Err(Refusal::Unknown(task)) };
        let (from, old, state) = (row.cluster, TaskId(row.local), row.state);
        self.touch(now, from);
        self.touch(now, to);
        let new = self.clusters[to as usize].number(task);
        let admitted = match self.clusters[to as usize].policy.join(now, new, a) {
            Ok(admitted) => admitted,
            Err(refusal) => {
                self.clusters[to as usize].free(new);
                return Err(refusal);
            }
        };
        if let State::Home(cpu) = state {
            self.take_away(cpu);
        }
        if matches!(state, State::Home(_) | State::Waiting) {
            self.waits_no_more(task);
        }
        self.discount(task);
        let policy = &mut self.clusters[from as usize].policy;
        let learnt = policy.learnt(old);
        policy.leave(now, old, Span::ZERO);
        self.clusters[from as usize].free(old);
        let policy = &mut self.clusters[to as usize].policy;
        if let Some(learnt) = learnt {
            policy.recall(new, learnt);
        }
        if state != State::Asleep {
            policy.wake(now, new);
        }
        if let Some(row) = &mut self.rows[task.index()] {
            (row.cluster, row.local) = (to, new.0);
            // Its class is that of the old affinity until it is described anew.
        }
        self.count(task);
        if matches!(state, State::Home(_) | State::Waiting) {
            self.waits(task);
        }
        self.redescribe(task, a);
        self.moves += u64::from(from != to);
        Ok(admitted)
    }
}
