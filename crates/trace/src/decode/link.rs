//! Link-layer headers, down to the IP header.

use super::{Cursor, Headers, Stop, VlanTag};
use crate::frame::LinkType;

/// EtherType of IPv4.
pub(crate) const IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub(crate) const IPV6: u16 = 0x86dd;
const PPPOE_SESSION: u16 = 0x8864;
/// 802.1Q, 802.1ad, and the number used for stacks before 802.1ad.
const TPIDS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// Passes over the link-layer headers and returns the EtherType of what follows.
pub(crate) fn network(link: LinkType, c: &mut Cursor<'_>, h: &mut Headers) -> Result<u16, Stop> {
    let kind = match link {
        LinkType::ETHERNET => {
            c.skip(12)?;
            let kind = u16::from_be_bytes(*c.take()?);
            ethertype(kind, c, h)?
        }
        LinkType::LINUX_SLL => {
            let b = c.take::<16>()?;
            h.packet_type = Some(u16::from_be_bytes([b[0], b[1]]));
            ethertype(u16::from_be_bytes([b[14], b[15]]), c, h)?
        }
        LinkType::LINUX_SLL2 => {
            let b = c.take::<20>()?;
            h.packet_type = Some(u16::from(b[10]));
            ethertype(u16::from_be_bytes([b[0], b[1]]), c, h)?
        }
        LinkType::RAW | LinkType::RAW_12 | LinkType::RAW_14 => match c.peek::<1>()?[0] >> 4 {
            4 => IPV4,
            6 => IPV6,
            _ => return Err(Stop::NotIp),
        },
        LinkType::IPV4 => IPV4,
        LinkType::IPV6 => IPV6,
        LinkType::NULL | LinkType::LOOP => {
            let bytes = *c.take::<4>()?;
            let family = u32::from_be_bytes(bytes);
            // The capturing machine's byte order is not recorded; families are below 65536.
            let swapped = link == LinkType::NULL && family > 0xffff;
            match if swapped { family.swap_bytes() } else { family } {
                2 => IPV4,
                // Linux, then the BSDs and macOS.
                10 | 24 | 28 | 30 => IPV6,
                _ => return Err(Stop::NotIp),
            }
        }
        _ => return Err(Stop::LinkType),
    };
    h.ethertype.get_or_insert(kind);
    Ok(kind)
}

/// The content behind an EtherType: VLAN tags, a PPPoE session, SNAP, or the network layer.
fn ethertype(mut kind: u16, c: &mut Cursor<'_>, h: &mut Headers) -> Result<u16, Stop> {
    while TPIDS.contains(&kind) {
        let &[a, b, k0, k1] = c.take::<4>()?;
        let tci = u16::from_be_bytes([a, b]);
        h.vlan.push(VlanTag {
            tpid: kind,
            id: tci & 0x0fff,
            pcp: (tci >> 13) as u8,
            dei: tci & 0x1000 != 0,
        });
        kind = u16::from_be_bytes([k0, k1]);
    }
    // Below 0x600 it is the length of an LLC frame, of which SNAP carries an EtherType again.
    if kind < 0x600 {
        let &[dsap, ssap, control, oui @ .., k0, k1] = c.peek::<8>()?;
        if [dsap, ssap, control] != [0xaa, 0xaa, 3] || oui != [0, 0, 0] {
            return Err(Stop::NotIp);
        }
        c.skip(8)?;
        kind = u16::from_be_bytes([k0, k1]);
    }
    if kind == PPPOE_SESSION {
        h.ethertype = Some(kind);
        let b = c.take::<8>()?;
        kind = match u16::from_be_bytes([b[6], b[7]]) {
            0x0021 => IPV4,
            0x0057 => IPV6,
            _ => return Err(Stop::NotIp),
        };
    }
    Ok(kind)
}
