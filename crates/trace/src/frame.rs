//! One packet of a capture, and the link types it can have.

/// The layer that the first byte of a frame starts: a `LINKTYPE_` value of the capture formats.
///
/// Any value can be carried; [`crate::decode`] decodes those with a constant in this type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkType(pub u32);

impl LinkType {
    /// BSD loopback: four bytes of address family in the byte order of the capturing machine.
    pub const NULL: LinkType = LinkType(0);
    /// Ethernet, without preamble and normally without FCS.
    pub const ETHERNET: LinkType = LinkType(1);
    /// Raw IP, the number some systems wrote before 101 was assigned.
    pub const RAW_12: LinkType = LinkType(12);
    /// Raw IP, the number OpenBSD wrote before 101 was assigned.
    pub const RAW_14: LinkType = LinkType(14);
    /// Raw IP: the frame starts with an IPv4 or IPv6 header.
    pub const RAW: LinkType = LinkType(101);
    /// OpenBSD loopback: four bytes of address family in network byte order.
    pub const LOOP: LinkType = LinkType(108);
    /// Linux cooked capture, version 1 (16 bytes).
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// The frame starts with an IPv4 header.
    pub const IPV4: LinkType = LinkType(228);
    /// The frame starts with an IPv6 header.
    pub const IPV6: LinkType = LinkType(229);
    /// Linux cooked capture, version 2 (20 bytes).
    pub const LINUX_SLL2: LinkType = LinkType(276);

    /// A short name, `None` for a link type that is not decoded.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            LinkType::NULL => "BSD loopback",
            LinkType::ETHERNET => "Ethernet",
            LinkType::RAW_12 | LinkType::RAW_14 | LinkType::RAW => "raw IP",
            LinkType::LOOP => "OpenBSD loopback",
            LinkType::LINUX_SLL => "Linux cooked",
            LinkType::LINUX_SLL2 => "Linux cooked v2",
            LinkType::IPV4 => "raw IPv4",
            LinkType::IPV6 => "raw IPv6",
            _ => return None,
        })
    }
}

/// One packet, borrowed from the reader until the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Absolute time: nanoseconds since 1970-01-01 00:00:00 UTC.
    pub time_ns: u64,
    /// `false` for a pcapng simple packet, which has no time; `time_ns` is then that of the frame
    /// before it (0 for the first).
    pub timed: bool,
    /// Length on the wire in bytes, link-layer header included, FCS not included.
    pub original_len: u32,
    /// The captured bytes, at most `original_len` of them, FCS not included.
    pub data: &'a [u8],
    /// The layer with which `data` starts.
    pub link_type: LinkType,
    /// Index into [`crate::Capture::interfaces`]; counted through all sections of a file.
    pub interface: u32,
    /// Offset in the file of the record or block, in bytes.
    pub offset: u64,
    /// The packet's first comment, when it has one that is UTF-8.
    pub comment: Option<&'a str>,
}

impl Frame<'_> {
    /// Copies the frame out of the reader.
    pub fn to_owned(&self) -> OwnedFrame {
        OwnedFrame {
            time_ns: self.time_ns,
            timed: self.timed,
            original_len: self.original_len,
            data: self.data.to_vec(),
            link_type: self.link_type,
            interface: self.interface,
            offset: self.offset,
            comment: self.comment.map(str::to_owned),
        }
    }
}

/// A [`Frame`] with bytes of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedFrame {
    /// See [`Frame::time_ns`].
    pub time_ns: u64,
    /// See [`Frame::timed`].
    pub timed: bool,
    /// See [`Frame::original_len`].
    pub original_len: u32,
    /// See [`Frame::data`].
    pub data: Vec<u8>,
    /// See [`Frame::link_type`].
    pub link_type: LinkType,
    /// See [`Frame::interface`].
    pub interface: u32,
    /// See [`Frame::offset`].
    pub offset: u64,
    /// See [`Frame::comment`].
    pub comment: Option<String>,
}

/// Where a frame lies in the reader's window, before its bytes are consumed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawFrame {
    pub(crate) offset: u64,
    /// Nanoseconds since 1970; `None` for a packet without a time.
    pub(crate) time_ns: Option<u64>,
    pub(crate) original_len: u32,
    /// Where the data starts, from the start of the window.
    pub(crate) data_at: usize,
    pub(crate) captured: usize,
    pub(crate) link_type: LinkType,
    pub(crate) interface: u32,
    /// Bytes of FCS at the end of the packet on the wire.
    pub(crate) fcs_len: u32,
    /// Start and length of the first comment in the window.
    pub(crate) comment: Option<(usize, usize)>,
    /// Bytes to consume before the next packet is looked for.
    pub(crate) advance: usize,
}
