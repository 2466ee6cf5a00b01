//! Packets of applications, as a link sees them.

use laxity_core::{Bytes, Time};

use crate::{Ecn, Segment};

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From client to server.
    Up,
    /// From server to client.
    Down,
}

/// A flow of an application: one direction of one of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// The connection, counted from zero within the application.
    pub connection: u32,
    /// The direction.
    pub direction: Direction,
}

/// The content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A TCP segment.
    Segment(Segment),
    /// A datagram of an IP packet of so many bytes, sent at an instant.
    Datagram {
        /// The size of the IP packet.
        bytes: Bytes,
        /// When it was sent.
        sent: Time,
    },
}

/// An IP packet. A link delivers it, drops it silently, or marks it first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its flow.
    pub key: FlowKey,
    /// Its content.
    pub body: Body,
}

impl Packet {
    /// The size of the IP packet, without the link's overhead.
    pub fn bytes(&self) -> Bytes {
        match &self.body {
            Body::Segment(segment) => Bytes(u64::from(segment.bytes())),
            Body::Datagram { bytes, .. } => *bytes,
        }
    }

    /// The ECN codepoint.
    pub fn ecn(&self) -> Ecn {
        match &self.body {
            Body::Segment(segment) => segment.ecn,
            Body::Datagram { .. } => Ecn::NotEct,
        }
    }

    /// Sets CE if the packet is ECN-capable; returns false if not, and a queue that would mark drops it.
    pub fn mark(&mut self) -> bool {
        match &mut self.body {
            Body::Segment(segment) => segment.mark(),
            Body::Datagram { .. } => false,
        }
    }
}
