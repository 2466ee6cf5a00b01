//! Flow queues of a class: DRR++ with host isolation.
//!
//! DRR++ (MacGregor and Shi 2000) as RFC 8290, section 4, has it: a flow that begins goes first for
//! one quantum, so packets of sparse flows wait for hardly anything; flows that have used it share
//! the rest in rounds. Queues come from a set-associative [`Table`](table::Table), rounds are
//! [`Rounds`](rounds::Rounds).
//!
//! **Hosts.** Under `host-and-flow` the quantum of a flow is divided by the number of bulk flows of
//! its source or of its destination, whichever has more, as in CAKE's `triple-isolate` (Høiland-
//! Jørgensen, Täht, Morton, "Piece of CAKE", 2018, section 3.2). So hosts share the class, and the
//! flows of a host share what it gets. A flow is bulk once it has used its first quantum.
//!
//! **Overload.** Packets are pushed out of the flow with about the most bytes, times the flows that
//! its host has. A host that floods many ports therefore pushes out itself.

mod fattest;
mod hosts;
pub(crate) mod pool;
mod rounds;
mod table;
#[cfg(test)]
mod tests;

use alloc::{boxed::Box, vec};

use crate::Packet;
use crate::config::{FlowQueueing, QueueBy};
use fattest::Fattest;
use hosts::HostCounts;
use pool::Fifo;
use rounds::{List, ROUNDS, Rounds};
use table::Table;

/// The flows of a class and their order. The packets stand in the class's FIFOs, one for each flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowQueues {
    table: Table,
    flows: Box<[Flow]>,
    next: Box<[u32]>,
    new: List,
    old: Rounds,
    /// In bytes on the wire.
    quantum: u32,
    hosts: Option<HostCounts>,
    fattest: Fattest,
    #[cfg(test)]
    visits: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    deficit: i64,
    state: State,
    /// It counts as a flow of its hosts.
    bulk: bool,
    /// Fraction of a byte of quantum that it has left, in 2^-16.
    carry: u16,
    source: u16,
    destination: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    New,
    Old,
}

impl FlowQueues {
    pub(crate) fn new(config: &FlowQueueing, quantum: u32) -> FlowQueues {
        let queues = config.queues as usize;
        let isolates = config.by == QueueBy::HostAndFlow;
        FlowQueues {
            table: Table::new(queues),
            flows: vec![Flow::default(); queues].into_boxed_slice(),
            next: vec![0; queues].into_boxed_slice(),
            new: List::EMPTY,
            old: Rounds::new(),
            quantum: quantum.max(1),
            hosts: isolates.then(|| HostCounts::new(config.hosts)),
            fattest: Fattest::new(queues),
            #[cfg(test)]
            visits: 0,
        }
    }

    /// The queue of a packet.
    #[inline]
    pub(crate) fn queue(&mut self, packet: &Packet) -> usize {
        let flows = &self.flows;
        self.table.queue(packet.flow_hash(), |queue| flows[queue].state == State::Idle)
    }

    /// A packet has entered `queue`, which now is `fifo`.
    #[inline]
    pub(crate) fn arrived(&mut self, queue: usize, packet: &Packet, fifo: &Fifo) {
        match self.flows[queue].state {
            State::Idle => {
                let (source, destination) = (packet.host_source(), packet.host_destination());
                let flow = &mut self.flows[queue];
                (flow.source, flow.destination) = (source, destination);
                (flow.deficit, flow.carry, flow.state) = (0, 0, State::New);
                self.credit(queue, 1);
                self.new.push(queue, &mut self.next);
            }
            State::Old => self.set_bulk(queue, true),
            State::New => {}
        }
        self.changed(queue, fifo);
    }

    /// The bytes of a queue have changed.
    #[inline]
    pub(crate) fn changed(&mut self, queue: usize, fifo: &Fifo) {
        let load = self.load(queue);
        self.fattest.set(queue, fifo.bytes.saturating_mul(u64::from(load)));
    }

