//! Fair order among classes whose packets are chosen at each decision.

use alloc::{boxed::Box, vec, vec::Vec};

use laxity_core::Weight;

use super::longest::Longest;
use super::shares::Shares;
use crate::config::FairQueue;
use crate::edf::tournament::{Tournament, Wide};

/// [`Scfq`](super::Scfq) or [`Wf2qPlus`](super::Wf2qPlus) over classes of which only the candidate
/// is known, and may change until it is sent.
///
/// The start tag of a class is fixed when it begins to wait and when a packet of it is sent; the
/// finish tag follows the size of the candidate. So a drop costs its class nothing.
#[derive(Clone, Debug)]
pub(crate) struct LateFair {
    self_clocked: bool,
    shares: Shares,
    classes: Box<[Class]>,
    /// Waiting classes whose start tag is at most `virtual_time`, by finish tag.
    eligible: Tournament<Wide>,
    /// The other waiting classes, by start tag.
    later: Tournament<Wide>,
    hidden: Vec<usize>,
    backlog: Longest,
    virtual_time: i128,
    waiting: usize,
    /// Number of the busy period; tags of earlier ones count as zero.
    period: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    /// Start tag of the candidate, or finish tag of the last packet sent while nothing waits.
    start: i128,
    period: u64,
    /// Size of the candidate, which may be 0; `None` while nothing waits.
    candidate: Option<u32>,
    hidden: bool,
}

impl LateFair {
    /// A class for each weight.
    pub(crate) fn new(kind: FairQueue, weights: &[Weight]) -> LateFair {
        let classes = weights.len();
        LateFair {
            self_clocked: kind == FairQueue::Scfq,
            shares: Shares::new(weights, true),
            classes: vec![Class::default(); classes].into_boxed_slice(),
            eligible: Tournament::new(classes),
            later: Tournament::new(classes),
            hidden: Vec::with_capacity(classes),
            backlog: Longest::new(classes),
            virtual_time: 0,
            waiting: 0,
            period: 0,
        }
    }

    /// A packet enters a class.
    #[inline]
    pub(crate) fn add(&mut self, class: usize, wire: u32) {
        self.backlog.add(class, wire, &self.shares);
    }

    /// A packet leaves a class, sent or not.
    #[inline]
    pub(crate) fn subtract(&mut self, class: usize, wire: u32) {
        self.backlog.subtract(class, wire);
    }

    /// The class with the longest queue relative to its weight.
    pub(crate) fn longest(&mut self) -> Option<usize> {
        let classes = &self.classes;
        self.backlog.longest(&self.shares, |class| classes[class].candidate.is_some())
    }

    /// The size of the candidate of a class now, if it has one.
    #[inline]
    pub(crate) fn set(&mut self, class: usize, candidate: Option<u32>) {
        let state = &mut self.classes[class];
        if state.candidate == candidate {
            return;
        }
        let waited = core::mem::replace(&mut state.candidate, candidate).is_some();
        if candidate.is_none() {
            self.eligible.withdraw(class);
            self.later.withdraw(class);
            self.waiting -= 1;
            if self.waiting == 0 {
                self.virtual_time = 0;
                self.period += 1;
            }
            return;
        }
        if !waited {
            let last = if state.period == self.period { state.start } else { 0 };
            state.start = last.max(self.virtual_time);
            state.period = self.period;
            self.waiting += 1;
        }
        self.enter(class);
    }

    /// `wire` bytes of a class are sent. A new candidate is set afterwards.
    #[inline]
    pub(crate) fn serve(&mut self, class: usize, wire: u32) {
        let finish = self.classes[class].start + self.shares.cost(class, wire);
        self.classes[class].start = finish;
        if self.self_clocked {
            self.virtual_time = self.virtual_time.max(finish);
        } else {
            self.virtual_time += self.shares.common_cost(wire);
        }
        self.enter(class);
    }

    #[inline]
    fn enter(&mut self, class: usize) {
        let state = self.classes[class];
        self.eligible.withdraw(class);
        self.later.withdraw(class);
        let Some(wire) = state.candidate.filter(|_| !state.hidden) else { return };
        if self.self_clocked || state.start <= self.virtual_time {
            let finish = state.start + self.shares.cost(class, wire);
            self.eligible.set(class, Wide::new(finish, class));
        } else {
            self.later.set(class, Wide::new(state.start, class));
        }
    }

    /// The waiting class that is next in fair order and not hidden.
    #[inline]
    pub(crate) fn winner(&mut self) -> Option<usize> {
        while let Some((start, class)) = self.later.winner().get() {
            if start > self.virtual_time {
                if self.eligible.winner().get().is_some() {
                    break;
                }
                if !self.hidden.is_empty() {
                    // Virtual time waits for the hidden ones.
                    return Some(class);
                }
                self.virtual_time = start;
            }
            self.enter(class);
        }
        self.eligible.winner().get().map(|(_, class)| class)
    }

    /// Leaves a class out until [`unhide`](Self::unhide).
    pub(crate) fn hide(&mut self, class: usize) {
        self.classes[class].hidden = true;
        self.hidden.push(class);
        self.enter(class);
    }

    /// Takes back all hidden classes.
    #[inline]
    pub(crate) fn unhide(&mut self) {
        while let Some(class) = self.hidden.pop() {
            self.classes[class].hidden = false;
            self.enter(class);
        }
    }
}
