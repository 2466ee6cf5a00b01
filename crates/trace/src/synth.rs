//! Frames for packets that were only simulated.

use std::net::IpAddr;

use crate::decode::Headers;
use crate::write::WriteError;

/// The UDP destination port of flow 0; flow `n` has this plus `n` modulo [`SIM_PORTS`].
pub const SIM_PORT_BASE: u16 = 49_152;

/// Destination ports that simulated flows share: the dynamic ones, which no protocol owns.
pub const SIM_PORTS: u32 = 16_384;

/// Bytes of the Ethernet, IPv4 and UDP headers.
const HEADERS: usize = 42;
const SOURCE_PORT: u16 = 49_151;

/// A packet of a simulation, to be shown as Ethernet, IPv4 and UDP.
///
/// The flow's number is in two places: the UDP destination port is [`SIM_PORT_BASE`] plus the
/// number modulo [`SIM_PORTS`], and the low 24 bits of the source address (10.0.0.0/8) are the
/// number itself. The IPv4 identification is the low 16 bits of the sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimPacket {
    /// Number of the flow, below 2^24.
    pub flow: u32,
    /// Bytes of the frame from the Ethernet header on, without FCS.
    pub bytes: u32,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// Number of the packet within its flow.
    pub sequence: u64,
}

/// The headers of a [`SimPacket`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimFrame {
    headers: [u8; HEADERS],
    /// Length on the wire in bytes, that of the packet.
    pub original_len: u32,
}

impl SimFrame {
    /// The bytes to store: 42, or the packet's length where it is shorter than its headers.
    pub fn bytes(&self) -> &[u8] {
        &self.headers[..HEADERS.min(self.original_len as usize)]
    }
}

impl SimPacket {
    /// The packet's headers. Payload is left out, as by a capture cut off after the headers.
    ///
    /// The lengths inside agree with `bytes`; where they cannot, the IPv4 and UDP lengths are 0
    /// (too long for 16 bits, as in captures of packets that the network card cuts up) or those
    /// of a packet without payload (shorter than its headers). Wireshark shows such packets, with
    /// a note that they are malformed.
    ///
    /// # Errors
    ///
    /// When the flow's number or the code point is out of range.
    pub fn frame(&self) -> Result<SimFrame, WriteError> {
        if self.flow >> 24 != 0 {
            return Err(WriteError::FlowRange(self.flow));
        }
        if self.dscp > 63 {
            return Err(WriteError::DscpRange(self.dscp));
        }
        let ip_len = u16::try_from(self.bytes.saturating_sub(14).max(28)).unwrap_or(0);
        let udp_len = ip_len.saturating_sub(20);
        let port = SIM_PORT_BASE + (self.flow % SIM_PORTS) as u16;
        let [_, f2, f1, f0] = self.flow.to_be_bytes();
        let mut headers = [0; HEADERS];
        let (ethernet, rest) = headers.split_at_mut(14);
        let (ip, udp) = rest.split_at_mut(20);
        // Locally administered addresses: 02:...:02 receives, 02:...:01 sends.
        ethernet.copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        ip[0] = 0x45;
        ip[1] = self.dscp << 2;
        ip[2..4].copy_from_slice(&ip_len.to_be_bytes());
        ip[4..6].copy_from_slice(&(self.sequence as u16).to_be_bytes());
        ip[8] = 64;
        ip[9] = 17;
        ip[12..16].copy_from_slice(&[10, f2, f1, f0]);
        // 198.18.0.0/15 is reserved for measurements.
        ip[16..20].copy_from_slice(&[198, 18, 0, 1]);
        let sum = checksum(ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        udp[0..2].copy_from_slice(&SOURCE_PORT.to_be_bytes());
        udp[2..4].copy_from_slice(&port.to_be_bytes());
        // A UDP checksum of 0 means none.
        udp[4..6].copy_from_slice(&udp_len.to_be_bytes());
        Ok(SimFrame { headers, original_len: self.bytes })
    }
}

/// The flow number of a frame that [`SimPacket::frame`] made, `None` for any other.
pub fn simulated_flow(headers: &Headers) -> Option<u32> {
    let (Some(IpAddr::V4(src)), Some(17)) = (headers.src, headers.protocol) else { return None };
    let [10, rest @ ..] = src.octets() else { return None };
    let flow = rest.iter().fold(0, |n, byte| n << 8 | u32::from(*byte));
    let port = SIM_PORT_BASE + (flow % SIM_PORTS) as u16;
    (headers.sport == Some(SOURCE_PORT) && headers.dport == Some(port)).then_some(flow)
}

/// The IPv4 header checksum, over a header whose checksum field is 0.
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 =
        header.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded + (folded >> 16)) as u16)
}