    /// The queue whose oldest packet is next. May rotate, but removes nothing.
    #[inline]
    pub(crate) fn select(&mut self, fifos: &[Fifo]) -> Option<usize> {
        loop {
            #[cfg(test)]
            {
                self.visits += 1;
            }
            if let Some(queue) = self.new.first() {
                let (waits, paid) = (fifos[queue].packets > 0, self.flows[queue].deficit > 0);
                if waits && paid {
                    return Some(queue);
                }
                self.new.pop(&self.next);
                if !paid {
                    self.wait_for_credit(queue);
                } else if self.old.is_empty() {
                    self.flows[queue].state = State::Idle;
                } else {
                    // Else a flow that sends whenever its queue is empty would always go first.
                    self.flows[queue].state = State::Old;
                    self.old.push(queue, 1, &mut self.next);
                }
                continue;
            }
            let queue = self.old.first()?;
            let (waits, paid) = (fifos[queue].packets > 0, self.flows[queue].deficit > 0);
            if waits && paid {
                return Some(queue);
            }
            self.old.pop(&self.next);
            if paid {
                self.set_bulk(queue, false);
                self.flows[queue].state = State::Idle;
            } else {
                // An empty queue pays first too. Else flows of a single packet, each in a queue of
                // its own, would get more than the others.
                self.wait_for_credit(queue);
            }
        }
    }

    /// `wire` bytes of a queue are sent.
    #[inline]
    pub(crate) fn charge(&mut self, queue: usize, wire: u32) {
        self.flows[queue].deficit -= i64::from(wire);
    }

    /// Whether a flow has used its first quantum.
    #[inline]
    pub(crate) fn is_bulk(&self, queue: usize) -> bool {
        self.flows[queue].state == State::Old
    }

    /// The queue to push packets out of.
    pub(crate) fn fattest(&self) -> Option<usize> {
        self.fattest.fattest()
    }

    /// Packets that share a queue with another flow.
    #[cfg(test)]
    pub(crate) fn collisions(&self) -> u64 {
        self.table.collisions
    }

    fn load(&self, queue: usize) -> u16 {
        let flow = &self.flows[queue];
        self.hosts.as_ref().map_or(1, |hosts| hosts.load(flow.source, flow.destination))
    }

    /// Bytes of quantum a round, in 2^-16: positive, since there are fewer than 2^15 queues.
    fn share(&self, queue: usize) -> i64 {
        let part = match self.load(queue) {
            1 => 1 << 16,
            load => 65_535 / i64::from(load),
        };
        i64::from(self.quantum) * part
    }

    /// Gives a flow the quantum of some rounds.
    fn credit(&mut self, queue: usize, rounds: i64) {
        let share = self.share(queue);
        let flow = &mut self.flows[queue];
        let sum = i64::from(flow.carry) + rounds * share;
        flow.deficit += sum >> 16;
        flow.carry = sum as u16;
    }

    /// Puts a flow into the round in which its deficit is positive.
    fn wait_for_credit(&mut self, queue: usize) {
        self.flows[queue].state = State::Old;
        self.set_bulk(queue, true);
        let share = self.share(queue);
        let flow = &self.flows[queue];
        let missing = ((1 - flow.deficit).max(0) << 16) - i64::from(flow.carry);
        let rounds = ((missing + share - 1) / share).clamp(1, ROUNDS as i64 - 1);
        self.credit(queue, rounds);
        self.old.push(queue, rounds as usize, &mut self.next);
    }

    fn set_bulk(&mut self, queue: usize, bulk: bool) {
        let flow = &mut self.flows[queue];
        if flow.bulk == bulk {
            return;
        }
        flow.bulk = bulk;
        let (source, destination) = (flow.source, flow.destination);
        if let Some(hosts) = &mut self.hosts {
            match bulk {
                true => hosts.add(source, destination),
                false => hosts.subtract(source, destination),
            }
        }
    }
}
