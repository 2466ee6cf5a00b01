//! Reports that go out.

use rtcp_types::{
    Bye, Compound, ReceiverReport, ReportBlock, RtcpPacketWriter, RtcpPacketWriterExt,
    RtcpWriteError, Sdes, SdesChunk, SdesItem, SenderReport,
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

/// What a sender reports of itself.
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
