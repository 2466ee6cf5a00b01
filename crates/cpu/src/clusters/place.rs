//! Placement of tasks: admission over clusters, and migration.

use alloc::vec::Vec;
use core::cmp::Ordering;

use laxity_core::{Span, Time};

use super::balance::Demand;
use super::{Cluster, Clusters, NO_TASK, Row, State};
use crate::{Admitted, Attributes, GroupId, Policy, Refusal, Service, Share, TaskId};

/// The share that a service reserves in a cluster.
fn reserved(service: Service) -> Share {
    match service {
        Service::Hard(r) | Service::Soft(r) => Share::up(r.budget, r.period),
        Service::BestEffort => Share::ZERO,
    }
}

impl<P> Cluster<P> {
    /// The capacity left to best effort, never zero.
    pub(super) fn capacity(&self) -> u64 {
        let all = Share::ONE.0.saturating_mul(self.cpus.len() as u64);
        all.saturating_sub(self.reserved.0).max(1)
    }

    /// Allocates a slot for a task.
    fn allocate_slot(&mut self, task: TaskId) -> TaskId {
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
        self.tasks[local.index()] = NO_TASK;
        self.vacant.push(local.0);
    }
}

/// `a / b` against `c / d`.
pub(super) fn compare((a, b): (u64, u64), (c, d): (u64, u64)) -> Ordering {
    (u128::from(a) * u128::from(d)).cmp(&(u128::from(c) * u128::from(b)))
}

impl<P: Policy> Clusters<P> {
    fn may_use_background(&self, a: &Attributes) -> bool {
        !self.options.reservations || !matches!(a.service, Service::Hard(_))
    }

    /// Whether a task with these attributes may be placed in a cluster. It must be allowed on all its
    /// CPUs, so that no task waits for one CPU while another is idle.
    fn is_allowed(&self, k: u32, a: &Attributes) -> bool {
        a.affinity.includes(self.clusters[k as usize].set)
    }

    fn group(&self, group: Option<GroupId>) -> Option<usize> {
        self.groups.binary_search_by_key(&group?, |(g, ..)| *g).ok()
    }

