//! Best-effort tasks move to where they get more.
//!
//! Now and then the clusters with most and least to do for what they have are paired. A task moves
//! if the busier of the two then has less to do. Where nothing evens out, as with three tasks on two
//! CPUs, the task that had most CPU time for its weight changes sides if that leaves the busier one
//! no worse: those that it leaves have the better place from then on, so all have their turn, and in
//! the long run equal service.
//!
//! Within a cluster of several CPUs the same can happen without a move: idle time goes to tasks without a
//! CPU, so one whose budget is always executed while CPUs idle gets none of it, for as long as the order of
//! releases stays what it is. So where a task falls behind, the one of its cluster that had most joins anew
//! there, which changes the order. Such turns are not taken at whole numbers of periods, or they might
//! restore the order each time.
//!
//! Who moves joins anew, and may wait until others have made room, so nothing moves for less than a
//! sixteenth.
//!
//! What a task has to do is its weight times the part of the time in which it was runnable lately.
//! Members of groups stay with their server, reservations where they were admitted.

use alloc::vec::Vec;
use core::cmp::Ordering;

use laxity_core::Time;

use super::place::compare;
use super::{Clusters, Row, SCALE};
use crate::{CpuSet, Policy, Service, TaskId};

/// The part of its time that a task is runnable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// Runnable since, if it is; within the current interval.
    since: Option<u64>,
    /// Time runnable in the current interval before that.
    time: u64,
    level: u64,
}

impl Demand {
    /// All the time.
    pub(super) const FULL: u64 = 1 << 10;

    /// Nothing is known; the worst is expected.
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

    /// An interval of this length ends.
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
fn is_much((a, b): (u64, u64), (c, d): (u64, u64)) -> bool {
    compare((a.saturating_mul(16), b), (c.saturating_mul(17), d)) == Ordering::Greater
}

/// CPU time for service of a weight.
fn unscaled(service: u64, weight: u64) -> u64 {
    service.saturating_mul(weight) / SCALE
}

impl Row {
    /// What it asks for of a cluster, besides reservations.
    pub(super) fn load(&self) -> u64 {
        if self.helped { self.weight() * self.demand.level } else { 0 }
    }

    /// Whether it is best effort, has work, and is on its own.
    fn may_move(&self) -> bool {
        let alone = self.attributes.group.is_none();
        self.load() > 0 && alone && self.attributes.service == Service::BestEffort
    }

    /// Whether it was without a CPU for some of the last interval.
    fn could_have_more(&self, length: u64) -> bool {
        unscaled(self.gained, self.weight()) < length / 16 * 15
    }
}

impl<P: Policy> Clusters<P> {
    /// Whether there is anything to balance, ever.
    pub(super) fn balances(&self) -> bool {
        let several = self.clusters.len() > 1 || self.clusters.iter().any(|c| c.cpus.len() > 1);
        self.options.balance.0 > 0 && several
    }

    pub(super) fn balance(&mut self, now: Time) {
        let length = self.options.balance.0;
        // Balances may have been missed where nothing else happened.
        let missed = now.0.saturating_sub(self.next_balance) / length;
        self.next_balance = self.next_balance.saturating_add(length.saturating_mul(missed + 1));
        self.measure(now, length);
        self.pair(now);
        self.take_turns(now, length);
    }

    /// Moves tasks from the busiest clusters to the idlest.
    fn pair(&mut self, now: Time) {
        let mut even = CpuSet::NONE;
        for _ in 0..2 * self.clusters.len() {
            let rest = || {
                let all = 0..self.clusters.len() as u32;
                all.filter(|k| !even.contains(crate::CpuId(*k)))
            };
            // Of equally busy clusters the one with whoever had least, of idle ones with who had most.
            let (poorest, richest) = (
                |k: u32| self.clusters[k as usize].poorest,
                |k: u32| self.clusters[k as usize].richest,
            );
            let by_load = |a: &u32, b: &u32| compare(self.part(*a), self.part(*b));
            let busiest = rest().max_by(|a, b| by_load(a, b).then(poorest(*b).cmp(&poorest(*a))));
            let idlest = rest().min_by(|a, b| by_load(a, b).then(richest(*b).cmp(&richest(*a))));
            let (Some(busy), Some(idle)) = (busiest, idlest) else { return };
            if !is_much(self.part(busy), self.part(idle)) {
                return;
            }
            let Some((task, evens)) = self.mover(busy, idle) else {
                even = even.or(CpuSet::one(crate::CpuId(idle)));
                continue;
            };
            let Some(attributes) = self.row(task).map(|row| row.attributes) else { return };
            let moved = self.relocate(now, task, idle, &attributes).is_ok();
            if !evens || !moved {
                let both = [busy, idle].map(crate::CpuId).into_iter().collect();
                even = even.or(both);
            }
        }
    }

