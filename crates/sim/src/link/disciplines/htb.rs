//! HTB as `net/sched/sch_htb.c` has it: leaf classes below one root class of the link's rate.

use super::{BYTE, Choice, Order};

/// A leaf class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbClass {
    /// Priority; smaller goes first.
    pub prio: u64,
    /// In bit/s.
    pub rate: u64,
    /// In bit/s.
    pub ceil: u64,
    /// Bytes that the rate may save up; the ceiling as many.
    pub burst: u64,
    /// Bytes in a round beside classes of its priority.
    pub quantum: u32,
}

/// Longest time without sending that is counted, in ns.
const LONGEST: i128 = 60_000_000_000;

/// Tokens in ns of a rate.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: i128,
    full: i128,
    rate: i128,
}

impl Bucket {
    fn new(rate: u64, burst: u64) -> Bucket {
        let rate = i128::from(rate.max(1));
        let full = i128::from(burst) * BYTE / rate;
        Bucket { tokens: full, full, rate }
    }

    fn at(&self, passed: i128) -> i128 {
        (self.tokens + passed).min(self.full)
    }

    fn charge(&mut self, passed: i128, length: u32) {
        let cost = i128::from(length) * BYTE / self.rate;
        self.tokens = (self.at(passed) - cost).max(1 - LONGEST);
    }
}

struct Class {
    options: HtbClass,
    rate: Bucket,
    ceil: Bucket,
    counted: i128,
    /// Left of its quantum, with own tokens and borrowing.
    deficits: [i64; 2],
    active: bool,
}

impl Class {
    fn passed(&self, now: i128) -> i128 {
        (now - self.counted).min(LONGEST)
    }

    /// The level from which it may send, its own (0) or by borrowing (1), or the time at which that changes.
    fn level(&self, now: i128) -> Result<usize, i128> {
        let passed = self.passed(now);
        let (own, most) = (self.rate.at(passed), self.ceil.at(passed));
        match (most < 0, own >= 0) {
            (true, _) => Err(now - most),
            (_, true) => Ok(0),
            (_, false) => Ok(1),
        }
    }

    /// Until it has tokens of its own.
    fn own_from(&self, now: i128) -> i128 {
        now - self.rate.at(self.passed(now)).min(0)
    }
}

pub(super) struct Htb {
    classes: Vec<Class>,
    root: Class,
    /// The class whose turn it is, by level and priority.
    turns: [Vec<usize>; 2],
    level: usize,
}

/// Priorities of the kernel.
const PRIORITIES: usize = 8;

impl Htb {
    pub(super) fn new(classes: &[HtbClass], rate: u64) -> Htb {
        let class = |options: HtbClass| Class {
            options,
            rate: Bucket::new(options.rate, options.burst),
            ceil: Bucket::new(options.ceil, options.burst),
            counted: 0,
            deficits: [0; 2],
            active: false,
        };
        let burst =
            classes.iter().map(|c| u64::from(c.quantum)).max().unwrap_or(0).max(rate / 8000);
        let root = HtbClass { prio: 0, rate, ceil: rate, burst, quantum: 0 };
        Htb {
            classes: classes.iter().copied().map(class).collect(),
            root: class(root),
            turns: [vec![0; PRIORITIES], vec![0; PRIORITIES]],
            level: 0,
        }
    }

    fn priority(&self, class: usize) -> usize {
        (self.classes[class].options.prio as usize).min(PRIORITIES - 1)
    }

    /// The first class of a level by priority, then by turn.
    fn first(&self, ready: &[usize], level: usize) -> Option<usize> {
        let prio = ready.iter().map(|c| self.priority(*c)).min()?;
        let mut peers = ready.iter().copied().filter(|c| self.priority(*c) == prio);
        let turn = self.turns[level][prio];
        peers.clone().find(|c| *c >= turn).or_else(|| peers.next())
    }
}

impl Order for Htb {
    fn begin(&mut self, class: usize, _: i128, _: u32) {
        self.classes[class].active = true;
    }

    fn choose(&mut self, now: i128, _: &[Option<u32>]) -> Choice {
        let root = self.root.level(now);
        let (mut ready, mut later) = ([Vec::new(), Vec::new()], None::<i128>);
        for (i, class) in self.classes.iter().enumerate().filter(|(_, c)| c.active) {
            let wait = match (class.level(now), root) {
                (Ok(0), _) => {
                    ready[0].push(i);
                    continue;
                }
                (Ok(_), Ok(0)) => {
                    ready[1].push(i);
                    continue;
                }
                (Ok(_), Ok(_)) => class.own_from(now).min(self.root.own_from(now)),
                (Ok(_), Err(at)) => class.own_from(now).min(at),
                (Err(at), _) => at,
            };
            later = Some(later.map_or(wait, |at| at.min(wait)));
        }
        for (level, ready) in ready.iter().enumerate() {
            if let Some(class) = self.first(ready, level) {
                self.level = level;
                return Choice::Send(class);
            }
        }
        Choice::Wait(later)
    }

    fn sent(&mut self, class: usize, now: i128, length: u32, next: Option<u32>) {
        let (level, prio) = (self.level, self.priority(class));
        let own = &mut self.classes[class];
        own.deficits[level] -= i64::from(length);
        self.turns[level][prio] = class;
        if own.deficits[level] < 0 {
            own.deficits[level] += i64::from(own.options.quantum);
            self.turns[level][prio] = class + 1;
        }
        let passed = own.passed(now);
        if level == 0 {
            own.rate.charge(passed, length);
        } else {
            // What it borrows costs its parent.
            own.rate.tokens = own.rate.at(passed);
        }
        own.ceil.charge(passed, length);
        own.counted = now;
        own.active = next.is_some();
        let passed = self.root.passed(now);
        self.root.rate.charge(passed, length);
        self.root.ceil.charge(passed, length);
        self.root.counted = now;
    }
}
