//! General priority queues over packets with deadlines.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use laxity_link::edf::Entry;
use radix_heap::RadixHeapMap;

/// The operations of all of them. Equal deadlines leave in the order of `seq`, except from
/// [`Radix`], which does not keep it.
pub trait DeadlineQueue {
    /// An empty queue.
    fn new() -> Self;
    /// Adds a packet.
    fn push(&mut self, entry: Entry);
    /// Removes a packet with the earliest deadline.
    fn pop(&mut self) -> Option<Entry>;
}

/// An entry by deadline, then by sequence, reversed: the heap of the standard library has the
/// greatest on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earliest(Entry);

impl Ord for Earliest {
    #[inline]
    fn cmp(&self, other: &Earliest) -> Ordering {
        key(&other.0).cmp(&key(&self.0))
    }
}

impl PartialOrd for Earliest {
    #[inline]
    fn partial_cmp(&self, other: &Earliest) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[inline]
fn key(entry: &Entry) -> (u64, u64) {
    (entry.deadline.0, entry.packet.seq)
}

/// The binary heap of the standard library.
pub struct Binary(BinaryHeap<Earliest>);

impl DeadlineQueue for Binary {
    fn new() -> Binary {
        Binary(BinaryHeap::new())
    }

    #[inline]
    fn push(&mut self, entry: Entry) {
        self.0.push(Earliest(entry));
    }

    #[inline]
    fn pop(&mut self) -> Option<Entry> {
        self.0.pop().map(|e| e.0)
    }
}

/// The ordered map of the standard library.
pub struct Tree(BTreeMap<(u64, u64), Entry>);

impl DeadlineQueue for Tree {
    fn new() -> Tree {
        Tree(BTreeMap::new())
    }

    #[inline]
    fn push(&mut self, entry: Entry) {
        self.0.insert(key(&entry), entry);
    }

    #[inline]
    fn pop(&mut self) -> Option<Entry> {
        self.0.pop_first().map(|(_, entry)| entry)
    }
}

/// A radix heap: monotone like the workload, amortised O(64) bucket moves.
pub struct Radix(RadixHeapMap<Reverse<u64>, Entry>);

impl DeadlineQueue for Radix {
    fn new() -> Radix {
        Radix(RadixHeapMap::new())
    }

    #[inline]
    fn push(&mut self, entry: Entry) {
        self.0.push(Reverse(entry.deadline.0), entry);
    }

    #[inline]
    fn pop(&mut self) -> Option<Entry> {
        self.0.pop().map(|(_, entry)| entry)
    }
}

/// A heap of arity 4 over 24-byte keys, the packets apart in a slab: the strongest comparison heap
/// that one would write for this.
pub struct Quaternary {
    heap: Vec<((u64, u64), u32)>,
    slab: Vec<Entry>,
    free: Vec<u32>,
}

impl DeadlineQueue for Quaternary {
    fn new() -> Quaternary {
        Quaternary { heap: Vec::new(), slab: Vec::new(), free: Vec::new() }
    }

    #[inline]
    fn push(&mut self, entry: Entry) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slab[slot as usize] = entry;
                slot
            }
            None => {
                self.slab.push(entry);
                self.slab.len() as u32 - 1
            }
        };
        let new = (key(&entry), slot);
        let mut at = self.heap.len();
        self.heap.push(new);
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent].0 <= new.0 {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = new;
    }

    #[inline]
    fn pop(&mut self) -> Option<Entry> {
        let last = self.heap.pop()?;
        let Some(&top) = self.heap.first() else { return Some(self.take(last.1)) };
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            let Some(children) = self.heap.get(first..self.heap.len().min(first + 4)) else {
                break;
            };
            let least = children.iter().enumerate().min_by_key(|(_, child)| child.0);
            let Some((i, child)) = least.map(|(i, child)| (i, *child)) else { break };
            if last.0 <= child.0 {
                break;
            }
            self.heap[at] = child;
            at = first + i;
        }
        self.heap[at] = last;
        Some(self.take(top.1))
    }
}

impl Quaternary {
    #[inline]
    fn take(&mut self, slot: u32) -> Entry {
        self.free.push(slot);
        self.slab[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use laxity_core::{FlowId, Time};
    use laxity_link::Packet;

    fn sorts<Q: DeadlineQueue>() {
        let mut queue = Q::new();
        let (mut random, mut now, mut left) = (Random(1), 0, 0);
        for seq in 0..20_000 {
            let flow = FlowId(0);
            let arrival = Time::ZERO;
            let packet = Packet::new(seq, arrival, flow, 0, 0);
            queue.push(Entry { deadline: Time(now + random.below(1000)), packet });
            left += 1;
            while left > random.below(300) {
                let entry = queue.pop().unwrap();
                assert!(entry.deadline.0 >= now);
                now = entry.deadline.0;
                left -= 1;
            }
        }
        assert_eq!(std::iter::from_fn(|| queue.pop()).count() as u64, left);
    }

    #[test]
    fn every_queue_sorts() {
        sorts::<Binary>();
        sorts::<Tree>();
        sorts::<Radix>();
        sorts::<Quaternary>();
    }
}
