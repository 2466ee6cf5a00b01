//! Packets that threads of the caller make.

use std::fmt;
use std::sync::Arc;

use laxity_dwcs::StreamId;

use super::clock::Clock;
use super::counts::Made;
use super::table::{Feed, Packet};
use super::thread::Post;
use crate::rtp::LARGEST_DATAGRAM;

/// The producing end of a stream with [`Source::Inlet`](super::Source::Inlet). Dropping it ends
/// the stream after what it holds.
#[derive(Debug)]
pub struct Inlet {
    pub(super) feed: Feed,
    pub(super) made: Arc<Made>,
    pub(super) post: Post,
    pub(super) stream: StreamId,
    pub(super) clock: Clock,
    pub(super) frame: u32,
}

/// The reason why a packet was refused; it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// The ring is full: the stream sends one packet a gap.
    Full,
    /// More than a datagram holds.
    TooLarge,
    /// The stream was dropped or the server stopped.
    Closed,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rejected::Full => "the stream's ring is full; it sends one packet a gap",
            Rejected::TooLarge => "more than the 65507 bytes that a datagram holds",
            Rejected::Closed => "the stream was dropped or the server has stopped",
        })
    }
}

impl std::error::Error for Rejected {}

impl Inlet {
    /// Hands over a datagram, which is a frame of its own. Never waits.
    ///
    /// # Errors
    /// The packet is refused.
    pub fn push(&mut self, datagram: &[u8]) -> Result<(), Rejected> {
        self.begin_frame();
        self.push_same_frame(datagram)
    }

    /// From now on packets belong to another frame; see
    /// [`StreamConfig::whole_frames`](super::StreamConfig::whole_frames).
    pub fn begin_frame(&mut self) {
        self.frame = self.frame.wrapping_add(1);
    }

    /// As [`push`](Self::push), for the frame begun last.
    ///
    /// # Errors
    /// As there.
    pub fn push_same_frame(&mut self, datagram: &[u8]) -> Result<(), Rejected> {
        if datagram.len() > LARGEST_DATAGRAM {
            self.made.oversize.add(1);
            return Err(Rejected::TooLarge);
        }
        if self.feed.is_closed() {
            return Err(Rejected::Closed);
        }
        if self.feed.is_full() {
            self.made.overflows.add(1);
            return Err(Rejected::Full);
        }
        let body = datagram.to_vec();
        let arrival = self.clock.now();
        let packet = Packet { body, arrival, frame: self.frame, stamp: 0 };
        self.feed.push(packet).map_err(|_| Rejected::Full)?;
        self.made.packets.add(1);
        if self.feed.must_ring() {
            self.post.ring(self.stream);
        }
        Ok(())
    }
}
