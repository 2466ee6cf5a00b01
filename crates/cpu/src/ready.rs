//! The ready queue of one CPU, or of several that share it under global EDF.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::order::Order;
use crate::queue::Queue;
use crate::{CpuId, CpuSet};

const NONE: u32 = u32::MAX;

/// Global EDF: as many competitors run as there are CPUs, those with the earliest deadlines. On ties
/// running competitors stay, others run in order of activation; the one with the latest deadline
/// is preempted. A running competitor does not migrate.
#[derive(Clone, Debug, Hash)]
pub(crate) struct GlobalEdfQueue {
    waiting: Queue,
    /// Running competitors, the latest deadline first.
    running: Queue,
    next_seq: u64,
    /// Idle CPUs.
    free: CpuSet,
    /// By CPU: the running competitor, and the one picked last.
    running_on: Vec<u32>,
    last_picked: Vec<u32>,
    /// By competitor: its CPU, or the last one it ran on.
    last_cpu: Vec<u32>,
}

impl GlobalEdfQueue {
    pub(crate) fn new(cpus: u32) -> GlobalEdfQueue {
        let cpus = cpus.clamp(1, CpuSet::MOST);
        GlobalEdfQueue {
            waiting: Queue::default(),
            running: Queue::default(),
            next_seq: 0,
            free: CpuSet::range(0, cpus),
            running_on: alloc::vec![NONE; cpus as usize],
            last_picked: alloc::vec![NONE; cpus as usize],
            last_cpu: Vec::new(),
        }
    }

    fn reserve(&mut self, competitors: usize) {
        self.waiting.reserve(competitors);
        self.running.reserve(competitors);
        if self.last_cpu.len() < competitors {
            self.last_cpu.resize(competitors, NONE);
        }
    }

    fn enter(&mut self, competitor: u32, deadline: u64) {
        if self.running.key(competitor).is_some() || self.waiting.key(competitor).is_some() {
            self.rekey(competitor, deadline);
        } else {
            self.next_seq += 1;
            self.waiting.set(competitor, deadline, self.next_seq);
        }
    }

    fn rekey(&mut self, competitor: u32, deadline: u64) {
        self.waiting.rekey(competitor, deadline);
        self.running.rekey(competitor, u64::MAX - deadline);
    }

    fn leave(&mut self, competitor: u32) {
        self.waiting.remove(competitor);
        if self.running.key(competitor).is_some() {
            self.running.remove(competitor);
            self.vacate(competitor);
        }
        for last_picked in self.last_picked.iter_mut().filter(|p| **p == competitor) {
            *last_picked = NONE;
        }
    }

    fn vacate(&mut self, competitor: u32) -> u32 {
        let cpu = self.last_cpu[competitor as usize];
        self.running_on[cpu as usize] = NONE;
        self.free = self.free.or(CpuSet::one(CpuId(cpu)));
        cpu
    }

    /// Moves a waiting competitor to a CPU.
    fn start(&mut self, competitor: u32, deadline: u64, cpu: u32) {
        let seq = self.waiting.seq(competitor);
        self.waiting.remove(competitor);
        // Of equal deadlines the one activated last is preempted first.
        self.running.set(competitor, u64::MAX - deadline, u64::MAX - seq);
        self.last_cpu[competitor as usize] = cpu;
        self.running_on[cpu as usize] = competitor;
        self.free = self.free.without(CpuSet::one(CpuId(cpu)));
    }

    fn choose(&mut self) {
        while let Some((deadline, first)) = self.waiting.first() {
            let previous = CpuId(self.last_cpu[first as usize]);
            let home = Some(previous).filter(|cpu| self.free.contains(*cpu));
            if let Some(cpu) = home.or(self.free.first()) {
                self.start(first, deadline, cpu.0);
                continue;
            }
            let Some((key, latest)) = self.running.first() else { break };
            if u64::MAX - key <= deadline {
                break;
            }
            let seq = u64::MAX - self.running.seq(latest);
            self.running.remove(latest);
            let cpu = self.vacate(latest);
            self.start(first, deadline, cpu);
            self.waiting.set(latest, u64::MAX - key, seq);
        }
    }
}

/// The ready queue of one CPU, or of several.
#[derive(Clone, Debug, Hash)]
pub(crate) enum Ready {
    One(Order),
    GlobalEdfQueue(Box<GlobalEdfQueue>),
}

impl Default for Ready {
    fn default() -> Ready {
        Ready::One(Order::default())
    }
}

impl Ready {
    pub(crate) fn new(cpus: u32) -> Ready {
        match cpus {
            0 | 1 => Ready::default(),
            _ => Ready::GlobalEdfQueue(Box::new(GlobalEdfQueue::new(cpus))),
        }
    }

    pub(crate) fn reserve(&mut self, competitors: usize) {
        match self {
            Ready::One(order) => order.reserve(competitors),
            Ready::GlobalEdfQueue(several) => several.reserve(competitors),
        }
    }

