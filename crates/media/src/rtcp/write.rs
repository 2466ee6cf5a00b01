//! Reports to be sent.

use rtcp_types::{
    Bye, Compound, ReceiverReport, ReportBlock, RtcpPacketWriter, RtcpPacketWriterExt,
    RtcpWriteError, Sdes, SdesChunk, SdesItem, SenderReport,
};

use super::ReceptionReport;

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

/// The sender information of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// Wall time, see [`ntp`](super::ntp).
    pub ntp: u64,
    /// The same instant on the stream's clock.
    pub rtp: u32,
    /// Packets sent.
    pub packets: u32,
    /// Octets of payload sent.
    pub octets: u32,
    /// Nothing more will come: a goodbye follows the report (RFC 3550, section 6.6).
    pub ends: bool,
}

/// A sender report with the source's name.
///
/// # Errors
/// The name cannot be written.
pub fn sender_report(ssrc: u32, cname: &str, sending: &Sending) -> Result<Vec<u8>, RtcpWriteError> {
    let report = SenderReport::builder(ssrc)
        .ntp_timestamp(sending.ntp)
        .rtp_timestamp(sending.rtp)
        .packet_count(sending.packets)
        .octet_count(sending.octets);
    let compound = Compound::builder().add_packet(report).add_packet(name(ssrc, cname));
    match sending.ends {
        true => write(compound.add_packet(Bye::builder().add_source(ssrc))),
        false => write(compound),
    }
}

/// A receiver report on up to 31 sources, with the receiver's name.
///
/// # Errors
/// More sources than fit, or a name that cannot be written.
pub fn receiver_report(
    ssrc: u32,
    cname: &str,
    blocks: &[ReceptionReport],
) -> Result<Vec<u8>, RtcpWriteError> {
    let mut report = ReceiverReport::builder(ssrc);
    for block in blocks {
        let lost = block.lost.clamp(-0x80_0000, 0x7f_ffff) as u32 & 0xff_ffff;
        report = report.add_report_block(
            ReportBlock::builder(block.ssrc)
                .fraction_lost(block.fraction_lost)
                .cumulative_lost(lost)
                .extended_sequence_number(block.highest)
                .interarrival_jitter(block.jitter)
                .last_sender_report_timestamp(block.last_report)
                .delay_since_last_sender_report_timestamp(block.since_report),
        );
    }
    write(Compound::builder().add_packet(report).add_packet(name(ssrc, cname)))
}
