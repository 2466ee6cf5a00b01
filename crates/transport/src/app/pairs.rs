//! Connections of an application, both ends, and what drives them.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt::Debug;

use laxity_core::{Bytes, Time};

use super::{Application, Completion};
use crate::packet::{Body, Direction, FlowKey, Packet};
use crate::{Config, Congestion, Connection};

/// Both ends of a connection.
#[derive(Debug)]
pub struct Endpoints {
    /// The end that opens it.
    pub client: Connection,
    /// The other.
    pub server: Connection,
}

/// The connections of an application; those not yet open send nothing.
#[derive(Debug)]
pub struct Pairs {
    pairs: Vec<Endpoints>,
    open: usize,
}

impl Pairs {
    /// `count` connections, one of them open. `control` makes the congestion control of each end.
    pub fn new(count: usize, config: Config, control: &dyn Fn() -> Box<dyn Congestion>) -> Pairs {
        let pair = |_| Endpoints {
            client: Connection::client(config, control()),
            server: Connection::server(config, control()),
        };
        Pairs { pairs: (0..count.max(1)).map(pair).collect(), open: 1 }
    }

    /// Opens all connections.
    pub fn open_all(&mut self) {
        self.open = self.pairs.len();
    }

    /// The open connections.
    pub fn open(&mut self) -> &mut [Endpoints] {
        &mut self.pairs[..self.open]
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        (0..).zip(self.open()).find_map(|(connection, ends)| {
            let up = ends.client.poll_transmit(now).map(|segment| (Direction::Up, segment));
            let down = || ends.server.poll_transmit(now).map(|segment| (Direction::Down, segment));
            let (direction, segment) = up.or_else(down)?;
            let key = FlowKey { connection, direction };
            Some(Packet { key, body: Body::Segment(segment) })
        })
    }

    fn poll_timeout(&self) -> Option<Time> {
        let ends = self.pairs[..self.open].iter();
        let of_pair = |e: &Endpoints| Time::first(e.client.poll_timeout(), e.server.poll_timeout());
        ends.fold(None, |first, ends| Time::first(first, of_pair(ends)))
    }

    fn received(&self) -> Bytes {
        let ends = self.pairs.iter().map(|e| e.client.received() + e.server.received());
        ends.fold(Bytes(0), |sum, bytes| sum + bytes)
    }

    fn handle_timeout(&mut self, now: Time) {
        for ends in self.open() {
            ends.client.handle_timeout(now);
            ends.server.handle_timeout(now);
        }
    }

    fn handle_delivery(&mut self, now: Time, packet: &Packet) {
        let Body::Segment(segment) = &packet.body else { return };
        let Some(ends) = self.pairs.get_mut(packet.key.connection as usize) else { return };
        match packet.key.direction {
            Direction::Up => ends.server.handle_segment(now, segment),
            Direction::Down => ends.client.handle_segment(now, segment),
        }
    }
}

/// The writes of an application to its connections and their times.
pub trait Workload: Debug + Send {
    /// Looks at what has arrived and writes what follows; called at the start, after each arrival and
    /// at the workload's own timer.
    fn advance(&mut self, now: Time, pairs: &mut Pairs) -> Option<Completion>;

    /// When the workload acts by itself.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }
}

/// A workload over TCP connections.
#[derive(Debug)]
pub struct TcpApplication<W> {
    /// The workload.
    pub workload: W,
    pairs: Pairs,
    start: Time,
    started: bool,
    completions: VecDeque<Completion>,
}

impl<W: Workload> TcpApplication<W> {
    /// `workload` from `start` on.
    pub fn new(start: Time, workload: W, pairs: Pairs) -> TcpApplication<W> {
        TcpApplication { workload, pairs, start, started: false, completions: VecDeque::new() }
    }

    /// The open connections.
    pub fn connections(&mut self) -> &mut [Endpoints] {
        self.pairs.open()
    }

    fn advance(&mut self, now: Time) {
        while let Some(completion) = self.workload.advance(now, &mut self.pairs) {
            self.completions.push_back(completion);
        }
    }
}

impl<W: Workload> Application for TcpApplication<W> {
    fn handle_delivery(&mut self, now: Time, packet: &Packet) {
        self.pairs.handle_delivery(now, packet);
        self.advance(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        if now < self.start {
            return;
        }
        self.started = true;
        self.pairs.handle_timeout(now);
        self.advance(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if self.started { self.pairs.poll_transmit(now) } else { None }
    }

    fn poll_timeout(&self) -> Option<Time> {
        if !self.started {
            return Some(self.start);
        }
        Time::first(self.pairs.poll_timeout(), self.workload.poll_timeout())
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    fn received(&self) -> Bytes {
        self.pairs.received()
    }
}
