//! The constants of an endpoint.

use laxity_core::Span;

/// Settings of a [`Connection`](crate::Connection). The defaults are what Linux does on an Ethernet path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The most bytes of payload in a segment, not zero: 1500 less the headers with timestamps.
    pub mss: u32,
    /// The initial window, in segments (RFC 6928).
    pub initial_window: u32,
    /// The receive window, in bytes. The application takes data at once, so it never closes.
    pub receive_window: u64,
    /// How long the acknowledgement of a single segment is delayed.
    pub ack_delay: Span,
    /// Data segments from the start that are acknowledged at once.
    pub quick_acks: u32,
    /// The least retransmission timeout; the least variance term too, as in Linux, so that a queue
    /// that grows within a round trip causes no timeout (RFC 6298 with 200 ms for 1 s).
    pub min_rto: Span,
    /// The first retransmission timeout (RFC 6298 section 2).
    pub initial_rto: Span,
    /// The greatest retransmission timeout.
    pub max_rto: Span,
    /// Whether a loss-based congestion control uses ECN (RFC 3168). Scalable ones always do.
    pub ecn: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mss: 1448,
            initial_window: 10,
            receive_window: 6_000_000,
            ack_delay: Span::from_millis(40),
            quick_acks: 16,
            min_rto: Span::from_millis(200),
            initial_rto: Span::from_millis(1000),
            max_rto: Span::from_millis(120_000),
            ecn: false,
        }
    }
}
