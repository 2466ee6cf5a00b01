//! Arrivals in order of time: the packets of a run, before any policy has seen them.

use laxity_core::{FlowId, Time};
use laxity_link::Packet;
use laxity_link::ecn::Ecn;

/// One packet offered to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub time: Time,
    /// Of which flow.
    pub flow: FlowId,
    /// Its length in bytes.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its flow and hosts within its class; see [`flow_key`](laxity_link::packet::flow_key).
    pub key: u64,
}

impl Arrival {
    /// A packet that is not ECN-capable, with the key 0.
    pub const fn new(time: Time, flow: FlowId, bytes: u32) -> Arrival {
        Arrival { time, flow, bytes, ecn: Ecn::NotEct, key: 0 }
    }

    /// The packet as a policy takes it, with the number `seq` and the length `wire` on the wire.
    #[inline]
    pub const fn packet(&self, seq: u64, wire: u32) -> Packet {
        let Arrival { time, flow, bytes, ecn, key } = *self;
        Packet { ecn, key, ..Packet::new(seq, time, flow, bytes, wire) }
    }
}

/// Arrivals in order of time. Iterators serve as such; the engine requests only the next.
pub trait Arrivals: Iterator<Item = Arrival> {}

impl<I: Iterator<Item = Arrival>> Arrivals for I {}

/// Merges sources into one sequence; packets of one instant come in the order of their sources.
#[derive(Debug)]
pub struct Merge<S> {
    sources: Vec<S>,
    /// Next arrival of each source that has one.
    next: Vec<Option<Arrival>>,
    /// A binary heap of time and source in one number, which compares in one go.
    heap: Vec<u128>,
}

impl<S: Iterator<Item = Arrival>> Merge<S> {
    /// Starts all sources.
    pub fn new(mut sources: Vec<S>) -> Merge<S> {
        let next: Vec<_> = sources.iter_mut().map(Iterator::next).collect();
        let first = next.iter().enumerate().filter_map(|(i, a)| a.map(|a| key(a.time, i)));
        let mut heap: Vec<u128> = first.collect();
        heap.sort_unstable();
        Merge { sources, next, heap }
    }

    /// Restores the heap after its root has changed.
    #[inline]
    fn sift(&mut self) {
        let mut i = 0;
        loop {
            let mut child = 2 * i + 1;
            if child >= self.heap.len() {
                return;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1] < self.heap[child] {
                child += 1;
            }
            if self.heap[i] <= self.heap[child] {
                return;
            }
            self.heap.swap(i, child);
            i = child;
        }
    }
}

#[inline]
fn key(time: Time, source: usize) -> u128 {
    u128::from(time.0) << 64 | source as u128
}

impl<S: Iterator<Item = Arrival>> Iterator for Merge<S> {
    type Item = Arrival;

    #[inline]
    fn next(&mut self) -> Option<Arrival> {
        let source = *self.heap.first()? as u64 as usize;
        let arrival = self.next[source]?;
        self.next[source] = self.sources[source].next();
        match self.next[source] {
            Some(next) => {
                debug_assert!(next.time >= arrival.time);
                self.heap[0] = key(next.time, source);
            }
            None => {
                self.heap.swap_remove(0);
            }
        }
        self.sift();
        Some(arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_time_order_and_every_packet() {
        let source = |flow: u32, step: u64, n: u64| {
            (0..n).map(move |i| Arrival::new(Time(i * step), FlowId(flow), 1))
        };
        let merged: Vec<_> =
            Merge::new(vec![source(0, 7, 30), source(1, 3, 50), source(2, 1, 0)]).collect();
        assert_eq!(merged.len(), 80);
        assert!(merged.is_sorted_by_key(|a| (a.time, a.flow, a.bytes)));
    }
}
