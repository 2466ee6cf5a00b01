//! Models of the Linux kernel's HFSC, HTB and CBS as [`LinkPolicy`], to simulate beside Laxity's policies the trees
//! that `laxity link plan` writes.
//!
//! A [`Tree`] has a leaf class for each flow or group of flows, below one root class; the link sends at the rate of
//! the scenario, as behind a shaper without burst. Time is in whole ns and work in nanobits, so curves and tokens
//! are exact where the kernel rounds to its ticks (64 ns).
//!
//! ```
//! use laxity_sim::link::disciplines::{Discipline, HfscClass, LeafQueue, Slopes, Tree};
//!
//! let share = |m2| HfscClass { rt: None, ls: Some(Slopes { m1: 0, d: 0, m2 }) };
//! let tree = Tree {
//!     classes: vec![0, 1],
//!     queues: vec![LeafQueue::Fifo { limit: 100_000 }; 2],
//!     discipline: Discipline::Hfsc(vec![share(8_000_000), share(2_000_000)]),
//! };
//! assert_eq!(laxity_link::LinkPolicy::waiting(&tree.policy(10_000_000).expect("a queue for each class")), 0);
//! ```

mod cbs;
mod hfsc;
mod htb;
mod leaf;

use std::fmt;

use laxity_core::{Rate, Span, Time};
use laxity_link::{Departure, DropSink, LinkPolicy, Packet};

pub use cbs::CbsClass;
pub use hfsc::{HfscClass, Slopes};
pub use htb::HtbClass;

use cbs::Cbs;
use hfsc::Hfsc;
use htb::Htb;
use leaf::Leaf;

/// Nanobits of a byte.
const BYTE: i128 = 8_000_000_000;

/// A tree of the kernel's disciplines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The leaf class of each flow, by [`FlowId`](laxity_core::FlowId).
    pub classes: Vec<usize>,
    /// The queue of each leaf class.
    pub queues: Vec<LeafQueue>,
    /// What chooses among the leaf classes.
    pub discipline: Discipline,
}

/// The queue of a leaf class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafQueue {
    /// `bfifo`: refuses what exceeds its limit.
    Fifo {
        /// In bytes on the wire.
        limit: u64,
    },
    /// `fq_codel` with ECN and 1024 queues.
    FqCodel {
        /// CoDel's target.
        target: Span,
        /// CoDel's interval.
        interval: Span,
    },
}

/// A discipline with its leaf classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// `sch_hfsc`.
    Hfsc(Vec<HfscClass>),
    /// `sch_htb`; the root class has the rate of the link.
    Htb(Vec<HtbClass>),
    /// `sch_cbs` below the queues of a device that sends the first queue first; classes without slopes have no
    /// credit.
    Cbs(Vec<Option<CbsClass>>),
}

/// Why a tree cannot be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeError {
    /// A flow names a leaf class that the tree lacks.
    Class {
        /// The flow's number.
        flow: usize,
        /// The class's number.
        class: usize,
    },
    /// The discipline has more or fewer classes than there are queues.
    Queues {
        /// Classes of the discipline.
        classes: usize,
        /// Queues.
        queues: usize,
    },
    /// The link has no rate.
    Rate,
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeError::Class { flow, class } => {
                write!(f, "flow {flow} is in leaf class {class}, which the tree lacks; add it")
            }
            TreeError::Queues { classes, queues } => {
                write!(f, "{classes} leaf classes have {queues} queues; give each class one")
            }
            TreeError::Rate => f.write_str("the link has a rate of 0; give it one"),
        }
    }
}

impl std::error::Error for TreeError {}

impl Tree {
    /// The tree on a link of `rate` bit/s.
    ///
    /// # Errors
    /// See [`TreeError`].
    pub fn policy(&self, rate: u64) -> Result<TreePolicy, TreeError> {
        let queues = self.queues.len();
        if rate == 0 {
            return Err(TreeError::Rate);
        }
        if let Some((flow, class)) = self.classes.iter().enumerate().find(|(_, c)| **c >= queues) {
            return Err(TreeError::Class { flow, class: *class });
        }
        let classes = match &self.discipline {
            Discipline::Hfsc(classes) => classes.len(),
            Discipline::Htb(classes) => classes.len(),
            Discipline::Cbs(classes) => classes.len(),
        };
        if classes != queues {
            return Err(TreeError::Queues { classes, queues });
        }
        let order: Box<dyn Order + Send> = match &self.discipline {
            Discipline::Hfsc(classes) => Box::new(Hfsc::new(classes)),
            Discipline::Htb(classes) => Box::new(Htb::new(classes, rate)),
            Discipline::Cbs(classes) => Box::new(Cbs::new(classes, rate)),
        };
        let leaves = self.queues.iter().map(|q| Leaf::new(*q, Rate(rate))).collect();
        Ok(TreePolicy { classes: self.classes.clone(), leaves, order, wake: None })
    }
}

/// A choice among leaf classes. Lengths are in bytes on the wire.
trait Order {
    /// A class that was empty has a packet of `head` bytes.
    fn begin(&mut self, class: usize, now: i128, head: u32);
    /// The class to send from, or the next time at which there may be one; `heads` are the lengths of the oldest
    /// packets.
    fn choose(&mut self, now: i128, heads: &[Option<u32>]) -> Choice;
    /// `class`, which was chosen, has sent `length` bytes from `now` on; `next` is its oldest packet then.
    fn sent(&mut self, class: usize, now: i128, length: u32, next: Option<u32>);
}

/// The outcome of [`Order::choose`].
enum Choice {
    Send(usize),
    Wait(Option<i128>),
}

/// A tree at work; see [`Tree::policy`].
pub struct TreePolicy {
    classes: Vec<usize>,
    leaves: Vec<Leaf>,
    order: Box<dyn Order + Send>,
    wake: Option<Time>,
}

impl fmt::Debug for TreePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreePolicy").field("classes", &self.classes).finish_non_exhaustive()
    }
}

impl LinkPolicy for TreePolicy {
    fn enqueue(&mut self, now: Time, packet: Packet, drops: &mut dyn DropSink) {
        // Flows of other numbers do not occur: the scenario's count is the tree's.
        let class = self.classes.get(packet.flow.index()).copied().unwrap_or(self.leaves.len() - 1);
        let leaf = &mut self.leaves[class];
        let empty = leaf.waiting() == 0;
        leaf.enqueue(now, packet, drops);
        if let Some(head) = leaf.peek(now, drops).filter(|_| empty) {
            self.order.begin(class, now.0.into(), head);
        }
    }

    // The tree relies on no capacity: there is nothing to take back.
    fn handle_stall(&mut self) {}

    fn dequeue(&mut self, now: Time, drops: &mut dyn DropSink) -> Option<Departure> {
        let heads: Vec<_> = self.leaves.iter_mut().map(|leaf| leaf.peek(now, drops)).collect();
        self.wake = None;
        match self.order.choose(now.0.into(), &heads) {
            Choice::Send(class) => {
                let packet = self.leaves[class].take()?;
                let next = self.leaves[class].peek(now, drops);
                self.order.sent(class, now.0.into(), packet.wire, next);
                Some(Departure { packet, deadline: Time::MAX, realtime: false, dropped: false })
            }
            Choice::Wait(until) => {
                let until = until.map(|at| u64::try_from(at).unwrap_or(u64::MAX));
                self.wake = until.map(|at| Time(at.max(now.0.saturating_add(1))));
                None
            }
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.wake
    }

    fn waiting(&self) -> usize {
        self.leaves.iter().map(Leaf::waiting).sum()
    }
}

#[cfg(test)]
mod tests;
