//! IPv4 and IPv6 headers, down to the ports.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Cursor, Fragment, Headers, Stop};

const AUTHENTICATION: u8 = 51;
const IPV6_FRAGMENT: u8 = 44;

pub(super) fn v4(c: &mut Cursor<'_>, h: &mut Headers) -> Result<(), Stop> {
    let first = c.peek::<1>()?[0];
    if first >> 4 != 4 || first & 0xf < 5 {
        return Err(Stop::BadIp);
    }
    h.ip_version = Some(4);
    h.network_offset = Some(c.at as u32);
    // Field by field, so that a truncated header yields the fields it holds.
    let &[_, tos] = c.peek()?;
    traffic_class(tos, h);
    let &[.., l0, l1] = c.peek::<4>()?;
    let total = u16::from_be_bytes([l0, l1]);
    h.ip_len = (total > 0).then_some(u32::from(total));
    let &[.., f0, f1] = c.peek::<8>()?;
    let flags = u16::from_be_bytes([f0, f1]);
    h.fragment = match (flags & 0x1fff, flags & 0x2000) {
        (0, 0) => Fragment::Whole,
        (0, _) => Fragment::First,
        _ => Fragment::Later,
    };
    let protocol = c.peek::<10>()?[9];
    h.protocol = Some(protocol);
    let &[.., a, b, x, y] = c.peek::<16>()?;
    h.src = Some(IpAddr::V4(Ipv4Addr::new(a, b, x, y)));
    let &[.., a, b, x, y] = c.peek::<20>()?;
    h.dst = Some(IpAddr::V4(Ipv4Addr::new(a, b, x, y)));
    let header = usize::from(first & 0xf) * 4;
    if total > 0 && usize::from(total) < header {
        return Err(Stop::BadIp);
    }
    c.skip(header)?;
    above(protocol, c, h)
}

pub(super) fn v6(c: &mut Cursor<'_>, h: &mut Headers) -> Result<(), Stop> {
    let first = c.peek::<1>()?[0];
    if first >> 4 != 6 {
        return Err(Stop::BadIp);
    }
    h.ip_version = Some(6);
    h.network_offset = Some(c.at as u32);
    let &[a, b] = c.peek()?;
    traffic_class(a << 4 | b >> 4, h);
    let &[.., l0, l1] = c.peek::<6>()?;
    let payload = u16::from_be_bytes([l0, l1]);
    h.ip_len = (payload > 0).then_some(u32::from(payload) + 40);
    let next = c.peek::<7>()?[6];
    h.protocol = Some(next);
    let head = c.peek::<24>()?;
    h.src = head.last_chunk::<16>().map(|a| IpAddr::V6(Ipv6Addr::from(*a)));
    let head = c.take::<40>()?;
    h.dst = head.last_chunk::<16>().map(|a| IpAddr::V6(Ipv6Addr::from(*a)));
    above(next, c, h)
}

fn traffic_class(tos: u8, h: &mut Headers) {
    h.dscp = Some(tos >> 2);
    h.ecn = Some(tos & 3);
}

/// Passes over extension headers, then reads the ports.
fn above(mut protocol: u8, c: &mut Cursor<'_>, h: &mut Headers) -> Result<(), Stop> {
    loop {
        h.protocol = Some(protocol);
        if h.fragment == Fragment::Later {
            return Ok(());
        }
        let v6 = h.ip_version == Some(6);
        let size = match protocol {
            IPV6_FRAGMENT if v6 => {
                let b = c.peek::<8>()?;
                let field = u16::from_be_bytes([b[2], b[3]]);
                h.fragment = match (field >> 3, field & 1) {
                    (0, 0) => h.fragment,
                    (0, _) => Fragment::First,
                    _ => Fragment::Later,
                };
                8
            }
            // Hop-by-hop, routing, destination options, mobility, host identity, shim6.
            0 | 43 | 60 | 135 | 139 | 140 if v6 => (usize::from(c.peek::<2>()?[1]) + 1) * 8,
            AUTHENTICATION => (usize::from(c.peek::<2>()?[1]) + 2) * 4,
            _ => break,
        };
        let next = c.peek::<1>()?[0];
        c.skip(size)?;
        protocol = next;
    }
    h.transport_offset = Some(c.at as u32);
    // TCP, UDP, DCCP, SCTP, UDP-Lite.
    if matches!(protocol, 6 | 17 | 33 | 132 | 136) {
        let &[s0, s1, d0, d1] = c.take()?;
        h.sport = Some(u16::from_be_bytes([s0, s1]));
        h.dport = Some(u16::from_be_bytes([d0, d1]));
    }
    Ok(())
}
