//! Received reports.

use rtcp_types::{Compound, Packet, ReportBlock, RtcpParseError};

use super::{ReceiverReport, ReceptionReport};

/// The report blocks of a compound packet, and the number of its goodbyes.
///
/// # Errors
/// It is not RTCP.
pub fn report_blocks(datagram: &[u8]) -> Result<(Vec<ReceptionReport>, u64), RtcpParseError> {
    let mut blocks = Vec::new();
    let mut goodbyes = 0;
    for packet in Compound::parse(datagram)? {
        match packet? {
            Packet::Rr(report) => blocks.extend(report.report_blocks().map(ReceptionReport::from)),
            Packet::Sr(report) => blocks.extend(report.report_blocks().map(ReceptionReport::from)),
            Packet::Bye(_) => goodbyes += 1,
            _ => {}
        }
    }
    Ok((blocks, goodbyes))
}

impl From<ReportBlock<'_>> for ReceptionReport {
    fn from(block: ReportBlock<'_>) -> ReceptionReport {
        // 24 bits with a sign.
        let lost = (block.cumulative_lost() << 8) as i32 >> 8;
        ReceptionReport {
            ssrc: block.ssrc(),
            fraction_lost: block.fraction_lost(),
            lost,
            highest: block.extended_sequence_number(),
            jitter: block.interarrival_jitter(),
            last_report: block.last_sender_report_timestamp(),
            since_report: block.delay_since_last_sender_report_timestamp(),
        }
    }
}

/// Sequence numbers sent on the stream of a report block.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentRange {
    /// The first sequence number.
    pub first: u16,
    /// How many were assigned.
    pub numbered: u64,
}

impl ReceptionReport {
    /// Copies the block into the report of its stream; false if it is implausible.
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
