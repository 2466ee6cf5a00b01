//! Fair Service Curve over a link-sharing tree.
//!
//! Source: Ng, Stephens, Stoica, Zhang, "Supporting Best-Effort Traffic with Fair Service Curve",
//! GLOBECOM 1999; the tree and the upper limits are those of HFSC (Stoica, Zhang, Ng, SIGCOMM 1997,
//! and Linux's `sch_hfsc`).
//!
//! Each class has a curve over *virtual time*, in which `S_i(u)` bytes of it are served. `W_i` bytes
//! of it have been sent. When it begins to wait, it gets an *anchor* `(v, W_i)` with `v` in the
//! middle between the least and the greatest start of the classes beside it that wait, rounded
//! down; if none waits, the greatest start that any of them had. Then, over all of its anchors,
//!
//! ```text
//! start   v_i = max [x + sup { u : S(u) <= W_i - y }]
//! finish  f_i = max [x + Sinv(W_i + l - y)]        l: size of its candidate
//! ```
//!
//! and the least `(f, v, index)` is sent, or under `start` the least `(v, index)`. A class whose
//! curve is a line has the tags of start-time fair queueing. Nobody is punished for capacity that
//! others left: it moves all starts alike. Once no best effort waits or is being sent, all is
//! forgotten.
//!
//! An inner node of the tree has curve, work and anchors as a class has; the choice goes from the
//! root down, and `finish` uses the candidate that the subtree would send. A class or group with an
//! upper limit `U` is skipped until `Uinv(W)` after its anchors, here in real time; limits are
//! never forgotten, or a class would escape from its limit by waiting for an empty queue.
//!
//! Virtual times are integers, rounded up.

mod build;
mod family;

use alloc::{boxed::Box, vec::Vec};

use laxity_core::Time;
use laxity_curve::service::AnchoredCurve;

use super::longest::Longest;
use super::shares::Shares;
use crate::config::FscOrder;
use crate::edf::tournament::{Packed, Tournament};
pub use build::{ClassShare, class_shares};
use family::Family;

/// The tree of best effort: its leaves are the classes, whose candidates may change until they are
/// sent.
#[derive(Clone, Debug)]
pub(crate) struct Fsc {
    order: FscOrder,
    /// The classes and the groups.
    nodes: Box<[Node]>,
    root: usize,
    /// The children of each inner node, the root's last.
    families: Box<[Family]>,
    hidden: Vec<usize>,
    /// Active nodes that their limit holds back, by the instant until which it does.
    held: Tournament<Packed>,
    limited: bool,
    /// Whether there is something to forget.
    stale: bool,
    shares: Shares,
    backlog: Longest,
}

#[derive(Clone, Debug)]
struct Node {
    /// The family that it is a child of, and its place there.
    parent: usize,
    place: usize,
    curve: AnchoredCurve,
    /// Bytes sent since the tree was last idle.
    work: u64,
    start: i128,
    /// Whether it or something below it waits.
    active: bool,
    /// Size of the candidate that it would send.
    candidate: Option<u32>,
    hidden: bool,
    limit: Option<Limit>,
}

#[derive(Clone, Debug)]
struct Limit {
    curve: AnchoredCurve,
    /// Bytes ever sent.
    work: u64,
    /// When the next packet may start.
    until: u64,
}

impl Fsc {
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

    /// The class with the longest queue relative to its long-term rate.
    pub(crate) fn longest(&mut self) -> Option<usize> {
        let nodes = &self.nodes;
        self.backlog.longest(&self.shares, |class| nodes[class].candidate.is_some())
    }

