//! Congestion control: how large the window is.
//!
//! Windows count segments, as Linux's do. The sender decides when a congestion event happens, and
//! spreads each reduction over a round trip (RFC 6937); a [`Congestion`] decides growth and by how much
//! the window is reduced.

use core::fmt::Debug;

use laxity_core::{Span, Time};

use crate::Ecn;

mod bbr;
mod cbrt;
mod cubic;
mod dctcp;
mod hystart;
mod marking;
mod new_reno;
mod prague;

pub use bbr::Bbr;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use new_reno::NewReno;
pub use prague::Prague;

/// The congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Segments that may be in flight.
    pub cwnd: u32,
    /// Below this window the sender is in slow start.
    pub ssthresh: u32,
    /// Acknowledged segments that have not yet grown the window.
    pub credit: u32,
}

impl Window {
    /// Whether the window doubles each round trip.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by the acknowledged segments up to `ssthresh` (RFC 5681 section 3.1, RFC 3465 without its
    /// limit). Returns the segments that are left for congestion avoidance.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.cwnd.saturating_add(acked).min(self.ssthresh).max(self.cwnd);
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }

    /// Grows by a segment for each `per` acknowledged.
    pub fn increase(&mut self, per: u32, acked: u32) {
        // Credit earned at a slower pace is worth no more than one segment at a quicker one.
        if self.credit >= per {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += acked;
        self.cwnd += self.credit / per;
        self.credit %= per;
    }
}

/// A measurement of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-00).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Segments delivered in `interval`.
    pub delivered: u32,
    /// The longer of the times in which they were sent and acknowledged.
    pub interval: Span,
    /// Segments delivered before the last of them was sent.
    pub prior: u64,
    /// Segments delivered until now.
    pub total: u64,
    /// Whether the application lacked data meanwhile.
    pub app_limited: bool,
}

/// The information in an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Segments that it newly reports as received.
    pub delivered: u32,
    /// Of them, those that arrived with CE, by the counter of accurate ECN.
    pub marked: u32,
    /// The round trip of the last of them that was sent once only.
    pub rtt: Option<Span>,
    /// The connection's least round trip.
    pub min_rtt: Span,
    /// All bytes before this offset have arrived.
    pub una: u64,
    /// The offset of the next new byte.
    pub next: u64,
    /// Segments found lost by it.
    pub lost: u32,
    /// Segments in flight after it.
    pub in_flight: u32,
    /// The delivery rate, if it reports a segment.
    pub rate: Option<RateSample>,
}

/// Why the window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Lost segments.
    Loss,
    /// Marks.
    Ecn,
    /// A retransmission timeout.
    Timeout,
}

/// A congestion control algorithm.
pub trait Congestion: Debug + Send {
    /// Its name in scenarios.
    fn name(&self) -> &'static str;

    /// The codepoint of a scalable algorithm, which reacts to the extent of marking; `None` for one that
    /// treats a mark as a loss.
    fn scalable(&self) -> Option<Ecn> {
        None
    }

    /// Whether segments leave evenly over the round trip instead of at once.
    fn paces(&self) -> bool {
        false
    }

    /// The time between segments of a control that paces; `None`: from the window and the round trip.
    fn pacing_gap(&self) -> Option<Span> {
        None
    }

    /// Whether [`observe`](Congestion::observe) sets the window in every state, so that the sender
    /// neither reduces it nor restarts it after a pause; a timeout still does.
    fn owns_window(&self) -> bool {
        false
    }

    /// An acknowledgement, in every state and before [`grow`](Congestion::grow).
    fn observe(&mut self, window: &mut Window, ack: &Ack);

    /// Grows the window, which was used to the full, outside reductions.
    fn grow(&mut self, window: &mut Window, ack: &Ack);

    /// A congestion event: returns the new `ssthresh`.
    fn reduce(&mut self, window: &Window, signal: Signal) -> u32;

    /// Transmission resumes after `idle` with nothing in flight.
    fn resume(&mut self, idle: Span);

    /// The last reduction was for nothing (RFC 4015).
    fn undo(&mut self);
}