    /// The clusters in which to try admission, the best first.
    fn clusters_by_preference(&self, a: &Attributes) -> Result<Vec<u32>, Refusal> {
        let affinity = a.affinity;
        let all = match self.group(a.group) {
            Some(at) => self.groups[at].1..self.groups[at].1 + 1,
            None => 0..self.clusters.len() as u32,
        };
        let mut order: Vec<u32> = all.filter(|k| self.is_allowed(*k, a)).collect();
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

    /// The refusal with the greatest admissible budget, and its cluster.
    fn closest_refusal(&self, refusals: &[(u32, Refusal)]) -> Refusal {
        let fits = |refusal: &Refusal| match refusal {
            Refusal::Overload { fits, .. } => *fits,
            _ => Span::ZERO,
        };
        // On ties the first one: clusters were tried in order of preference.
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

    /// Places a new task in a cluster.
    pub(super) fn place(
        &mut self,
        now: Time,
        task: TaskId,
        a: &Attributes,
    ) -> Result<Admitted, Refusal> {
        if self.row(task).is_some() {
            return Err(Refusal::Known(task));
        }
        let mut refusals = Vec::new();
        for k in self.clusters_by_preference(a)? {
            self.mark_dirty(now, k);
            let local = self.clusters[k as usize].allocate_slot(task);
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
        Err(self.closest_refusal(&refusals))
    }

    fn enter(&mut self, task: TaskId, k: u32, local: TaskId, a: &Attributes) {
        if self.rows.len() <= task.index() {
            self.rows.resize_with(task.index() + 1, || None);
        }
        let row = Row {
            cluster: k,
            local: local.0,
            attributes: *a,
            uses_background: self.may_use_background(a),
            class: self.waiting.class(a.affinity, self.rows.len()),
            state: State::Asleep,
            unreported: 0,
            service: self.service_floor,
            before: self.service_floor,
            interval_service: 0,
            demand: Demand::new(),
        };
        self.rows[task.index()] = Some(row);
        self.add_load(task);
    }

    /// Adds a task to the load of its cluster.
    fn add_load(&mut self, task: TaskId) {
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

    fn remove_load(&mut self, task: TaskId) {
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

    /// Removes a departed task.
    pub(super) fn remove(&mut self, task: TaskId) {
        self.remove_load(task);
        if let Some(row) = self.rows[task.index()].take() {
            self.clusters[row.cluster as usize].free(TaskId(row.local));
        }
    }

    /// Changes the attributes of a task, within its cluster if possible. A reservation migrates only when
    /// its affinity no longer includes its cluster; the guarantee of the current job ends then, as if the
    /// task left and joined.
    pub(super) fn change_attributes(
        &mut self,
        now: Time,
        task: TaskId,
        a: &Attributes,
    ) -> Result<Admitted, Refusal> {
        let Some(row) = self.row(task) else { return Err(Refusal::Unknown(task)) };
        let (home, local, before) = (row.cluster, row.local, row.attributes);
        let mut order = self.clusters_by_preference(a)?;
        // Members of a group share a server, so only tasks without a group may migrate.
        if order.contains(&home) {
            order.retain(|k| *k != home);
            self.mark_dirty(now, home);
            let answer = self.clusters[home as usize].policy.change(now, TaskId(local), a);
            // A reservation does not migrate: the guarantee of its current job would be lost.
            let promised = reserved(before.service) > Share::ZERO;
            let stays = before.group.is_some() || promised || reserved(a.service) == Share::ZERO;
            match answer {
                Ok(admitted) => {
                    self.set_attributes(task, a);
                    return Ok(admitted);
                }
                Err(refusal) if stays || order.is_empty() => {
                    return Err(self.closest_refusal(&[(home, refusal)]));
                }
                Err(refusal) => {
                    return self.migrate_to_any(now, task, a, &order, Some((home, refusal)));
                }
            }
        }
        self.migrate_to_any(now, task, a, &order, None)
    }

    fn migrate_to_any(
        &mut self,
        now: Time,
        task: TaskId,
        a: &Attributes,
        order: &[u32],
        refused: Option<(u32, Refusal)>,
    ) -> Result<Admitted, Refusal> {
        let mut refusals: Vec<(u32, Refusal)> = refused.into_iter().collect();
        for k in order {
            match self.migrate(now, task, *k, a) {
                Ok(admitted) => return Ok(admitted),
                Err(refusal) => refusals.push((*k, refusal)),
            }
        }
        Err(self.closest_refusal(&refusals))
    }

    /// Sets the attributes of a task that stays in its cluster.
    fn set_attributes(&mut self, task: TaskId, a: &Attributes) {
        let Some(state) = self.row(task).map(|row| row.state) else { return };
        self.remove_load(task);
        if state == State::Waiting {
            self.dequeue_waiting(task);
        }
        let uses_background = self.may_use_background(a);
        let class = self.waiting.class(a.affinity, self.rows.len());
        if let Some(row) = &mut self.rows[task.index()] {
            (row.attributes, row.uses_background, row.class) = (*a, uses_background, class);
        }
        self.add_load(task);
        match state {
            State::Waiting => self.enqueue_waiting(task),
            State::Background(cpu) if !uses_background || !a.affinity.contains(cpu) => {
                self.preempt(cpu)
            }
            _ => {}
        }
    }

    /// Migrates a task to another cluster, or has it rejoin its own.
    pub(super) fn migrate(
        &mut self,
        now: Time,
        task: TaskId,
        to: u32,
        a: &Attributes,
    ) -> Result<Admitted, Refusal> {
        let Some(row) = self.row(task) else { return Err(Refusal::Unknown(task)) };
        let (from, old, state) = (row.cluster, TaskId(row.local), row.state);
        self.mark_dirty(now, from);
        self.mark_dirty(now, to);
        let new = self.clusters[to as usize].allocate_slot(task);
        let admitted = match self.clusters[to as usize].policy.join(now, new, a) {
            Ok(admitted) => admitted,
            Err(refusal) => {
                self.clusters[to as usize].free(new);
                return Err(refusal);
            }
        };
        if let State::Own(cpu) = state {
            self.preempt(cpu);
        }
        if matches!(state, State::Own(_) | State::Waiting) {
            self.dequeue_waiting(task);
        }
        self.remove_load(task);
        let policy = &mut self.clusters[from as usize].policy;
        let execution_estimate = policy.execution_estimate(old);
        policy.leave(now, old, Span::ZERO);
        self.clusters[from as usize].free(old);
        let policy = &mut self.clusters[to as usize].policy;
        if let Some(execution_estimate) = execution_estimate {
            policy.set_execution_estimate(new, execution_estimate);
        }
        if state != State::Asleep {
            policy.wake(now, new);
        }
        if let Some(row) = &mut self.rows[task.index()] {
            (row.cluster, row.local) = (to, new.0);
            // Its class is that of the old affinity until `set_attributes`.
        }
        self.add_load(task);
        if matches!(state, State::Own(_) | State::Waiting) {
            self.enqueue_waiting(task);
        }
        self.set_attributes(task, a);
        self.migrations += u64::from(from != to);
        Ok(admitted)
    }
}
