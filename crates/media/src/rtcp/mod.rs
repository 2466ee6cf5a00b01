//! RTCP (RFC 3550, section 6) and ICMP errors: feedback from receivers and the network.
//!
//! Reports are not authenticated. They change statistics, never what is sent; implausible ones are
//! counted and otherwise ignored.

mod read;
mod service;
#[cfg(test)]
mod tests;
mod write;

use serde::Serialize;

pub use read::report_blocks;
pub use service::Service;
pub use write::{Sending, receiver_report, sender_report};

/// A report block: the reception of one source (RFC 3550, section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceptionReport {
    /// The source.
    pub ssrc: u32,
    /// Packets lost since the last report, in 1/256.
    pub fraction_lost: u8,
    /// Packets lost in all, 24 bits and a sign; negative when some came twice.
    pub lost: i32,
    /// Highest sequence number received, with cycles.
    pub highest: u32,
    /// Interarrival jitter in ticks.
    pub jitter: u32,
    /// The last sender report received, by its [`middle`]; 0 for none.
    pub last_report: u32,
    /// Time since then, in 1/65536 s.
    pub since_report: u32,
}

/// The last receiver report of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReceiverReport {
    /// Reports accepted.
    pub reports: u64,
    /// Reports that cannot be true.
    pub implausible: u64,
    /// Packets lost since the report before, in 1/256.
    pub fraction_lost: u8,
    /// Packets lost in all; negative when some came twice.
    pub lost: i32,
    /// Highest sequence number received, with cycles.
    pub highest_sequence: u32,
    /// Interarrival jitter in ticks of the stream's clock.
    pub jitter_ticks: u32,
    /// Round trip in nanoseconds, when it could be measured.
    pub round_trip_ns: Option<u64>,
}

/// Counts of received network packets, for all streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NetworkCounts {
    /// Report blocks accepted.
    pub receiver_reports: u64,
    /// Sender reports sent.
    pub sender_reports: u64,
    /// Datagrams that are no RTCP.
    pub malformed: u64,
    /// Report blocks about unknown streams.
    pub unknown_stream: u64,
    /// Report blocks from addresses to which their stream is not sent.
    pub wrong_address: u64,
    /// Report blocks that cannot be true.
    pub implausible: u64,
    /// Receivers that sent a goodbye.
    pub goodbyes: u64,
    /// ICMP errors about destinations of streams.
    pub icmp_errors: u64,
    /// ICMP errors about other destinations.
    pub unmatched_icmp_errors: u64,
}

/// The middle 32 bits of an NTP timestamp, by which reports refer to each other.
pub fn middle(ntp: u64) -> u32 {
    (ntp >> 16) as u32
}

/// Wall-clock nanoseconds since 1970 as an NTP timestamp: 32.32 bits of seconds since 1900.
pub fn ntp(wall: u64) -> u64 {
    const SINCE_1900: u64 = 2_208_988_800;
    let (seconds, rest) = (wall / 1_000_000_000, wall % 1_000_000_000);
    ((seconds + SINCE_1900) << 32) | ((rest << 32) / 1_000_000_000)
}

/// The wall-clock nanoseconds of an NTP timestamp of this era, `None` before 1970.
pub fn from_ntp(ntp: u64) -> Option<u64> {
    let seconds = (ntp >> 32).checked_sub(2_208_988_800)?;
    Some(seconds * 1_000_000_000 + (((ntp & 0xffff_ffff) * 1_000_000_000) >> 32))
}
