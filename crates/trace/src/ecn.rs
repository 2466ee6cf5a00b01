//! Explicit congestion notification in the outermost IP header (RFC 3168).

use crate::decode::link::{self, IPV4, IPV6};
use crate::decode::{Cursor, Headers};
use crate::frame::LinkType;

/// ECN codepoint "congestion experienced".
pub const ECN_CE: u8 = 3;

/// Sets "congestion experienced" in a packet whose sender understands it; returns whether the
/// packet carries it now. Packets that are not ECN-capable, and frames whose IP header is not
/// there, stay as they are.
///
/// The checksum of an IPv4 header is updated by the difference (RFC 1624, equation 3), so a wrong
/// one stays wrong. IPv6 has none, and those of TCP and UDP do not cover the field.
///
/// ```
/// use laxity_trace::{LinkType, decode, set_ce};
///
/// let mut packet = [0; 20];
/// (packet[0], packet[1], packet[3]) = (0x45, 2, 20);
/// assert!(set_ce(LinkType::RAW, &mut packet));
/// assert_eq!(decode(LinkType::RAW, &packet).ecn, Some(3));
/// packet[1] = 0;
/// assert!(!set_ce(LinkType::RAW, &mut packet));
/// ```
pub fn set_ce(link_type: LinkType, data: &mut [u8]) -> bool {
    let mut c = Cursor::new(data);
    let Ok(kind) = link::network(link_type, &mut c, &mut Headers::default()) else { return false };
    let start = c.at;
    let packet = data.get_mut(start..).unwrap_or_default();
    match kind {
        IPV4 => packet.first_chunk_mut().is_some_and(set_ce_v4),
        IPV6 => packet.first_chunk_mut().is_some_and(set_ce_v6),
        _ => false,
    }
}

fn set_ce_v4(header: &mut [u8; 20]) -> bool {
    if header[0] >> 4 != 4 || header[0] & 0xf < 5 || header[1] & ECN_CE == 0 {
        return false;
    }
    let before = u16::from_be_bytes([header[0], header[1]]);
    header[1] |= ECN_CE;
    let after = u16::from_be_bytes([header[0], header[1]]);
    let checksum = u16::from_be_bytes([header[10], header[11]]);
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    // Three terms of 16 bits: the carry of the first fold is at most 2, that of the second 1.
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    true
}

fn set_ce_v6(header: &mut [u8; 2]) -> bool {
    // The traffic class lies across both bytes, its last two bits are those of ECN.
    if header[0] >> 4 != 6 || header[1] >> 4 & ECN_CE == 0 {
        return false;
    }
    header[1] |= ECN_CE << 4;
    true
}
