//! Sources that offer packets to a link, and learn of their departures and drops.

use laxity_core::Time;
use laxity_traffic::Arrival;

/// Offers packets in order of time. The engine numbers them and reports what becomes of each.
pub trait TrafficSource {
    /// When to call [`poll`](TrafficSource::poll) next. It may become earlier, not before the present,
    /// only by a report.
    fn next_time(&self) -> Option<Time>;

    /// Proceeds to [`next_time`](TrafficSource::next_time); returns the packet of this number that
    /// arrives then, if one does.
    fn poll(&mut self, seq: u64) -> Option<Arrival>;

    /// The transmission of a packet ends at `end`.
    fn handle_sent(&mut self, seq: u64, end: Time);

    /// A packet will not be sent.
    fn handle_dropped(&mut self, seq: u64);

    /// A packet that waits carries "congestion experienced" from now on.
    fn handle_marked(&mut self, seq: u64);
}

/// Packets that come whatever happens to earlier ones.
#[derive(Debug)]
pub struct OpenLoop<I> {
    arrivals: I,
    next: Option<Arrival>,
}

impl<I: Iterator<Item = Arrival>> OpenLoop<I> {
    /// Arrivals in order of time.
    pub fn new(mut arrivals: I) -> OpenLoop<I> {
        let next = arrivals.next();
        OpenLoop { arrivals, next }
    }
}

impl<I: Iterator<Item = Arrival>> TrafficSource for OpenLoop<I> {
    #[inline]
    fn next_time(&self) -> Option<Time> {
        self.next.map(|arrival| arrival.time)
    }

    #[inline]
    fn poll(&mut self, _: u64) -> Option<Arrival> {
        std::mem::replace(&mut self.next, self.arrivals.next())
    }

    #[inline]
    fn handle_sent(&mut self, _: u64, _: Time) {}

    #[inline]
    fn handle_dropped(&mut self, _: u64) {}

    #[inline]
    fn handle_marked(&mut self, _: u64) {}
}
