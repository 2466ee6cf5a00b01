//! From the first bytes of a frame to addresses, ports and markings.

mod ip;
pub(crate) mod link;

use std::net::IpAddr;

use crate::frame::LinkType;

/// Most VLAN tags that are kept of a frame.
const MAX_TAGS: usize = 4;

/// One VLAN tag.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct VlanTag {
    /// The EtherType that announced it: 0x8100 for 802.1Q, 0x88a8 for 802.1ad.
    pub tpid: u16,
    /// VLAN number, 0 to 4095.
    pub id: u16,
    /// Priority code point, 0 to 7.
    pub pcp: u8,
    /// Drop eligible.
    pub dei: bool,
}

/// The VLAN tags of a frame, the outermost first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct VlanStack {
    tags: [VlanTag; MAX_TAGS],
    len: u8,
}

impl VlanStack {
    /// The tags; of a frame with more than four, the outermost four.
    pub fn tags(&self) -> &[VlanTag] {
        &self.tags[..usize::from(self.len).min(MAX_TAGS)]
    }

    fn push(&mut self, tag: VlanTag) {
        if let Some(slot) = self.tags.get_mut(usize::from(self.len)) {
            *slot = tag;
            self.len += 1;
        }
    }
}

/// Whether a packet is a fragment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Fragment {
    /// A whole packet.
    #[default]
    Whole,
    /// The first fragment, with the ports of the packet.
    First,
    /// A later fragment, without ports.
    Later,
}

/// Where and why decoding ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stop {
    /// Everything that is decoded was there.
    #[default]
    Done,
    /// The captured bytes end inside a header.
    Short,
    /// The link type is not decoded.
    LinkType,
    /// The frame carries neither IPv4 nor IPv6.
    NotIp,
    /// An IP header contradicts itself or what announced it.
    BadIp,
}

/// The decoded headers of a frame; fields that are absent or were not reached are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Headers {
    /// The EtherType after the VLAN tags; for link types without one, that of the IP version.
    pub ethertype: Option<u16>,
    /// VLAN tags.
    pub vlan: VlanStack,
    /// Packet type of a Linux cooked frame: 0 to 3 was received, 4 was sent.
    pub packet_type: Option<u16>,
    /// 4 or 6.
    pub ip_version: Option<u8>,
    /// Differentiated services code point, 0 to 63.
    pub dscp: Option<u8>,
    /// Explicit congestion notification, 0 to 3.
    pub ecn: Option<u8>,
    /// Length field of the IP header, in bytes; `None` where it is 0, as it is for
    /// packets that the network card was to segment.
    pub ip_len: Option<u32>,
    /// Number of the protocol above IP, after IPv6 extension headers and authentication headers.
    /// Of an IPv6 packet whose extension headers are cut off, the one that could not be read.
    pub protocol: Option<u8>,
    /// Source address.
    pub src: Option<IpAddr>,
    /// Destination address.
    pub dst: Option<IpAddr>,
    /// Whether the packet is a fragment.
    pub fragment: Fragment,
    /// Source port of TCP, UDP, UDP-Lite, SCTP or DCCP.
    pub sport: Option<u16>,
    /// Destination port.
    pub dport: Option<u16>,
    /// Where the IP header starts in the frame, in bytes.
    pub network_offset: Option<u32>,
    /// Where the header above IP starts in the frame, in bytes; `None` for later fragments.
    pub transport_offset: Option<u32>,
    /// Why decoding ended.
    pub stop: Stop,
    /// Where it ended, in bytes from the start of the frame: the first byte not understood.
    pub stop_offset: u32,
}

/// Addresses, protocol and ports: the identity of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FiveTuple {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Number of the protocol above IP.
    pub protocol: u8,
    /// Source port, where the protocol has ports and the packet shows them.
    pub sport: Option<u16>,
    /// Destination port, likewise.
    pub dport: Option<u16>,
}

impl Headers {
    /// The five-tuple, `None` for frames without addresses and protocol.
    pub fn five_tuple(&self) -> Option<FiveTuple> {
        Some(FiveTuple {
            src: self.src?,
            dst: self.dst?,
            protocol: self.protocol?,
            sport: self.sport,
            dport: self.dport,
        })
    }
}

/// Decodes the headers of a frame, as far as they go.
///
/// ```
/// use laxity_trace::{LinkType, Stop, decode};
///
/// let headers = decode(LinkType::RAW, &[0x45, 0xb8, 0, 28]);
/// assert_eq!((headers.ip_version, headers.dscp), (Some(4), Some(46)));
/// assert_eq!((headers.stop, headers.stop_offset), (Stop::Short, 4));
/// ```
pub fn decode(link_type: LinkType, data: &[u8]) -> Headers {
    let mut headers = Headers::default();
    let mut cursor = Cursor::new(data);
    let network = link::network(link_type, &mut cursor, &mut headers);
    let decoded = network.and_then(|kind| match kind {
        link::IPV4 => ip::v4(&mut cursor, &mut headers),
        link::IPV6 => ip::v6(&mut cursor, &mut headers),
        _ => Err(Stop::NotIp),
    });
    headers.stop = decoded.err().unwrap_or(Stop::Done);
    headers.stop_offset = match headers.stop {
        Stop::Short => data.len() as u32,
        _ => cursor.at as u32,
    };
    headers
}

/// The frame and how far it is understood; `at` is at most `data.len()`.
pub(crate) struct Cursor<'a> {
    data: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte of a frame.
    pub(crate) fn new(data: &'a [u8]) -> Cursor<'a> {
        Cursor { data, at: 0 }
    }

    /// The remaining bytes.
    fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or_default()
    }

    /// The next `N` bytes, without consuming them.
    pub(crate) fn peek<const N: usize>(&self) -> Result<&'a [u8; N], Stop> {
        self.rest().first_chunk().ok_or(Stop::Short)
    }

    /// Consumes the next `N` bytes.
    pub(crate) fn take<const N: usize>(&mut self) -> Result<&'a [u8; N], Stop> {
        let bytes = self.peek()?;
        self.at += N;
        Ok(bytes)
    }

    /// Skips `n` bytes.
    pub(crate) fn skip(&mut self, n: usize) -> Result<(), Stop> {
        if n > self.rest().len() {
            return Err(Stop::Short);
        }
        self.at += n;
        Ok(())
    }
}
