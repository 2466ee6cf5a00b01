//! Faults of a shared ring.

use core::fmt;

use super::shape::{Shape, ShapeError};

/// The other end broke the rules of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its position is none of the ring's.
    Position {
        /// The value found.
        position: u64,
        /// How many slots there are.
        slots: usize,
    },
    /// The claimed length of a packet exceeds the limit of this ring.
    Length {
        /// The value found.
        bytes: u64,
        /// The largest packet.
        most: u32,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Position { position, slots } => {
                write!(f, "the other end claims position {position} of {slots}")?;
            }
            Fault::Length { bytes, most } => {
                write!(f, "the other end claims a packet of {bytes} B, the limit is {most} B")?;
            }
        }
        f.write_str("; the ring is broken until it is restarted with another producer")
    }
}

impl core::error::Error for Fault {}

/// A packet did not go in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushError {
    /// As many packets wait as the ring holds.
    Full,
    /// The packet is longer than the ring's slots.
    Long {
        /// Its length.
        bytes: usize,
        /// The largest packet.
        most: u32,
    },
    /// The consumer broke the rules.
    Broken(Fault),
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PushError::Full => {
                f.write_str("the ring is full; try again after the consumer has read")
            }
            PushError::Long { bytes, most } => {
                write!(f, "a packet of {bytes} B: this ring's largest is {most} B")
            }
            PushError::Broken(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for PushError {}

/// A packet did not come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PopError {
    /// The place given is shorter than the packet, which stays.
    Small {
        /// The packet's length.
        bytes: u32,
    },
    /// The producer broke the rules.
    Broken(Fault),
}

impl From<Fault> for PopError {
    fn from(fault: Fault) -> PopError {
        PopError::Broken(fault)
    }
}

impl fmt::Display for PopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PopError::Small { bytes } => write!(f, "the packet has {bytes} B; give it more room"),
            PopError::Broken(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for PopError {}

/// Memory could not be made a ring, or is none.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// No ring has this shape.
    Shape(ShapeError),
    /// The system refused.
    System {
        /// The operation.
        call: &'static str,
        /// Its error.
        error: std::io::Error,
    },
    /// The descriptor is not of the kernel's anonymous memory, or it could still be shrunk.
    Unsealed,
    /// The memory does not begin as a ring does.
    NoRing,
    /// The memory is not as large as a ring of its shape.
    Size {
        /// Its size, in bytes.
        bytes: u64,
        /// The shape.
        shape: Shape,
    },
    /// The positions in it are none.
    Broken(Fault),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Shape(error) => error.fmt(f),
            OpenError::System { call, error } => {
                write!(f, "shared ring: {call}: {error}")
            }
            OpenError::Unsealed => f.write_str(
                "shared ring: the descriptor is no memfd with its size sealed; pass on the one \
                 that the consumer made",
            ),
            OpenError::NoRing => f.write_str(
                "shared ring: the memory holds no ring of this version; pass on the descriptor \
                 that the consumer made, and use the same version of this crate at both ends",
            ),
            OpenError::Size { bytes, shape } => write!(
                f,
                "shared ring: {bytes} B of memory for {} packets of up to {} B, which need {} B",
                shape.packets(),
                shape.bytes(),
                shape.memory()
            ),
            OpenError::Broken(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            OpenError::System { error, .. } => Some(error),
            _ => None,
        }
    }
}
