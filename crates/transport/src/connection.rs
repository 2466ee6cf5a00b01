//! An endpoint: handshake, sender and receiver behind one interface.

use alloc::boxed::Box;

use laxity_core::{Bytes, Span, Time};

use crate::congestion::{Congestion, Window};
use crate::handshake::Handshake;
use crate::receiver::{Acknowledgement, Receiver};
use crate::segment::{Kind, Range, Segment};
use crate::sender::{Counters, Outgoing, Sender};
use crate::{Config, Ecn};

/// One end of a TCP connection.
///
/// A state machine without clock and I/O: the caller passes the time, hands over segments that arrive
/// ([`handle_segment`](Connection::handle_segment)) and expired timers
/// ([`handle_timeout`](Connection::handle_timeout)), and after each of these and after
/// [`write`](Connection::write) takes all segments that leave
/// ([`poll_transmit`](Connection::poll_transmit) until it returns `None`), then asks for the next timer
/// ([`poll_timeout`](Connection::poll_timeout)). A lost segment is one that is never handed over.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    handshake: Handshake,
    sender: Sender,
    receiver: Receiver,
}

impl Connection {
    /// The end that opens the connection, at the first [`poll_transmit`](Connection::poll_transmit).
    pub fn client(config: Config, congestion: Box<dyn Congestion>) -> Connection {
        Connection::new(config, congestion, Handshake::client())
    }

    /// The end that waits for it.
    pub fn server(config: Config, congestion: Box<dyn Congestion>) -> Connection {
        Connection::new(config, congestion, Handshake::server())
    }

    fn new(config: Config, congestion: Box<dyn Congestion>, handshake: Handshake) -> Connection {
        let (sender, receiver) = (Sender::new(config, congestion), Receiver::new(config));
        Connection { config, handshake, sender, receiver }
    }

    /// Adds bytes to the stream that this end sends.
    pub fn write(&mut self, bytes: Bytes) {
        self.sender.write(bytes.0);
    }

    /// Bytes written so far.
    pub fn written(&self) -> Bytes {
        Bytes(self.sender.written())
    }

    /// Bytes written that the peer has acknowledged.
    pub fn acknowledged(&self) -> Bytes {
        Bytes(self.sender.acknowledged())
    }

    /// Bytes received in order.
    pub fn received(&self) -> Bytes {
        Bytes(self.receiver.received())
    }

    /// Whether the handshake is complete at this end.
    pub fn is_established(&self) -> bool {
        self.handshake.is_established()
    }

    /// The congestion window.
    pub fn window(&self) -> Window {
        self.sender.window()
    }

    /// Segments in flight.
    pub fn in_flight(&self) -> u32 {
        self.sender.in_flight()
    }

    /// The smoothed round trip, once one was measured.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.sender.smoothed_rtt()
    }

    /// Bytes and segments sent so far.
    pub fn counters(&self) -> Counters {
        self.sender.counters()
    }

    /// A segment arrived.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        let opens = self.handshake.handle_segment(now, segment.kind);
        self.receiver.handle_segment(now, segment);
        if opens {
            let rtt = segment.echo.map(|echo| now.since(echo));
            self.sender.open(rtt, self.handshake.was_resent());
        }
        self.sender.extend_window(segment.ack + segment.window);
        if !self.handshake.is_established() {
            return;
        }
        match segment.kind {
            // The acknowledgement of the handshake was lost, or is due.
            Kind::SynAck => self.receiver.acknowledge_now(),
            Kind::Syn => {}
            Kind::Data => self.sender.handle_ack(now, segment),
        }
    }

    /// When [`handle_timeout`](Connection::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Option<Time> {
        if !self.handshake.is_established() {
            return self.handshake.poll_timeout();
        }
        Time::first(self.sender.poll_timeout(), self.receiver.poll_timeout())
    }

    /// Timers expired; without effect before they do.
    pub fn handle_timeout(&mut self, now: Time) {
        self.sender.handle_timeout(now);
        self.receiver.handle_timeout(now);
    }

    /// The next segment that leaves now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(kind) = self.handshake.poll_transmit(now, &self.config) {
            return Some(self.without_payload(now, kind, false));
        }
        if !self.handshake.is_established() {
            return None;
        }
        if self.receiver.must_report() {
            return Some(self.without_payload(now, Kind::Data, true));
        }
        if let Some(outgoing) = self.sender.poll_transmit(now) {
            return Some(self.segment(now, Kind::Data, false, outgoing));
        }
        let due = self.receiver.must_acknowledge();
        due.then(|| self.without_payload(now, Kind::Data, false))
    }

    fn without_payload(&mut self, now: Time, kind: Kind, report: bool) -> Segment {
        let next = self.sender.next();
        let range = Range { start: next, end: next };
        self.segment(now, kind, report, Outgoing { range, ecn: Ecn::NotEct, cwr: false })
    }

    /// A segment with the acknowledgement. It is written once, as a whole: fields that are changed
    /// afterwards delay the copies of it that callers make.
    fn segment(&mut self, now: Time, kind: Kind, report: bool, outgoing: Outgoing) -> Segment {
        let Outgoing { range, ecn, cwr } = outgoing;
        let Acknowledgement { ack, window, echo, ece, ce_received, sack } =
            self.receiver.acknowledge(report);
        Segment {
            kind,
            start: range.start,
            len: (range.end - range.start) as u32,
            ack,
            window,
            sack,
            sent: now,
            echo,
            ecn,
            ece,
            cwr,
            ce_received,
        }
    }
}
