//! Packets, departures, and the trait between a link policy and its driver.

use laxity_core::{Bytes, FlowId, Time};

use crate::buffer::DropReason;

/// A queued packet. Its contents stay with the caller, which identifies it by `seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The caller's number for it: the arrival index over all flows in a simulation.
    pub seq: u64,
    /// Arrival at the scheduler.
    pub arrival: Time,
    /// Its flow.
    pub flow: FlowId,
    /// Its length in bytes.
    pub bytes: u32,
    /// Length on the wire in bytes; see [`Wire`].
    pub wire: u32,
    /// A real-time packet beyond its envelope that now travels as best effort.
    pub demoted: bool,
}

/// Framing overhead of packets on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// Bytes for each packet beyond its length (Ethernet: preamble, checksum, gap).
    pub overhead: u32,
    /// Least bytes for a packet, overhead included.
    pub min_frame: u32,
}

impl Wire {
    /// Bytes on the wire for a packet of `bytes`.
    #[inline]
    pub fn of(self, bytes: u32) -> u32 {
        bytes.saturating_add(self.overhead).max(self.min_frame)
    }

    /// The same for lengths in [`Bytes`].
    pub fn of_bytes(self, bytes: Bytes) -> Bytes {
        Bytes((bytes.0 + u64::from(self.overhead)).max(u64::from(self.min_frame)))
    }
}

/// A packet handed to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The packet.
    pub packet: Packet,
    /// End of transmission by which it is due: from the flow's deadline for real-time packets, as
    /// assigned for best effort; [`Time::MAX`] when none was assigned.
    pub deadline: Time,
    /// Whether the deadline belongs to a real-time flow and is therefore guaranteed.
    pub realtime: bool,
}

/// Receives every packet that is dropped.
pub trait DropSink {
    /// `packet` left the queue at `now` unsent, because of `reason`.
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason);
}

impl<F: FnMut(Time, &Packet, DropReason)> DropSink for F {
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        self(now, packet, reason);
    }
}

/// A packet scheduler as a state machine over integer time.
///
/// The driver calls [`enqueue`](Self::enqueue) for every arrival in order of time, and
/// [`dequeue`](Self::dequeue) whenever the link is free: after a transmission, after an arrival at
/// an idle link, and at [`next_event`](Self::next_event). Arrivals of an instant come before the
/// decision at that instant. A `None` from `dequeue` leaves the link idle.
pub trait LinkPolicy {
    /// Takes a packet that arrives at `now`.
    fn enqueue(&mut self, now: Time, packet: Packet, drops: &mut dyn DropSink);

    /// Reports a stall: packets were queued, and the link sent nothing for longer than the
    /// downstream backlog that admission counts. Called before the [`dequeue`](Self::dequeue) that
    /// ends the stall, at least once for each stall.
    ///
    /// Until then a policy may rely on the full capacity of the link, and the best-effort deadlines
    /// that it has assigned do. From then on no best-effort packet makes a real-time packet late
    /// that would not be late under `background` from the same instant on.
    fn handle_stall(&mut self);

    /// Chooses the packet to send on the free link at `now`.
    fn dequeue(&mut self, now: Time) -> Option<Departure>;

    /// Time at which [`dequeue`](Self::dequeue) may return a packet without a further arrival,
    /// after it returned `None`.
    fn next_event(&self) -> Option<Time>;

    /// Number of queued packets, shaped ones included.
    fn waiting(&self) -> usize;
}

impl<P: LinkPolicy + ?Sized> LinkPolicy for alloc::boxed::Box<P> {
    fn enqueue(&mut self, now: Time, packet: Packet, drops: &mut dyn DropSink) {
        (**self).enqueue(now, packet, drops);
    }

    fn handle_stall(&mut self) {
        (**self).handle_stall();
    }

    fn dequeue(&mut self, now: Time) -> Option<Departure> {
        (**self).dequeue(now)
    }

    fn next_event(&self) -> Option<Time> {
        (**self).next_event()
    }

    fn waiting(&self) -> usize {
        (**self).waiting()
    }
}
