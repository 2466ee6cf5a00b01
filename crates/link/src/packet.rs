//! Packets, departures, and the trait between a link policy and its driver.

use laxity_core::{Bytes, FlowId, Time};
use laxity_curve::{CurveError, Envelope};

use crate::buffer::DropReason;
use crate::ecn::Ecn;

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
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its flow and hosts within a class with flow queues; see [`flow_key`].
    pub key: u64,
}

impl Packet {
    /// A packet that is not ECN-capable and whose flow within its class is unknown.
    #[inline]
    pub const fn new(seq: u64, arrival: Time, flow: FlowId, bytes: u32, wire: u32) -> Packet {
        Packet { seq, arrival, flow, bytes, wire, demoted: false, ecn: Ecn::NotEct, key: 0 }
    }

    /// The hash of its flow.
    #[inline]
    pub const fn flow_hash(&self) -> u32 {
        self.key as u32
    }

    /// The hash of its source.
    #[inline]
    pub const fn host_source(&self) -> u16 {
        (self.key >> 32) as u16
    }

    /// The hash of its destination.
    #[inline]
    pub const fn host_destination(&self) -> u16 {
        (self.key >> 48) as u16
    }
}

/// The key of a packet from three hashes of its headers: of what makes it one flow
/// ([`QueueBy`](crate::config::QueueBy)), of its source and of its destination. The hash function
/// is the caller's; a keyed one keeps senders from choosing whose queue they share.
#[inline]
pub const fn flow_key(flow: u32, source: u16, destination: u16) -> u64 {
    flow as u64 | (source as u64) << 32 | (destination as u64) << 48
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

    /// An envelope in packet lengths, counted on the wire.
    ///
    /// # Errors
    /// When it leaves the range of its type.
    pub fn envelope(self, envelope: &Envelope) -> Result<Envelope, CurveError> {
        envelope.on_wire(Bytes(self.overhead.into()), Bytes(self.min_frame.into()))
    }

    /// The same as [`of`](Self::of) for lengths in [`Bytes`].
    pub fn of_bytes(self, bytes: Bytes) -> Bytes {
        Bytes(bytes.0.saturating_add(u64::from(self.overhead)).max(u64::from(self.min_frame)))
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
    /// Whether the AQM of its class dropped it and charges it (`ingress`): the link counts as busy
    /// for the packet's length, and nothing is sent. It has been reported as dropped.
    pub dropped: bool,
}

/// Receives every packet that is dropped.
pub trait DropSink {
    /// `packet` left the queue at `now` unsent, because of `reason`.
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason);

    /// `packet`, which enters a queue at `now` and stays there, is to carry
    /// [`Ce`](crate::ecn::Ecn::Ce) from now on.
    fn marked(&mut self, _now: Time, _packet: &Packet) {}
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

    /// Chooses the packet to send on the free link at `now`; packets that an AQM drops before it go
    /// to `drops`.
    fn dequeue(&mut self, now: Time, drops: &mut dyn DropSink) -> Option<Departure>;

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

    fn dequeue(&mut self, now: Time, drops: &mut dyn DropSink) -> Option<Departure> {
        (**self).dequeue(now, drops)
    }

    fn next_event(&self) -> Option<Time> {
        (**self).next_event()
    }

    fn waiting(&self) -> usize {
        (**self).waiting()
    }
}
