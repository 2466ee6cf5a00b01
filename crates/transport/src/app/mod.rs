//! Applications: what is sent over connections, and how long it takes.
//!
//! An [`Application`] owns both ends of its connections. A simulator drives it: it hands over packets that
//! arrive at their other end and the time, and takes packets that leave.

use core::fmt::Debug;

use laxity_core::{Bytes, Span, Time};

use crate::packet::Packet;

mod bulk;
mod game;
mod page;
mod pairs;
mod requests;
mod video;

pub use bulk::Bulk;
pub use game::{Game, Stream};
pub use page::{Page, PageLoad};
pub use pairs::{Endpoints, Pairs, TcpApplication, Workload};
pub use requests::{Requests, RequestsPlan};
pub use video::{Ladder, Video};

/// A unit of work that is complete: a transfer, an answer, a page, a segment of video, a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When it began: for a page, before the first handshake.
    pub started: Time,
    /// When its last byte arrived.
    pub ended: Time,
    /// Its payload.
    pub bytes: Bytes,
}

impl Completion {
    /// How long it took.
    pub fn duration(&self) -> Span {
        self.ended.since(self.started)
    }
}

/// Traffic that reacts to what happens to its packets.
///
/// After each call of [`handle_delivery`](Application::handle_delivery) and
/// [`handle_timeout`](Application::handle_timeout) the caller takes packets until
/// [`poll_transmit`](Application::poll_transmit) returns `None`, then asks for the next timer. The first
/// timer is the start.
pub trait Application: Debug + Send {
    /// A packet arrived at the end that it was sent to.
    fn handle_delivery(&mut self, now: Time, packet: &Packet);

    /// Timers expired; without effect before they do.
    fn handle_timeout(&mut self, now: Time);

    /// The next packet that leaves now.
    fn poll_transmit(&mut self, now: Time) -> Option<Packet>;

    /// When [`handle_timeout`](Application::handle_timeout) is due.
    fn poll_timeout(&self) -> Option<Time>;

    /// The next unit of work that is complete.
    fn poll_completion(&mut self) -> Option<Completion>;

    /// Bytes that have arrived, in both directions together: payload of TCP in order, datagrams whole.
    fn received(&self) -> Bytes;
}