    /// Adds a competitor, or changes its deadline.
    #[inline]
    pub(crate) fn enter(&mut self, competitor: u32, deadline: u64) {
        match self {
            Ready::One(order) => order.enter(competitor, deadline),
            Ready::GlobalEdfQueue(several) => several.enter(competitor, deadline),
        }
    }

    /// Changes the deadline of a queued competitor.
    #[inline]
    pub(crate) fn rekey(&mut self, competitor: u32, deadline: u64) {
        match self {
            Ready::One(order) => order.rekey(competitor, deadline),
            Ready::GlobalEdfQueue(several) => several.rekey(competitor, deadline),
        }
    }

    /// Removes a competitor, which loses its precedence on ties.
    #[inline]
    pub(crate) fn leave(&mut self, competitor: u32) {
        match self {
            Ready::One(order) => order.leave(competitor),
            Ready::GlobalEdfQueue(several) => several.leave(competitor),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Ready::One(order) => order.is_empty(),
            Ready::GlobalEdfQueue(several) => {
                several.waiting.first().is_none() && several.running.first().is_none()
            }
        }
    }

    /// The competitor with the earliest deadline on one CPU; on several, a running one if any runs.
    pub(crate) fn first(&self) -> Option<u32> {
        match self {
            Ready::One(order) => order.first(),
            Ready::GlobalEdfQueue(several) => {
                several.running.first().or(several.waiting.first()).map(|(_, first)| first)
            }
        }
    }

    /// The competitor picked last, if still queued; on several CPUs there is none.
    pub(crate) fn running(&self) -> Option<u32> {
        match self {
            Ready::One(order) => order.running(),
            Ready::GlobalEdfQueue(_) => None,
        }
    }

    /// A queued competitor runs from now on, without a pick; on several CPUs nothing changes.
    pub(crate) fn resume(&mut self, competitor: u32) {
        if let Ready::One(order) = self {
            order.resume(competitor);
        }
    }

    /// The competitor picked last for this CPU, if still queued, and the one picked now.
    #[inline]
    pub(crate) fn pick(&mut self, cpu: CpuId) -> (Option<u32>, Option<u32>) {
        match self {
            Ready::One(order) => (order.running(), order.choose()),
            Ready::GlobalEdfQueue(several) => {
                several.choose();
                let Some(now) = several.running_on.get(cpu.index()).copied() else {
                    return (None, None);
                };
                let previous = core::mem::replace(&mut several.last_picked[cpu.index()], now);
                let some = |server: u32| (server != NONE).then_some(server);
                (some(previous), some(now))
            }
        }
    }

    /// As [`pick`](Self::pick) of one CPU among those that pass; `None` and no change if none does, or on several
    /// CPUs.
    pub(crate) fn pick_of(&mut self, passes: impl Fn(u32) -> bool) -> Option<(Option<u32>, u32)> {
        let Ready::One(order) = self else { return None };
        let before = order.running();
        Some((before, order.choose_of(passes)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // Fails when a later deadline of a running competitor is ignored, and when running
        // competitors are preempted on equal deadlines: tried with `<` in `choose`.
        #[test]
        fn the_earliest_deadlines_run(
            moves in proptest::collection::vec((0..12u32, 0..6u64), 1..200),
            cpus in 2..5u32,
        ) {
            let mut several = Ready::new(cpus);
            several.reserve(12);
            let mut deadlines: [Option<u64>; 12] = [None; 12];
            let mut previous: Vec<Option<u32>> = alloc::vec![None; cpus as usize];
            for (server, deadline) in moves {
                if deadline == 5 {
                    several.leave(server);
                    deadlines[server as usize] = None;
                } else {
                    several.enter(server, deadline);
                    deadlines[server as usize] = Some(deadline);
                }
                let running_on: Vec<Option<u32>> = (0..cpus).map(|c| several.pick(CpuId(c)).1).collect();
                let mut sorted: Vec<u64> = deadlines.iter().flatten().copied().collect();
                sorted.sort_unstable();
                sorted.truncate(cpus as usize);
                let mut found: Vec<u64> =
                    running_on.iter().flatten().map(|w| deadlines[*w as usize].expect("it competes")).collect();
                found.sort_unstable();
                prop_assert_eq!(&sorted, &found);
                for (cpu, latest) in previous.iter().enumerate() {
                    let Some(latest) = *latest else { continue };
                    // A competitor that keeps running does not migrate, and only a strictly
                    // earlier deadline preempts.
                    let still = running_on.iter().position(|w| *w == Some(latest));
                    prop_assert!(still.is_none_or(|c| c == cpu));
                    if let (None, Some(deadline)) = (still, deadlines[latest as usize]) {
                        prop_assert!(found.iter().all(|d| *d <= deadline));
                        let equal = deadlines.iter().flatten().filter(|d| **d <= deadline).count();
                        prop_assert!(equal > cpus as usize);
                    }
                }
                previous = running_on;
            }
        }
    }
}
