//! Reports that come in.

use rtcp_types::{Compound, Packet, ReportBlock, RtcpParseError};

use super::ReceiverReport;

/// One report block: a claim about the reception of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The stream's synchronisation source.
    pub about: u32,
    /// Packets lost since the last report, in 1/256.
    pub fraction_lost: u8,
    /// Packets lost in all, 24 bits and a sign.
    pub lost: i32,
    /// Highest sequence number received, with cycles.
    pub highest: u32,
    /// Interarrival jitter in ticks.
    pub jitter: u32,
    /// The sender report that the receiver saw last, by its [`middle`](super::middle); 0 for none.
    pub last_report: u32,
    /// How long ago that was, in 1/65536 s.
    pub since_report: u32,
}

/// The claims in a compound packet, and the number of its goodbyes.
///
/// # Errors
/// It is not RTCP.
pub fn claims(datagram: &[u8]) -> Result<(Vec<Claim>, u64), RtcpParseError> {
    let mut found = Vec::new();
    let mut goodbyes = 0;
    for packet in Compound::parse(datagram)? {
        match packet? {
            Packet::Rr(report) => found.extend(report.report_blocks().map(Claim::from)),
            Packet::Sr(report) => found.extend(report.report_blocks().map(Claim::from)),
            Packet::Bye(_) => goodbyes += 1,
            _ => {}
        }
    }
    Ok((found, goodbyes))
}

impl From<ReportBlock<'_>> for Claim {
    fn from(block: ReportBlock<'_>) -> Claim {
        // 24 bits with a sign.
        let lost = (block.cumulative_lost() << 8) as i32 >> 8;
        Claim {
            about: block.ssrc(),
            fraction_lost: block.fraction_lost(),
            lost,
            highest: block.extended_sequence_number(),
            jitter: block.interarrival_jitter(),
            last_report: block.last_sender_report_timestamp(),
            since_report: block.delay_since_last_sender_report_timestamp(),
        }
    }
}

/// Sequence numbers sent on the stream that a claim is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentRange {
    /// The first sequence number.
    pub first: u16,
    /// How many were assigned.
    pub numbered: u64,
}

impl Claim {
    /// Accepts the claim, unless it is implausible.
    pub(super) fn apply(
        &self,
        range: SentRange,
        round_trip: Option<u64>,
        report: &mut ReceiverReport,
    ) -> bool {
        // Receivers begin counting cycles when they join, so only the lower half is meaningful,
        // and once all numbers have been used nothing.
        let place = u64::from((self.highest as u16).wrapping_sub(range.first));
        let sent = place < range.numbered;
        let lost = u64::try_from(self.lost).unwrap_or(0) <= range.numbered;
        if !(sent && lost) {
            report.implausible += 1;
            return false;
        }
        report.reports += 1;
        report.fraction_lost = self.fraction_lost;
        report.lost = self.lost;
        report.highest_sequence = self.highest;
        report.jitter_ticks = self.jitter;
        report.round_trip_ns = round_trip.or(report.round_trip_ns);
        true
    }
}
