//! The definition, with exact fractions, all anchors, and a search through the tree.

use alloc::{vec, vec::Vec};

use laxity_curve::Rational;
use laxity_curve::service::ServiceCurve;

use super::super::build::{curves, parents, sharing};
use super::*;

struct Slow {
    parent: usize,
    curve: ServiceCurve,
    anchors: Vec<(i128, u64)>,
    work: u64,
    start: i128,
    active: bool,
    limit: Option<ServiceCurve>,
    limit_anchors: Vec<(i128, u64)>,
    limit_work: u64,
}

/// The tree, the root last; its curve is never asked for.
pub(super) struct Reference {
    nodes: Vec<Slow>,
    greatest: Vec<i128>,
    queues: Vec<VecDeque<u32>>,
    order: FscOrder,
}

fn nanobits(bytes: u64) -> Rational {
    Rational::whole(i128::from(bytes) * laxity_core::NANOBITS_PER_BYTE)
}

fn latest(anchors: &[(i128, u64)], work: u64, inverse: impl Fn(Rational) -> Rational) -> i128 {
    let at = |(x, y): &(i128, u64)| x + inverse(nanobits(work - y)).ceil();
    anchors.iter().map(at).max().unwrap_or(0)
}

impl Slow {
    fn begins(&self) -> i128 {
        let inverse = |w| self.curve.curve().upper_inverse(w).unwrap().unwrap();
        latest(&self.anchors, self.work, inverse)
    }

    fn ends(&self, wire: u32) -> i128 {
        let work = self.work + u64::from(wire);
        latest(&self.anchors, work, |w| self.curve.reach(w).unwrap())
    }

    fn held_until(&self) -> i128 {
        let Some(limit) = &self.limit else { return 0 };
        latest(&self.limit_anchors, self.limit_work, |w| limit.reach(w).unwrap())
    }
}

impl Reference {
    pub(super) fn new(config: &LinkConfig, order: FscOrder) -> Reference {
        let above = parents(config).unwrap();
        let node = |(index, curve): (usize, ServiceCurve)| Slow {
            parent: above[index],
            curve,
            anchors: vec![],
            work: 0,
            start: 0,
            active: false,
            limit: sharing(config, index).and_then(|s| s.limit.clone()),
            limit_anchors: vec![],
            limit_work: 0,
        };
        let nodes: Vec<_> =
            curves(config, &above).unwrap().into_iter().enumerate().map(node).collect();
        Reference {
            greatest: vec![0; nodes.len() + 1],
            nodes,
            queues: vec![VecDeque::new(); config.best_effort.len()],
            order,
        }
    }

    pub(super) fn arrive(&mut self, now: u64, class: usize, wire: u32) {
        self.queues[class].push_back(wire);
        let mut index = class;
        while index < self.nodes.len() && !self.nodes[index].active {
            let above = self.nodes[index].parent;
            let starts = self.nodes.iter().filter(|n| n.active && n.parent == above);
            let starts: Vec<i128> = starts.map(|n| n.start).collect();
            let v = match (starts.iter().min(), starts.iter().max()) {
                (Some(least), Some(most)) => (least + most).div_euclid(2),
                _ => self.greatest[above],
            };
            let node = &mut self.nodes[index];
            node.active = true;
            node.anchors.push((v, node.work));
            node.start = node.begins();
            node.limit_anchors.push((now.into(), node.limit_work));
            self.greatest[above] = self.greatest[above].max(node.start);
            index = above;
        }
    }

    fn waits(&self, index: usize) -> bool {
        match self.queues.get(index) {
            Some(queue) => !queue.is_empty(),
            None => (0..self.nodes.len()).any(|n| self.nodes[n].parent == index && self.waits(n)),
        }
    }

    /// The first class in a subtree.
    fn first(&self, index: usize) -> usize {
        let below = (0..self.nodes.len()).filter(|n| self.nodes[*n].parent == index);
        if index < self.queues.len() {
            return index;
        }
        below.map(|n| self.first(n)).min().unwrap_or(usize::MAX)
    }

    /// The class that a subtree would send from.
    fn choice(&self, now: u64, index: usize) -> Option<usize> {
        if let Some(queue) = self.queues.get(index) {
            return (!queue.is_empty()).then_some(index);
        }
        let children = (0..self.nodes.len()).filter(|n| self.nodes[*n].parent == index);
        let keyed = children.filter_map(|child| {
            let class = self.choice(now, child)?;
            let node = &self.nodes[child];
            if node.held_until() > now.into() {
                return None;
            }
            let key = match self.order {
                FscOrder::Start => (node.start, 0),
                FscOrder::Finish => (node.ends(self.queues[class][0]), node.start),
            };
            Some((key, self.first(child), class))
        });
        keyed.min().map(|(_, _, class)| class)
    }

    /// Sends at `now` from the class that is next.
    pub(super) fn send(&mut self, now: u64) -> Option<usize> {
        if self.queues.iter().all(VecDeque::is_empty) {
            for node in &mut self.nodes {
                (node.work, node.start) = (0, 0);
                node.anchors.clear();
            }
            self.greatest.fill(0);
        }
        let class = self.choice(now, self.nodes.len())?;
        let wire = u64::from(self.queues[class].pop_front()?);
        let mut index = class;
        while index < self.nodes.len() {
            let waits = self.waits(index);
            let node = &mut self.nodes[index];
            node.work += wire;
            node.limit_work += wire;
            node.start = node.begins();
            node.active = waits;
            self.greatest[node.parent] = self.greatest[node.parent].max(node.start);
            index = node.parent;
        }
        Some(class)
    }

    /// The first instant after `now` at which a limit may let something go.
    pub(super) fn next_event(&self, now: u64) -> Option<u64> {
        let active = self.nodes.iter().filter(|n| n.active).map(Slow::held_until);
        active.filter(|at| *at > now.into()).min().map(|at| at as u64)
    }
}