    /// On each shared queue on which somebody falls behind, whoever had most joins anew.
    fn take_turns(&mut self, now: Time, length: u64) {
        for k in 0..self.clusters.len() as u32 {
            let Some(task) = self.richest_beside_poor(k, length) else { continue };
            let Some(attributes) = self.row(task).map(|row| row.attributes) else { continue };
            if self.relocate(now, task, k, &attributes).is_ok() {
                self.turns += 1;
                let off = length / 101 * (self.turns % 8);
                self.next_balance = self.next_balance.saturating_add(off);
            }
        }
    }

    /// Who had most in a cluster in which another one, though it always had work and could have had more,
    /// had much less.
    fn richest_beside_poor(&self, k: u32, length: u64) -> Option<TaskId> {
        let cluster = &self.clusters[k as usize];
        if cluster.cpus.len() < 2 {
            return None;
        }
        let rows = || {
            let tasks = cluster.tasks.iter().map(|task| TaskId(*task));
            let rows = tasks.filter_map(|task| Some((task, self.row(task)?)));
            rows.filter(|(_, row)| row.may_move() && row.is_runnable())
        };
        let waits = |row: &Row| row.demand.level == Demand::FULL && row.could_have_more(length);
        let poorest = rows().map(|(_, row)| row).filter(|row| waits(row));
        let poorest = poorest.min_by_key(|row| row.service)?;
        let (task, richest) =
            rows().max_by_key(|(task, row)| (row.service, core::cmp::Reverse(*task)))?;
        let more = richest.service.saturating_sub(poorest.service);
        let weight = richest.weight().min(poorest.weight());
        (unscaled(more, weight) > length / 16).then_some(task)
    }

    /// What each cluster and each task had to do lately.
    fn measure(&mut self, now: Time, length: u64) {
        for cluster in &mut self.clusters {
            (cluster.load, cluster.poorest, cluster.richest) = (0, u64::MAX, 0);
        }
        let mut least = u64::MAX;
        for row in self.rows.iter_mut().flatten() {
            row.demand.renew(now, length);
            row.gained = row.service.saturating_sub(row.before);
            row.before = row.service;
            let cluster = &mut self.clusters[row.cluster as usize];
            cluster.load += row.load();
            if row.load() > 0 {
                cluster.poorest = cluster.poorest.min(row.service);
                cluster.richest = cluster.richest.max(row.service);
            }
            if row.helped && row.is_runnable() {
                least = least.min(row.service);
            }
        }
        if least < u64::MAX {
            self.floor = self.floor.max(least);
        }
    }

    /// Load for capacity.
    fn part(&self, k: u32) -> (u64, u64) {
        let cluster = &self.clusters[k as usize];
        (cluster.load, cluster.capacity())
    }

    /// Who moves from a busy cluster to a less busy one, and whether that makes them more even.
    fn mover(&self, busy: u32, idle: u32) -> Option<(TaskId, bool)> {
        let (from, to) = (&self.clusters[busy as usize], &self.clusters[idle as usize]);
        let rows = |k: u32| {
            let tasks = self.clusters[k as usize].tasks.iter().map(|task| TaskId(*task));
            tasks.filter_map(|task| Some((task, self.row(task)?)))
        };
        let movable = |row: &Row| row.may_move() && row.attributes.affinity.includes(to.set);
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
            let part = after(*load);
            if best.is_none_or(|(_, least)| compare(part, least) == Ordering::Less) {
                best = Some((*task, part));
            }
        }
        let (task, part) = best?;
        if is_much(self.part(busy), part) {
            return Some((task, true));
        }
        let poorest = candidates.iter().map(|(.., service)| *service).min()?;
        let richest =
            rows(idle).filter(|(_, row)| row.load() > 0).map(|(_, row)| row.service).max()?;
        if richest <= poorest {
            return None;
        }
        let no_worse = |load: u64| compare(after(load), self.part(busy)) != Ordering::Greater;
        let turn = candidates.iter().find(|(_, load, _)| no_worse(*load));
        turn.map(|(task, ..)| (*task, false))
    }
}
