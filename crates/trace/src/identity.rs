//! The flow that a frame belongs to, for flow queues: RFC 8290 section 4.1.1, and what it leaves
//! open for fragments, tunnels and packets without ports.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::decode::link::{self, IPV4, IPV6};
use crate::decode::{Cursor, Headers};
use crate::frame::LinkType;

/// VLAN tags that are passed over. Frames with more are not looked into.
const MAX_VLAN_TAGS: usize = 2;

/// Extension and authentication headers of a packet that are passed over.
const MAX_EXTENSIONS: usize = 6;

/// Protocol number of the authentication header (RFC 4302), in IPv4 too.
const AUTHENTICATION: u8 = 51;

/// Protocol number of the IPv6 fragment header.
const FRAGMENT: u8 = 44;

/// Length of [`FlowIdentity::to_bytes`].
pub const IDENTITY_BYTES: usize = 40;

/// The fields that the frames of a flow share.
///
/// VLAN tags, DSCP and ECN are no part of it. The two directions of a connection are two flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum FlowIdentity {
    /// Frames without readable addresses: they are one flow.
    #[default]
    NotIp,
    /// IPv4 or IPv6.
    Ip {
        /// Source address.
        src: IpAddr,
        /// Destination address.
        dst: IpAddr,
        /// Number of the protocol above IP.
        protocol: u8,
        /// Distinguishes the flows of this protocol between the two addresses.
        subflow: Subflow,
    },
}

/// Distinguishes the flows of a protocol between two addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Subflow {
    /// Nothing: fragments, whose ports stand in the first one only, and protocols without ports.
    #[default]
    None,
    /// Ports of TCP, UDP, UDP-Lite, SCTP or DCCP; of VXLAN and WireGuard the outer ones.
    Ports {
        /// Source port.
        src: u16,
        /// Destination port.
        dst: u16,
    },
    /// IPv6 flow label (RFC 6437), where there are no ports or they are out of reach.
    FlowLabel(u32),
    /// Security parameters index of ESP (RFC 4303).
    Spi(u32),
    /// ICMP and ICMPv6.
    Icmp {
        /// Message type.
        kind: u8,
        /// Identifier of queries and their replies, 0 for other types.
        id: u16,
    },
}

impl FlowIdentity {
    /// The flow of a frame. Reads a bounded number of headers, and never beyond the frame.
    ///
    /// - Ethernet with up to two VLAN tags, and the other link types of [`crate::decode`].
    /// - Up to six IPv6 extension headers and authentication headers are passed over.
    /// - Fragments count by addresses and protocol.
    /// - Of IPIP, 6in4, 4in6 and GRE without options, the inner packet counts, one level deep.
    ///
    /// ```
    /// use laxity_trace::{FlowIdentity, LinkType, Subflow};
    ///
    /// let mut packet = [0; 28];
    /// (packet[0], packet[3], packet[9]) = (0x45, 28, 17);
    /// packet[20..24].copy_from_slice(&[0x13, 0x8c, 0, 53]);
    /// let FlowIdentity::Ip { subflow, .. } = FlowIdentity::of(LinkType::RAW, &packet) else {
    ///     unreachable!()
    /// };
    /// assert_eq!(subflow, Subflow::Ports { src: 5004, dst: 53 });
    /// ```
    pub fn of(link_type: LinkType, data: &[u8]) -> FlowIdentity {
        let mut c = Cursor::new(data);
        let mut headers = Headers::default();
        let Ok(kind) = link::network(link_type, &mut c, &mut headers) else {
            return FlowIdentity::NotIp;
        };
        if headers.vlan.tags().len() > MAX_VLAN_TAGS {
            return FlowIdentity::NotIp;
        }
        let Some(outer) = Network::read(kind, &mut c) else { return FlowIdentity::NotIp };
        if let Some(inner) = outer.tunnelled(&mut c).and_then(|kind| Network::read(kind, &mut c)) {
            return inner.identity(&mut c);
        }
        // Where the inner packet cannot be read, the protocol is a tunnel's, which has no ports.
        outer.identity(&mut c)
    }

