//! Who goes first on several CPUs that share one queue, and on which of them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::order::Order;
use crate::queue::Queue;
use crate::{CpuId, CpuSet};

const NOBODY: u32 = u32::MAX;

/// The earliest deadlines, as many as there are CPUs. Among equals those running stay, others go
/// in the order in which they were activated; whoever must make room has the latest deadline.
/// Nobody changes CPUs while running.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Several {
    waiting: Queue,
    /// Those that run, the latest deadline first.
    running: Queue,
    turns: u64,
    /// CPUs without anybody.
    free: CpuSet,
    /// By CPU: who runs, and who was last picked there.
    on: Vec<u32>,
    picked: Vec<u32>,
    /// By competitor: its CPU, or the last one that it had.
    place: Vec<u32>,
}

impl Several {
    pub(crate) fn new(cpus: u32) -> Several {
        let cpus = cpus.clamp(1, CpuSet::MOST);
        Several {
            waiting: Queue::default(),
            running: Queue::default(),
            turns: 0,
            free: CpuSet::range(0, cpus),
            on: alloc::vec![NOBODY; cpus as usize],
            picked: alloc::vec![NOBODY; cpus as usize],
            place: Vec::new(),
        }
    }

    fn reserve(&mut self, competitors: usize) {
        self.waiting.reserve(competitors);
        self.running.reserve(competitors);
        if self.place.len() < competitors {
            self.place.resize(competitors, NOBODY);
        }
    }

    fn enter(&mut self, competitor: u32, deadline: u64) {
        if self.running.key(competitor).is_some() || self.waiting.key(competitor).is_some() {
            self.rekey(competitor, deadline);
        } else {
            self.turns += 1;
            self.waiting.set(competitor, deadline, self.turns);
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
        for picked in self.picked.iter_mut().filter(|p| **p == competitor) {
            *picked = NOBODY;
        }
    }

    fn vacate(&mut self, competitor: u32) -> u32 {
        let cpu = self.place[competitor as usize];
        self.on[cpu as usize] = NOBODY;
        self.free = self.free.or(CpuSet::one(CpuId(cpu)));
        cpu
    }

    /// Moves the first that waits to a CPU.
    fn start(&mut self, competitor: u32, deadline: u64, cpu: u32) {
        let turn = self.waiting.turn(competitor);
        self.waiting.remove(competitor);
        // Of equal deadlines the one activated last makes room first.
        self.running.set(competitor, u64::MAX - deadline, u64::MAX - turn);
        self.place[competitor as usize] = cpu;
        self.on[cpu as usize] = competitor;
        self.free = self.free.without(CpuSet::one(CpuId(cpu)));
    }

    fn choose(&mut self) {
        while let Some((deadline, first)) = self.waiting.first() {
            let before = CpuId(self.place[first as usize]);
            let home = Some(before).filter(|cpu| self.free.contains(*cpu));
            if let Some(cpu) = home.or(self.free.first()) {
                self.start(first, deadline, cpu.0);
                continue;
            }
            let Some((key, last)) = self.running.first() else { break };
            if u64::MAX - key <= deadline {
                break;
            }
            let turn = u64::MAX - self.running.turn(last);
            self.running.remove(last);
            let cpu = self.vacate(last);
            self.start(first, deadline, cpu);
            self.waiting.set(last, u64::MAX - key, turn);
        }
    }
}

/// Competitors for one CPU or for several.
#[derive(Clone, Debug, Hash)]
pub(crate) enum Ready {
    One(Order),
    Several(Box<Several>),
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
            _ => Ready::Several(Box::new(Several::new(cpus))),
        }
    }

    pub(crate) fn reserve(&mut self, competitors: usize) {
        match self {
            Ready::One(order) => order.reserve(competitors),
            Ready::Several(several) => several.reserve(competitors),
        }
    }

    /// One starts competing, or goes on with another deadline.
    #[inline]
    pub(crate) fn enter(&mut self, competitor: u32, deadline: u64) {
        match self {
            Ready::One(order) => order.enter(competitor, deadline),
            Ready::Several(several) => several.enter(competitor, deadline),
        }
    }

    /// Another deadline for one that competes; nothing for others.
    #[inline]
    pub(crate) fn rekey(&mut self, competitor: u32, deadline: u64) {
        match self {
            Ready::One(order) => order.rekey(competitor, deadline),
            Ready::Several(several) => several.rekey(competitor, deadline),
        }
    }

    /// One stops competing, and has no claim to go first among equals later.
    #[inline]
    pub(crate) fn leave(&mut self, competitor: u32) {
        match self {
            Ready::One(order) => order.leave(competitor),
            Ready::Several(several) => several.leave(competitor),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Ready::One(order) => order.is_empty(),
            Ready::Several(several) => {
                several.waiting.first().is_none() && several.running.first().is_none()
            }
        }
    }

    /// One of those with early deadlines: the earliest where there is one CPU.
    pub(crate) fn first(&self) -> Option<u32> {
        match self {
            Ready::One(order) => order.first(),
            Ready::Several(several) => {
                several.running.first().or(several.waiting.first()).map(|(_, first)| first)
            }
        }
    }

    /// Who was picked last for this CPU, if it still competes, and who is now.
    #[inline]
    pub(crate) fn pick(&mut self, cpu: CpuId) -> (Option<u32>, Option<u32>) {
        match self {
            Ready::One(order) => (order.running(), order.choose()),
            Ready::Several(several) => {
                several.choose();
                let Some(now) = several.on.get(cpu.index()).copied() else { return (None, None) };
                let before = core::mem::replace(&mut several.picked[cpu.index()], now);
                let somebody = |who: u32| (who != NOBODY).then_some(who);
                (somebody(before), somebody(now))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // Fails when a later deadline of one that runs is not looked at, and when those that run
        // make room for equal deadlines: tried with `<` in `choose`.
        #[test]
        fn the_earliest_deadlines_run(
            moves in proptest::collection::vec((0..12u32, 0..6u64), 1..200),
            cpus in 2..5u32,
        ) {
            let mut several = Ready::new(cpus);
            several.reserve(12);
            let mut deadlines: [Option<u64>; 12] = [None; 12];
            let mut before: Vec<Option<u32>> = alloc::vec![None; cpus as usize];
            for (who, deadline) in moves {
                if deadline == 5 {
                    several.leave(who);
                    deadlines[who as usize] = None;
                } else {
                    several.enter(who, deadline);
                    deadlines[who as usize] = Some(deadline);
                }
                let on: Vec<Option<u32>> = (0..cpus).map(|c| several.pick(CpuId(c)).1).collect();
                let mut sorted: Vec<u64> = deadlines.iter().flatten().copied().collect();
                sorted.sort_unstable();
                sorted.truncate(cpus as usize);
                let mut found: Vec<u64> =
                    on.iter().flatten().map(|w| deadlines[*w as usize].expect("it competes")).collect();
                found.sort_unstable();
                prop_assert_eq!(&sorted, &found);
                for (cpu, last) in before.iter().enumerate() {
                    let Some(last) = *last else { continue };
                    // Who runs on does so where it was, and only a strictly earlier one displaces.
                    let still = on.iter().position(|w| *w == Some(last));
                    prop_assert!(still.is_none_or(|c| c == cpu));
                    if let (None, Some(deadline)) = (still, deadlines[last as usize]) {
                        prop_assert!(found.iter().all(|d| *d <= deadline));
                        let equal = deadlines.iter().flatten().filter(|d| **d <= deadline).count();
                        prop_assert!(equal > cpus as usize);
                    }
                }
                before = on;
            }
        }
    }
}
