//! TCP sources: keys, bounds and names.

use laxity_core::Span;

use crate::keys::{Kind, Table, optional, required};

/// Names of [`CongestionControl`], in the order of its variants.
pub(super) const CONTROLS: &[&str] = &["new-reno", "cubic", "dctcp", "prague", "bbr"];
/// Names of [`App`], in the order of its variants.
pub(super) const APPS: &[&str] = &["bulk", "page", "page-100kB", "page-2MB", "video"];

/// The most applications of one source.
pub const MAX_CONNECTIONS: u32 = 1000;

/// The smallest `max_packet` of a link for TCP sources: their segments fill it, and an acknowledgement
/// with the most SACK blocks has 90 B with its Ethernet header.
pub const MIN_TCP_PACKET: laxity_core::Bytes = laxity_core::Bytes(256);

/// A TCP source: applications whose servers send over the link. What their clients send takes half
/// a round trip, without a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSource {
    /// Of all its connections.
    pub control: CongestionControl,
    /// The round-trip time without queueing and transmission, split evenly between the ways.
    pub rtt: Span,
    /// The behaviour of each application.
    pub app: App,
    /// How many run at a time.
    pub count: u32,
    /// From when on they start: each at a random instant within a round trip.
    pub start: Span,
    /// Whether connections with a loss-based control use ECN; scalable ones always do.
    pub ecn: bool,
}

/// Congestion control of a [`TcpSource`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    /// RFC 6582.
    NewReno,
    /// RFC 9438, with HyStart.
    Cubic,
    /// RFC 8257.
    Dctcp,
    /// Scalable, paced, with ECT(1) (RFC 9331).
    Prague,
    /// Version 1.
    Bbr,
}

/// Application of a [`TcpSource`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum App {
    /// A transfer without end.
    Bulk,
    /// The median web page, 2.65 MB in 71 files over 6 connections, loaded again and again.
    Page,
    /// The same with a page of one file of 100 kB.
    SmallPage,
    /// The same with a page of 2 MB: 60 kB, then 40 files over 6 connections.
    LargePage,
    /// Adaptive video: segments of 4 s at 0.4 to 8 Mbit/s.
    Video,
}

/// The form `{ tcp, rtt, ... }` of `source`.
pub(super) const TCP: Table = Table {
    name: "tcp",
    doc: "Applications over TCP, which react to delay, drops and marks; best effort only. The link \
          carries what their servers send. Segments fill `max_packet`.",
    keys: &[
        required("tcp", Kind::Choice(CONTROLS), "\"cubic\"", "Congestion control."),
        required(
            "rtt",
            Kind::Time,
            "\"40 ms\"",
            "Round-trip time without queueing and transmission, from 10 us to 10 s.",
        ),
        optional(
            "app",
            Kind::Choice(APPS),
            "\"bulk\"",
            "\"page\"",
            "`bulk`: a transfer without end. `page`, `page-100kB`, `page-2MB`: a web page, loaded \
             again a second after it is complete. `video`: segments of 4 s in the best quality that \
             recent throughput allows.",
        ),
        optional(
            "count",
            Kind::Whole(1, MAX_CONNECTIONS),
            "1",
            "4",
            "Applications that run at a time, each a host of its own.",
        ),
        optional(
            "start",
            Kind::Time,
            "\"0 s\"",
            "\"1 s\"",
            "When they start, spread over a round trip.",
        ),
        optional(
            "ecn",
            Kind::Bool,
            "false",
            "true",
            "Whether `new-reno`, `cubic` and `bbr` use ECN (RFC 3168); `dctcp` and `prague` always do.",
        ),
    ],
};