    /// A fixed layout, injective: the input of hashes.
    ///
    /// | bytes | content |
    /// |---|---|
    /// | 0–15, 16–31 | source, destination; of IPv4 as `::ffff:a.b.c.d` (RFC 4291 section 2.5.5.2) |
    /// | 32 | version: 4 or 6; 0 for frames that are not IP |
    /// | 33 | protocol |
    /// | 34 | variant of [`Subflow`]: 0 to 4 in the order of their declaration |
    /// | 35 | 0 |
    /// | 36–39 | ports, flow label, or index; type, 0 and identifier of ICMP; in network byte order |
    pub fn to_bytes(&self) -> [u8; IDENTITY_BYTES] {
        let mut bytes = [0; IDENTITY_BYTES];
        let FlowIdentity::Ip { src, dst, protocol, subflow } = self else { return bytes };
        bytes[..16].copy_from_slice(&address_bytes(*src));
        bytes[16..32].copy_from_slice(&address_bytes(*dst));
        bytes[32] = if src.is_ipv4() { 4 } else { 6 };
        bytes[33] = *protocol;
        let (variant, value) = match *subflow {
            Subflow::None => (0, 0),
            Subflow::Ports { src, dst } => (1, u32::from(src) << 16 | u32::from(dst)),
            Subflow::FlowLabel(label) => (2, label),
            Subflow::Spi(index) => (3, index),
            Subflow::Icmp { kind, id } => (4, u32::from(kind) << 24 | u32::from(id)),
        };
        bytes[34] = variant;
        bytes[36..].copy_from_slice(&value.to_be_bytes());
        bytes
    }
}

fn address_bytes(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(a) => a.to_ipv6_mapped().octets(),
        IpAddr::V6(a) => a.octets(),
    }
}

/// An IP header and its extension headers.
struct Network {
    src: IpAddr,
    dst: IpAddr,
    protocol: u8,
    fragment: bool,
    /// Whether the cursor stands at the header above IP.
    reached: bool,
    /// IPv6 flow label; 0 for none.
    label: u32,
}

impl Network {
    /// Reads an IP header and passes over its extension headers; `None` without addresses.
    fn read(kind: u16, c: &mut Cursor<'_>) -> Option<Network> {
        let mut network = match kind {
            IPV4 => Network::v4(c)?,
            IPV6 => Network::v6(c)?,
            _ => return None,
        };
        if network.reached {
            network.reached = network.pass_extensions(c).is_some();
        }
        Some(network)
    }

    fn v4(c: &mut Cursor<'_>) -> Option<Network> {
        let header = c.peek::<20>().ok()?;
        let length = usize::from(header[0] & 0xf) * 4;
        if header[0] >> 4 != 4 || length < 20 {
            return None;
        }
        let &[.., s0, s1, s2, s3, d0, d1, d2, d3] = header;
        // More fragments, or an offset.
        let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
        Some(Network {
            src: Ipv4Addr::new(s0, s1, s2, s3).into(),
            dst: Ipv4Addr::new(d0, d1, d2, d3).into(),
            protocol: header[9],
            fragment,
            reached: c.skip(length).is_ok(),
            label: 0,
        })
    }

    fn v6(c: &mut Cursor<'_>) -> Option<Network> {
        let header = c.take::<40>().ok()?;
        if header[0] >> 4 != 6 {
            return None;
        }
        let address = |bytes: Option<&[u8; 16]>| Some(IpAddr::from(Ipv6Addr::from(*bytes?)));
        Some(Network {
            src: address(header[8..].first_chunk())?,
            dst: address(header.last_chunk())?,
            protocol: header[6],
            fragment: false,
            reached: true,
            label: u32::from_be_bytes([0, header[1] & 0xf, header[2], header[3]]),
        })
    }

