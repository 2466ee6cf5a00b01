//! RTP: access units into payloads, payloads into packets (RFC 3550).

mod payload;
#[cfg(test)]
mod tests;

use std::fmt;

use rtp_types::RtpPacketBuilder;

pub use payload::{Payload, Payloader, TooLarge};

/// Bytes of an RTP header without contributing sources and extension.
pub const HEADER: usize = 12;

/// Default of the largest RTP packet: it passes through every tunnel in use
/// without being fragmented, as WebRTC also assumes.
pub const DEFAULT_LARGEST: usize = 1200;

/// The greatest payload of UDP over IPv4, in bytes.
pub const LARGEST_DATAGRAM: usize = 65_507;

/// The numbering of one RTP stream.
#[derive(Clone, Debug)]
pub struct Numbering {
    ssrc: u32,
    payload_type: u8,
    sequence: u16,
    timestamp: u32,
}

/// A payload type above 127.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadTypeError(pub u8);

impl fmt::Display for PayloadTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "payload type {}: give 0 to 127, 96 to 127 for dynamic ones", self.0)
    }
}

impl std::error::Error for PayloadTypeError {}

impl Numbering {
    /// Starts at a sequence number and timestamp drawn from `ssrc`: RFC 3550 wants them hard to
    /// guess for encryption, which is not used, and reproducible runs need them fixed.
    ///
    /// # Errors
    /// When the payload type does not fit its seven bits.
    pub fn new(ssrc: u32, payload_type: u8) -> Result<Numbering, PayloadTypeError> {
        if payload_type > 127 {
            return Err(PayloadTypeError(payload_type));
        }
        let mixed = ssrc.wrapping_mul(0x9e37_79b9);
        Ok(Numbering { ssrc, payload_type, sequence: (mixed >> 16) as u16, timestamp: mixed })
    }

    /// Writes the next packet in place of what `packet` holds. `ticks` counts from the start of
    /// the stream, on its clock.
    pub fn write(&mut self, packet: &mut Vec<u8>, ticks: u64, payload: &Payload<'_>) {
        packet.clear();
        RtpPacketBuilder::<&[u8], &[u8]>::new()
            .ssrc(self.ssrc)
            .payload_type(self.payload_type)
            .sequence_number(self.sequence)
            // Timestamps wrap.
            .timestamp(self.timestamp.wrapping_add(ticks as u32))
            .marker_bit(payload.marker)
            .payload(payload.prefix)
            .payload(payload.body)
            .write_into_vec_unchecked(packet);
        self.skip();
    }

    /// The number that the next packet gets.
    pub fn next_sequence(&self) -> u16 {
        self.sequence
    }

    /// Passes over a sequence number: the receiver counts a packet as lost.
    pub fn skip(&mut self) {
        self.sequence = self.sequence.wrapping_add(1);
    }
}