    /// Whether a class or group has an upper limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.limited
    }

    /// Nothing waits and nothing is being sent.
    #[inline]
    pub(crate) fn forget(&mut self) {
        if !core::mem::take(&mut self.stale) {
            return;
        }
        for node in &mut self.nodes {
            (node.work, node.start) = (0, 0);
            node.curve.reset();
        }
        for family in &mut self.families {
            family.forget();
        }
    }

    /// The size of the candidate of a class at `now`, if it has one.
    #[inline]
    pub(crate) fn set(&mut self, now: Time, class: usize, candidate: Option<u32>) {
        if self.nodes[class].candidate == candidate {
            return;
        }
        self.nodes[class].candidate = candidate;
        match candidate {
            None => self.deactivate(class),
            Some(_) => self.activate(now, class),
        }
        self.enter(now, class);
    }

    /// The node begins to wait, and with it the groups around it in which nothing did.
    fn activate(&mut self, now: Time, class: usize) {
        self.stale = true;
        let (root, mut index) = (self.root, class);
        while !self.nodes[index].active {
            let node = &mut self.nodes[index];
            let family = &mut self.families[node.parent];
            node.active = true;
            node.curve.push(family.virtual_time(), node.work);
            node.start = node.curve.start(node.work);
            family.starts(node.place, node.start);
            if let Some(limit) = &mut node.limit {
                limit.curve.push(now.0.into(), limit.work);
                limit.renew();
            }
            if family.node == root {
                return;
            }
            index = family.node;
        }
    }

    /// The node ceases to wait, and with it the groups in which nothing waits any more.
    fn deactivate(&mut self, class: usize) {
        let (root, mut index) = (self.root, class);
        loop {
            let node = &mut self.nodes[index];
            node.active = false;
            let family = &mut self.families[node.parent];
            family.leave(node.place);
            if node.limit.is_some() {
                self.held.withdraw(index);
            }
            if family.is_active() || family.node == root {
                return;
            }
            index = family.node;
            self.nodes[index].candidate = None;
        }
    }

    /// Enters a node into the choice of its family, or takes it out, and so its groups.
    fn enter(&mut self, now: Time, class: usize) {
        let (root, mut index) = (self.root, class);
        loop {
            let node = &self.nodes[index];
            let held = node.limit.as_ref().filter(|limit| limit.until > now.0 && node.active);
            if node.limit.is_some() {
                match held {
                    Some(limit) => self.held.set(index, Packed::new(limit.until, index)),
                    None => self.held.withdraw(index),
                }
            }
            let candidate = node.candidate.filter(|_| held.is_none() && !node.hidden);
            let family = &mut self.families[node.parent];
            match (candidate, self.order) {
                (None, _) => family.refuse(node.place),
                (Some(_), FscOrder::Start) => family.offer(node.place, (node.start, 0)),
                (Some(wire), FscOrder::Finish) => {
                    let finish = node.curve.finish(node.work + u64::from(wire));
                    family.offer(node.place, (finish, node.start));
                }
            }
            let above = family.node;
            if above == root {
                return;
            }
            let choice = family.choice();
            self.nodes[above].candidate = choice.and_then(|child| self.nodes[child].candidate);
            index = above;
        }
    }

    /// `wire` bytes of a class are sent from `now`. A new candidate is set afterwards.
    #[inline]
    pub(crate) fn serve(&mut self, now: Time, class: usize, wire: u32) {
        let (root, mut index) = (self.root, class);
        loop {
            let node = &mut self.nodes[index];
            node.work += u64::from(wire);
            node.start = node.curve.start(node.work);
            let family = &mut self.families[node.parent];
            family.starts(node.place, node.start);
            if let Some(limit) = &mut node.limit {
                limit.work += u64::from(wire);
                limit.renew();
            }
            if family.node == root {
                break;
            }
            index = family.node;
        }
        self.enter(now, class);
    }

    /// The waiting class that is next at `now`, not hidden and not held back.
    #[inline]
    pub(crate) fn winner(&mut self, now: Time) -> Option<usize> {
        if self.limited {
            while let Some((until, index)) = self.held.winner().get() {
                if until > now.0 {
                    break;
                }
                self.enter(now, index);
            }
        }
        let mut family = self.families.last()?;
        loop {
            let index = family.choice()?;
            match index.checked_sub(self.classes()) {
                None => return Some(index),
                Some(group) => family = &self.families[group],
            }
        }
    }

    /// When a limit next lets something go that it holds back.
    pub(crate) fn next_event(&self) -> Option<Time> {
        self.held.winner().get().map(|(until, _)| Time(until))
    }

    fn classes(&self) -> usize {
        self.root + 1 - self.families.len()
    }

    /// Leaves a class out until [`unhide`](Self::unhide).
    pub(crate) fn hide(&mut self, now: Time, class: usize) {
        self.nodes[class].hidden = true;
        self.hidden.push(class);
        self.enter(now, class);
    }

    /// Takes back all hidden classes.
    #[inline]
    pub(crate) fn unhide(&mut self, now: Time) {
        while let Some(class) = self.hidden.pop() {
            self.nodes[class].hidden = false;
            self.enter(now, class);
        }
    }
}

impl Limit {
    /// Computes again when the next packet may start.
    fn renew(&mut self) {
        self.until = u64::try_from(self.curve.finish(self.work)).unwrap_or(u64::MAX);
    }
}

#[cfg(test)]
mod tests;
