//! The order among classes whose packets are chosen at each decision: by weights or by curves.

use alloc::vec::Vec;

use laxity_core::Time;

use super::fsc::Fsc;
use super::late::LateFair;
use crate::config::{FairQueue, LinkConfig, LinkConfigError};

/// The order, dispatched without indirection. Instants matter to upper limits alone.
#[derive(Clone, Debug)]
pub(crate) enum LateOrder {
    Tags(LateFair),
    Curves(Fsc),
}

macro_rules! each {
    ($self:ident, $order:ident => $result:expr) => {
        match $self {
            LateOrder::Tags($order) => $result,
            LateOrder::Curves($order) => $result,
        }
    };
}

impl LateOrder {
    /// A class for each of the configuration.
    ///
    /// # Errors
    /// As [`Fsc::new`].
    pub(crate) fn new(config: &LinkConfig) -> Result<LateOrder, LinkConfigError> {
        if let FairQueue::Fsc(order) = config.fair_queue {
            return Ok(LateOrder::Curves(Fsc::new(config, order)?));
        }
        let weights: Vec<_> = config.best_effort.iter().map(|c| c.weight).collect();
        Ok(LateOrder::Tags(LateFair::new(config.fair_queue, &weights)))
    }

    /// A packet enters a class.
    #[inline]
    pub(crate) fn add(&mut self, class: usize, wire: u32) {
        each!(self, order => order.add(class, wire));
    }

    /// A packet leaves a class, sent or not.
    #[inline]
    pub(crate) fn subtract(&mut self, class: usize, wire: u32) {
        each!(self, order => order.subtract(class, wire));
    }

    /// The class with the longest queue relative to its share.
    pub(crate) fn longest(&mut self) -> Option<usize> {
        each!(self, order => order.longest())
    }

    /// The size of the candidate of a class at `now`, if it has one.
    #[inline]
    pub(crate) fn set(&mut self, now: Time, class: usize, candidate: Option<u32>) {
        match self {
            LateOrder::Tags(order) => order.set(class, candidate),
            LateOrder::Curves(order) => order.set(now, class, candidate),
        }
    }

    /// `wire` bytes of a class are sent from `now`. A new candidate is set afterwards.
    #[inline]
    pub(crate) fn serve(&mut self, now: Time, class: usize, wire: u32) {
        match self {
            LateOrder::Tags(order) => order.serve(class, wire),
            LateOrder::Curves(order) => order.serve(now, class, wire),
        }
    }

    /// The class that is next at `now` and not hidden.
    #[inline]
    pub(crate) fn winner(&mut self, now: Time) -> Option<usize> {
        match self {
            LateOrder::Tags(order) => order.winner(),
            LateOrder::Curves(order) => order.winner(now),
        }
    }

    /// Leaves a class out until [`unhide`](Self::unhide).
    pub(crate) fn hide(&mut self, now: Time, class: usize) {
        match self {
            LateOrder::Tags(order) => order.hide(class),
            LateOrder::Curves(order) => order.hide(now, class),
        }
    }

    /// Takes back all hidden classes.
    #[inline]
    pub(crate) fn unhide(&mut self, now: Time) {
        match self {
            LateOrder::Tags(order) => order.unhide(),
            LateOrder::Curves(order) => order.unhide(now),
        }
    }

    /// Nothing waits and nothing is being sent. Tags are forgotten as soon as nothing waits.
    #[inline]
    pub(crate) fn forget(&mut self) {
        if let LateOrder::Curves(order) = self {
            order.forget();
        }
    }

    /// Whether the order in which classes begin to wait matters.
    #[inline]
    pub(crate) fn is_eager(&self) -> bool {
        matches!(self, LateOrder::Curves(_))
    }

    /// Whether a class may be held back while nothing else is sent.
    #[inline]
    pub(crate) fn is_limited(&self) -> bool {
        matches!(self, LateOrder::Curves(order) if order.is_limited())
    }

    /// When an upper limit next lets a class go.
    pub(crate) fn next_event(&self) -> Option<Time> {
        match self {
            LateOrder::Tags(_) => None,
            LateOrder::Curves(order) => order.next_event(),
        }
    }
}
