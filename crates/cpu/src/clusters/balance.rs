//! Load balancing of best-effort tasks between clusters.
//!
//! Periodically the clusters with the greatest and the least load relative to capacity are paired. A
//! task migrates if that lowers the load of the busier one. Where no migration balances the load, as
//! with three tasks on two CPUs, the task with the most CPU time for its weight migrates if that leaves
//! the busier cluster no worse. The remaining tasks are then on the less loaded cluster, so the
//! advantage rotates, and all get equal service in the long run.
//!
//! Within a cluster of several CPUs the same imbalance can occur without migrations: idle time goes to
//! tasks without a CPU, so a task whose budget is always executed while CPUs idle gets no idle time as
//! long as the order of releases does not change. So when a task falls behind, the most served task of
//! its cluster leaves and rejoins it, which changes the order. Rejoins are not placed at whole numbers of
//! periods, or they might restore the order each time.
//!
//! A migrating task rejoins, and may have to wait until others have shrunk, so no task migrates for an
//! improvement of less than a sixteenth.
//!
//! The load of a task is its weight times the recent fraction of time in which it was runnable. Members
//! of groups stay with their server, and reservations where they were admitted.

use alloc::vec::Vec;
use core::cmp::Ordering;

use laxity_core::Time;

use super::place::compare;
use super::{Clusters, Row, SCALE};
use crate::{CpuSet, Policy, Service, TaskId};

/// The fraction of time in which a task is runnable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// Runnable since, if it is; within the current interval.
    since: Option<u64>,
    /// Time runnable in the current interval before that.
    time: u64,
    level: u64,
}

impl Demand {
    /// Always runnable.
    pub(super) const FULL: u64 = 1 << 10;

    /// Assumes the maximum, as nothing is known.
    pub(super) fn new() -> Demand {
        Demand { since: None, time: 0, level: Demand::FULL }
    }

    pub(super) fn wakes(&mut self, now: Time) {
        self.since.get_or_insert(now.0);
    }

    pub(super) fn sleeps(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            self.time += now.0.saturating_sub(since);
        }
    }

    /// Ends an interval of this length.
    fn renew(&mut self, now: Time, length: u64) {
        let awake = self.since.is_some();
        self.sleeps(now);
        if awake {
            self.wakes(now);
        }
        let time = u128::from(core::mem::take(&mut self.time).min(length));
        let level = (time * u128::from(Demand::FULL) / u128::from(length.max(1))) as u64;
        self.level = (self.level + level).div_ceil(2);
    }
}

/// Whether the first is greater by more than a sixteenth.
fn exceeds_margin((a, b): (u64, u64), (c, d): (u64, u64)) -> bool {
    compare((a.saturating_mul(16), b), (c.saturating_mul(17), d)) == Ordering::Greater
}

/// CPU time for service of a weight.
fn unscaled(service: u64, weight: u64) -> u64 {
    service.saturating_mul(weight) / SCALE
}

impl Row {
    /// Its contribution to the load of a cluster, apart from reservations.
    pub(super) fn load(&self) -> u64 {
        if self.uses_background { self.weight() * self.demand.level } else { 0 }
    }

    /// Whether it is best effort, has load, and is in no group.
    fn can_migrate(&self) -> bool {
        let alone = self.attributes.group.is_none();
        self.load() > 0 && alone && self.attributes.service == Service::BestEffort
    }

    /// Whether it was without a CPU for some of the last interval.
    fn was_starved(&self, length: u64) -> bool {
        unscaled(self.interval_service, self.weight()) < length / 16 * 15
    }
}

impl<P: Policy> Clusters<P> {
    /// Whether balancing is enabled and the layout needs it.
    pub(super) fn balances(&self) -> bool {
        let several = self.clusters.len() > 1 || self.clusters.iter().any(|c| c.cpus.len() > 1);
        self.options.balance.0 > 0 && several
    }

    pub(super) fn balance(&mut self, now: Time) {
        let length = self.options.balance.0;
        // Intervals without other events may have been skipped.
        let missed = now.0.saturating_sub(self.next_balance) / length;
        self.next_balance = self.next_balance.saturating_add(length.saturating_mul(missed + 1));
        self.sample_load(now, length);
        self.balance_pairs(now);
        self.rotate_shared_queues(now, length);
    }

    /// Migrates tasks from the most to the least loaded clusters.
    fn balance_pairs(&mut self, now: Time) {
        let mut even = CpuSet::NONE;
        for _ in 0..2 * self.clusters.len() {
            let rest = || {
                let all = 0..self.clusters.len() as u32;
                all.filter(|k| !even.contains(crate::CpuId(*k)))
            };
            // Ties: the busiest with the least served task, the idlest with the most served one.
            let (min_service, max_service) = (
                |k: u32| self.clusters[k as usize].min_service,
                |k: u32| self.clusters[k as usize].max_service,
            );
            let by_load = |a: &u32, b: &u32| compare(self.load_ratio(*a), self.load_ratio(*b));
            let busiest =
                rest().max_by(|a, b| by_load(a, b).then(min_service(*b).cmp(&min_service(*a))));
            let idlest =
                rest().min_by(|a, b| by_load(a, b).then(max_service(*b).cmp(&max_service(*a))));
            let (Some(busy), Some(idle)) = (busiest, idlest) else { return };
            if !exceeds_margin(self.load_ratio(busy), self.load_ratio(idle)) {
                return;
            }
            let Some((task, balances_load)) = self.migration_candidate(busy, idle) else {
                even = even.or(CpuSet::one(crate::CpuId(idle)));
                continue;
            };
            let Some(attributes) = self.row(task).map(|row| row.attributes) else { return };
            let moved = self.migrate(now, task, idle, &attributes).is_ok();
            if !balances_load || !moved {
                let both = [busy, idle].map(crate::CpuId).into_iter().collect();
                even = even.or(both);
            }
        }
    }

