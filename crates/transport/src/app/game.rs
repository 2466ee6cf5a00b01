//! A game: small datagrams at fixed intervals both ways, which react to nothing.

use alloc::collections::VecDeque;

use laxity_core::{Bytes, Span, Time};

use super::{Application, Completion};
use crate::packet::{Body, Direction, FlowKey, Packet};

/// Datagrams of one direction.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// The size of the IP packet.
    pub bytes: Bytes,
    /// From one to the next; not zero.
    pub interval: Span,
}

/// A game; each datagram that arrives is a completion.
#[derive(Clone, Debug)]
pub struct Game {
    streams: [(Direction, Stream, Time); 2],
    completions: VecDeque<Completion>,
    received: Bytes,
}

impl Game {
    /// Both directions from `start` on.
    pub fn new(start: Time, up: Stream, down: Stream) -> Game {
        let streams = [(Direction::Up, up, start), (Direction::Down, down, start)];
        Game { streams, completions: VecDeque::new(), received: Bytes(0) }
    }
}

impl Application for Game {
    fn handle_delivery(&mut self, now: Time, packet: &Packet) {
        if let Body::Datagram { bytes, sent } = packet.body {
            self.received += bytes;
            self.completions.push_back(Completion { started: sent, ended: now, bytes });
        }
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let (direction, stream, next) =
            self.streams.iter_mut().find(|(_, _, next)| *next <= now)?;
        let body = Body::Datagram { bytes: stream.bytes, sent: *next };
        *next += stream.interval;
        let key = FlowKey { connection: 0, direction: *direction };
        Some(Packet { key, body })
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.streams.iter().map(|(_, _, next)| *next).min()
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    fn received(&self) -> Bytes {
        self.received
    }
}
