//! The capacity of a ring in packets and bytes, and its layout in memory.

use core::fmt;
use core::ops::Range;

/// Capacity and largest packet of a ring between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    packets: u32,
    bytes: u32,
}

/// Positions of the words (8 B each) that the two ends share. What one end writes lies two cache
/// lines away from what the other writes, because processors fetch lines in pairs.
pub(super) mod word {
    /// Distinguishes a ring from other memory.
    pub(crate) const MAGIC: usize = 0;
    /// Capacity in packets, for the producer.
    pub(crate) const PACKETS: usize = 1;
    /// Largest packet in bytes, for the producer.
    pub(crate) const BYTES: usize = 2;
    /// Position of the next packet; the producer writes it.
    pub(crate) const BACK: usize = 16;
    /// The producer ended in good order.
    pub(crate) const PRODUCER_CLOSED: usize = 17;
    /// Where the oldest packet is; the consumer writes it.
    pub(crate) const FRONT: usize = 32;
    /// The consumer has closed.
    pub(crate) const CONSUMER_CLOSED: usize = 33;
    /// The first slot: stamp, length, body, and room up to the next cache line.
    pub(crate) const SLOTS: usize = 48;
}

/// The protocol and its version.
pub(super) const MAGIC: u64 = u64::from_ne_bytes(*b"laxring1");

impl Shape {
    /// Most packets a ring can hold.
    pub const MOST_PACKETS: u32 = 1 << 20;
    /// Largest packet, in bytes: a frame of video in one piece is smaller.
    pub const MOST_BYTES: u32 = 1 << 24;
    /// Most memory of a ring, in bytes: 1 GiB.
    pub const MOST_MEMORY: u64 = 1 << 30;

    /// A ring that holds up to `packets` packets of up to `bytes` bytes.
    pub fn new(packets: u32, bytes: u32) -> Result<Shape, ShapeError> {
        let shape = Shape { packets, bytes };
        let in_range = (1..=Shape::MOST_PACKETS).contains(&packets)
            && bytes <= Shape::MOST_BYTES
            && shape.memory() <= Shape::MOST_MEMORY;
        if in_range {
            Ok(shape)
        } else {
            Err(ShapeError { packets: packets.into(), bytes: bytes.into() })
        }
    }

    /// The shape that stands in a header.
    pub(super) fn read(packets: u64, bytes: u64) -> Result<Shape, ShapeError> {
        match (u32::try_from(packets), u32::try_from(bytes)) {
            (Ok(packets), Ok(bytes)) => Shape::new(packets, bytes),
            _ => Err(ShapeError { packets, bytes }),
        }
    }

    /// How many packets the ring holds.
    pub fn packets(self) -> u32 {
        self.packets
    }

    /// How long a packet may be, in bytes.
    pub fn bytes(self) -> u32 {
        self.bytes
    }

    /// Memory of the ring, in bytes.
    pub fn memory(self) -> u64 {
        let slots = u64::from(self.packets) + 1;
        8 * (word::SLOTS as u64 + slots * self.words_of_slot() as u64)
    }

    /// Slots: one is always free.
    pub(super) fn slots(self) -> usize {
        self.packets as usize + 1
    }

    /// The words of a slot: stamp, length, body.
    pub(super) fn slot(self, index: usize) -> Range<usize> {
        let start = word::SLOTS + index * self.words_of_slot();
        start..start + self.words_of_slot()
    }

    fn words_of_slot(self) -> usize {
        const OF_LINE: usize = 8;
        (2 + self.bytes.div_ceil(8) as usize).next_multiple_of(OF_LINE)
    }
}

/// No ring has such a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeError {
    /// Requested capacity.
    pub packets: u64,
    /// Requested largest packet, in bytes.
    pub bytes: u64,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShapeError { packets, bytes } = self;
        write!(
            f,
            "a shared ring for {packets} packets of up to {bytes} B: give 1 to {} packets of at \
             most {} B, together at most {} B",
            Shape::MOST_PACKETS,
            Shape::MOST_BYTES,
            Shape::MOST_MEMORY
        )
    }
}

impl core::error::Error for ShapeError {}
