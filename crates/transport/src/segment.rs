//! Segments between two endpoints, without their payload.

use laxity_core::Time;

/// The ECN codepoint of an IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not ECN-capable: a queue must drop where it would mark.
    #[default]
    NotEct,
    /// ECN-capable, classic.
    Ect0,
    /// ECN-capable, scalable congestion control (RFC 9331).
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// Stream offsets from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The first byte.
    pub start: u64,
    /// One after the last byte.
    pub end: u64,
}

impl Range {
    /// Whether all of `other` lies inside.
    pub fn contains(self, other: Range) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Blocks of a SACK option beside timestamps (RFC 2018 section 3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// The SACK option of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    blocks: [Range; MAX_SACK_BLOCKS],
    len: u8,
    /// Whether the first block reports a duplicate (RFC 2883).
    pub duplicate: bool,
}

impl Sack {
    /// Adds a block; without effect when all are used.
    pub fn push(&mut self, block: Range) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = block;
            self.len += 1;
        }
    }

    /// The block that reports a duplicate.
    pub fn duplicate(&self) -> Option<Range> {
        self.duplicate.then_some(self.blocks[0])
    }

    /// Blocks of received data above the acknowledgement.
    pub fn received(&self) -> &[Range] {
        &self.blocks[usize::from(self.duplicate)..usize::from(self.len)]
    }

    /// Whether the option is absent.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The kinds of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Opens a connection.
    Syn,
    /// Accepts it.
    SynAck,
    /// Everything else: data, an acknowledgement, or both.
    Data,
}

/// A TCP segment in its IP packet. Offsets count from the first byte of the stream, SYN takes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its kind.
    pub kind: Kind,
    /// The offset of its first byte of payload.
    pub start: u64,
    /// Bytes of payload.
    pub len: u32,
    /// All bytes of the other direction before this offset have arrived.
    pub ack: u64,
    /// Bytes after `ack` that the receiver takes.
    pub window: u64,
    /// The SACK option.
    pub sack: Sack,
    /// The timestamp (RFC 7323): when it was sent.
    pub sent: Time,
    /// The timestamp echoed, as RFC 7323 section 4.3 selects it.
    pub echo: Option<Time>,
    /// The codepoint of the IP header; a queue may replace it by [`Ecn::Ce`].
    pub ecn: Ecn,
    /// ECN-Echo (RFC 3168 section 6.1.3).
    pub ece: bool,
    /// Congestion window reduced (RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// Segments received with [`Ecn::Ce`] so far: the counter of accurate ECN (RFC 9768), whole.
    pub ce_received: u64,
}

/// IPv4 and TCP headers with the timestamp option, in bytes.
pub const HEADER_BYTES: u32 = 52;

/// A SYN or its answer with the options of today's systems, in bytes.
pub const SYN_BYTES: u32 = 60;

impl Segment {
    /// The size of the IP packet in bytes.
    pub fn bytes(&self) -> u32 {
        match self.kind {
            Kind::Syn | Kind::SynAck => SYN_BYTES,
            Kind::Data if self.sack.is_empty() => HEADER_BYTES + self.len,
            Kind::Data => HEADER_BYTES + 4 + 8 * u32::from(self.sack.len) + self.len,
        }
    }

    /// The payload's offsets.
    pub fn range(&self) -> Range {
        Range { start: self.start, end: self.start + u64::from(self.len) }
    }

    /// Marks it as a queue does: CE where the packet is ECN-capable. Returns false where it must be
    /// dropped instead.
    pub fn mark(&mut self) -> bool {
        if self.ecn == Ecn::NotEct {
            return false;
        }
        self.ecn = Ecn::Ce;
        true
    }
}
