//! Reports that go out.

use rtcp_types::{
    Compound, ReceiverReport, ReportBlock, RtcpPacketWriter, RtcpPacketWriterExt, RtcpWriteError,
    Sdes, SdesChunk, SdesItem, SenderReport,
};

/// What a receiver reports of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reception {
    /// The source.
    pub about: u32,
    /// Packets lost since the last report, in 1/256.
    pub fraction_lost: u8,
    /// Packets lost in all; negative when some came twice.
    pub lost: i32,
    /// Highest sequence number received, with cycles.
    pub highest: u32,
    /// Interarrival jitter in ticks.
    pub jitter: u32,
    /// The last sender report, by its [`middle`](super::middle).
    pub last_report: u32,
    /// How long ago it came, in 1/65536 s.
    pub since_report: u32,
}

fn name(ssrc: u32, cname: &str) -> rtcp_types::SdesBuilder<'_> {
    // An item holds 255 bytes.
    let end =
        cname.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|e| *e <= 255).last();
    let item = SdesItem::builder(SdesItem::CNAME, &cname[..end.unwrap_or(0)]);
    Sdes::builder().add_chunk(SdesChunk::builder(ssrc).add_item(item))
}

fn write(compound: impl RtcpPacketWriter) -> Result<Vec<u8>, RtcpWriteError> {
    let mut bytes = vec![0; compound.calculate_size()?];
    let written = compound.write_into(&mut bytes)?;
    bytes.truncate(written);
    Ok(bytes)
}

/// A sender report with the source's name.
///
/// # Errors
/// The name cannot be written.
pub fn sender_report(
    ssrc: u32,
    cname: &str,
    ntp: u64,
    rtp: u32,
    packets: u32,
    octets: u32,
) -> Result<Vec<u8>, RtcpWriteError> {
    let report = SenderReport::builder(ssrc)
        .ntp_timestamp(ntp)
        .rtp_timestamp(rtp)
        .packet_count(packets)
        .octet_count(octets);
    write(Compound::builder().add_packet(report).add_packet(name(ssrc, cname)))
}

/// A receiver report on up to 31 sources, with the receiver's name.
///
/// # Errors
/// More sources than fit, or a name that cannot be written.
pub fn receiver_report(
    ssrc: u32,
    cname: &str,
    receptions: &[Reception],
) -> Result<Vec<u8>, RtcpWriteError> {
    let mut report = ReceiverReport::builder(ssrc);
    for reception in receptions {
        let lost = reception.lost.clamp(-0x80_0000, 0x7f_ffff) as u32 & 0xff_ffff;
        report = report.add_report_block(
            ReportBlock::builder(reception.about)
                .fraction_lost(reception.fraction_lost)
                .cumulative_lost(lost)
                .extended_sequence_number(reception.highest)
                .interarrival_jitter(reception.jitter)
                .last_sender_report_timestamp(reception.last_report)
                .delay_since_last_sender_report_timestamp(reception.since_report),
        );
    }
    write(Compound::builder().add_packet(report).add_packet(name(ssrc, cname)))
}