    /// Passes over extension headers, as far as a fragment's; `None` when they are cut off or too
    /// many.
    fn pass_extensions(&mut self, c: &mut Cursor<'_>) -> Option<()> {
        for _ in 0..MAX_EXTENSIONS {
            if self.at_payload() {
                break;
            }
            let &[next, length] = c.peek().ok()?;
            let size = match self.protocol {
                FRAGMENT => {
                    let header = c.peek::<8>().ok()?;
                    // An offset, or more fragments. Others are whole packets (RFC 6946).
                    self.fragment = u16::from_be_bytes([header[2], header[3]]) & 0xfff9 != 0;
                    8
                }
                AUTHENTICATION => (usize::from(length) + 2) * 4,
                _ => (usize::from(length) + 1) * 8,
            };
            c.skip(size).ok()?;
            self.protocol = next;
        }
        self.at_payload().then_some(())
    }

    /// Whether no extension header follows that is to be passed over.
    fn at_payload(&self) -> bool {
        self.fragment
            || match self.protocol {
                AUTHENTICATION => false,
                // Hop-by-hop, routing, destination options, mobility, host identity, shim6.
                0 | 43 | FRAGMENT | 60 | 135 | 139 | 140 => self.src.is_ipv4(),
                _ => true,
            }
    }

    /// EtherType of the inner packet of a tunnel, with the cursor moved to it.
    fn tunnelled(&self, c: &mut Cursor<'_>) -> Option<u16> {
        if self.fragment || !self.reached {
            return None;
        }
        match self.protocol {
            4 => Some(IPV4),
            41 => Some(IPV6),
            // Version 0 without checksum, key and sequence number (RFC 2784, RFC 2890).
            47 => match c.take().ok()? {
                &[0, 0, k0, k1] => Some(u16::from_be_bytes([k0, k1])),
                _ => None,
            },
            _ => None,
        }
    }

    fn identity(&self, c: &mut Cursor<'_>) -> FlowIdentity {
        let subflow = if self.fragment { Subflow::None } else { self.subflow(c) };
        let Network { src, dst, protocol, .. } = *self;
        FlowIdentity::Ip { src, dst, protocol, subflow }
    }

    fn subflow(&self, c: &mut Cursor<'_>) -> Subflow {
        match self.reached.then(|| self.upper(c)).flatten() {
            Some(subflow) => subflow,
            None if self.label != 0 => Subflow::FlowLabel(self.label),
            None => Subflow::None,
        }
    }

    /// The fields of the header above IP.
    fn upper(&self, c: &mut Cursor<'_>) -> Option<Subflow> {
        let v6 = self.src.is_ipv6();
        match self.protocol {
            // TCP, UDP, DCCP, SCTP, UDP-Lite.
            6 | 17 | 33 | 132 | 136 => {
                let &[s0, s1, d0, d1] = c.take().ok()?;
                let (src, dst) = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
                Some(Subflow::Ports { src, dst })
            }
            50 => Some(Subflow::Spi(u32::from_be_bytes(*c.take().ok()?))),
            1 | 58 if (self.protocol == 58) == v6 => {
                let kind = c.peek::<1>().ok()?[0];
                let id = match has_identifier(v6, kind) {
                    true => {
                        c.take().map(|&[_, _, _, _, i0, i1]| u16::from_be_bytes([i0, i1])).ok()?
                    }
                    false => 0,
                };
                Some(Subflow::Icmp { kind, id })
            }
            _ => None,
        }
    }
}

/// Whether an ICMP message has an identifier: queries and replies of RFC 792, 950, 4443, 8335.
fn has_identifier(v6: bool, kind: u8) -> bool {
    if v6 {
        matches!(kind, 128 | 129 | 160 | 161)
    } else {
        matches!(kind, 0 | 8 | 13..=18 | 42 | 43)
    }
}
