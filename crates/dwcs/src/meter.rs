//! Observers of stream events.

use laxity_core::Span;

use crate::Tolerance;

/// A packet that goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// From arrival to start of service.
    pub delay: Span,
    /// The packet missed a deadline before.
    pub late: bool,
    /// It goes out after its deadline, and the miss was never charged: deadlines are not checked
    /// after every service, and [`Options::settle`](crate::Options::settle) is off.
    pub hidden: bool,
}

/// Deadlines of one stream that passed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misses {
    /// How many.
    pub count: u64,
    /// How many of them found a window that tolerated none, rule (C).
    pub violations: u64,
    /// Each cost a packet.
    pub dropped: bool,
}

/// Statistics that decisions do not read. `()` collects none and costs nothing.
///
/// `slot` is [`StreamId::slot`](crate::StreamId::slot). Only [`join`](Self::join) may allocate.
pub trait Meter {
    /// A stream joins, or changes its tolerance: the counts of its window are discarded.
    fn join(&mut self, slot: usize, tolerance: Tolerance, fresh: bool);

    /// A packet goes out.
    fn served(&mut self, slot: usize, service: Service);

    /// Deadlines were missed.
    fn missed(&mut self, slot: usize, misses: Misses);
}

impl Meter for () {
    #[inline]
    fn join(&mut self, _: usize, _: Tolerance, _: bool) {}

    #[inline]
    fn served(&mut self, _: usize, _: Service) {}

    #[inline]
    fn missed(&mut self, _: usize, _: Misses) {}
}