    /// On each shared queue with a starved task, has the most served task rejoin.
    fn rotate_shared_queues(&mut self, now: Time, length: u64) {
        for k in 0..self.clusters.len() as u32 {
            let Some(task) = self.most_served_over_starved(k, length) else { continue };
            let Some(attributes) = self.row(task).map(|row| row.attributes) else { continue };
            if self.migrate(now, task, k, &attributes).is_ok() {
                self.rejoins += 1;
                let off = length / 101 * (self.rejoins % 8);
                self.next_balance = self.next_balance.saturating_add(off);
            }
        }
    }

    /// The most served task of a cluster in which another task had much less service, although it was always
    /// runnable and was without a CPU for some of the time.
    fn most_served_over_starved(&self, k: u32, length: u64) -> Option<TaskId> {
        let cluster = &self.clusters[k as usize];
        if cluster.cpus.len() < 2 {
            return None;
        }
        let rows = || {
            let tasks = cluster.tasks.iter().map(|task| TaskId(*task));
            let rows = tasks.filter_map(|task| Some((task, self.row(task)?)));
            rows.filter(|(_, row)| row.can_migrate() && row.is_runnable())
        };
        let starved = |row: &Row| row.demand.level == Demand::FULL && row.was_starved(length);
        let least_served = rows().map(|(_, row)| row).filter(|row| starved(row));
        let least_served = least_served.min_by_key(|row| row.service)?;
        let (task, most_served) =
            rows().max_by_key(|(task, row)| (row.service, core::cmp::Reverse(*task)))?;
        let more = most_served.service.saturating_sub(least_served.service);
        let weight = most_served.weight().min(least_served.weight());
        (unscaled(more, weight) > length / 16).then_some(task)
    }

    /// Updates the load of each task and cluster.
    fn sample_load(&mut self, now: Time, length: u64) {
        for cluster in &mut self.clusters {
            (cluster.load, cluster.min_service, cluster.max_service) = (0, u64::MAX, 0);
        }
        let mut least = u64::MAX;
        for row in self.rows.iter_mut().flatten() {
            row.demand.renew(now, length);
            row.interval_service = row.service.saturating_sub(row.before);
            row.before = row.service;
            let cluster = &mut self.clusters[row.cluster as usize];
            cluster.load += row.load();
            if row.load() > 0 {
                cluster.min_service = cluster.min_service.min(row.service);
                cluster.max_service = cluster.max_service.max(row.service);
            }
            if row.uses_background && row.is_runnable() {
                least = least.min(row.service);
            }
        }
        if least < u64::MAX {
            self.service_floor = self.service_floor.max(least);
        }
    }

    /// Load over capacity.
    fn load_ratio(&self, k: u32) -> (u64, u64) {
        let cluster = &self.clusters[k as usize];
        (cluster.load, cluster.capacity())
    }

    /// The task that migrates from a busy cluster to a less busy one, and whether that balances the load.
    fn migration_candidate(&self, busy: u32, idle: u32) -> Option<(TaskId, bool)> {
        let (from, to) = (&self.clusters[busy as usize], &self.clusters[idle as usize]);
        let rows = |k: u32| {
            let tasks = self.clusters[k as usize].tasks.iter().map(|task| TaskId(*task));
            tasks.filter_map(|task| Some((task, self.row(task)?)))
        };
        let movable = |row: &Row| row.can_migrate() && row.attributes.affinity.includes(to.set);
        let mut candidates: Vec<(TaskId, u64, u64)> = rows(busy)
            .filter(|(_, row)| movable(row))
            .map(|(task, row)| (task, row.load(), row.service))
            .collect();
        // Most service first; then by number.
        candidates.sort_by_key(|(task, _, service)| (core::cmp::Reverse(*service), *task));
        let after = |load: u64| {
            let (a, b) = ((from.load - load, from.capacity()), (to.load + load, to.capacity()));
            if compare(a, b) == Ordering::Less { b } else { a }
        };
        let mut best: Option<(TaskId, (u64, u64))> = None;
        for (task, load, _) in &candidates {
            let load_ratio = after(*load);
            if best.is_none_or(|(_, least)| compare(load_ratio, least) == Ordering::Less) {
                best = Some((*task, load_ratio));
            }
        }
        let (task, load_ratio) = best?;
        if exceeds_margin(self.load_ratio(busy), load_ratio) {
            return Some((task, true));
        }
        let min_service = candidates.iter().map(|(.., service)| *service).min()?;
        let max_service =
            rows(idle).filter(|(_, row)| row.load() > 0).map(|(_, row)| row.service).max()?;
        if max_service <= min_service {
            return None;
        }
        let not_worse =
            |load: u64| compare(after(load), self.load_ratio(busy)) != Ordering::Greater;
        let turn = candidates.iter().find(|(_, load, _)| not_worse(*load));
        turn.map(|(task, ..)| (*task, false))
    }
}
