//! An indexed priority queue: the least key is found in O(1), any key changes in O(log n), and
//! nothing allocates after [`Queue::reserve`].

use alloc::vec::Vec;

/// Entries ordered by key, and by sequence number `seq` on equal keys.
///
/// A 4-ary heap with a table of positions. Keys are stored in the heap itself, so that comparing
/// four children reads two cache lines and nothing else.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Queue {
    heap: Vec<Node>,
    /// The heap position of each entry; `ABSENT` for entries not in the queue.
    places: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Hash)]
struct Node {
    /// Key and sequence number in one integer, for a single comparison.
    rank: u128,
    entry: u32,
}

const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

impl Queue {
    /// Reserves capacity for entries numbered below `entries`.
    pub(crate) fn reserve(&mut self, entries: usize) {
        if self.places.len() < entries {
            self.places.resize(entries, ABSENT);
            self.heap.reserve(entries - self.heap.len());
        }
    }

    /// The first entry and its key.
    #[inline]
    pub(crate) fn first(&self) -> Option<(u64, u32)> {
        self.heap.first().map(|n| ((n.rank >> 64) as u64, n.entry))
    }

    /// The first of those entries that pass, with its key; takes time in proportion to all.
    pub(crate) fn first_of(&self, passes: impl Fn(u32) -> bool) -> Option<(u64, u32)> {
        let least = self.heap.iter().filter(|n| passes(n.entry)).min_by_key(|n| n.rank)?;
        Some(((least.rank >> 64) as u64, least.entry))
    }

    /// The key of an entry.
    #[inline]
    pub(crate) fn key(&self, entry: u32) -> Option<u64> {
        let place = *self.places.get(entry as usize)?;
        (place != ABSENT).then(|| (self.heap[place as usize].rank >> 64) as u64)
    }

    /// The sequence number of an entry; zero if it is not in the queue.
    pub(crate) fn seq(&self, entry: u32) -> u64 {
        match self.places.get(entry as usize) {
            Some(&place) if place != ABSENT => self.heap[place as usize].rank as u64,
            _ => 0,
        }
    }

    /// Inserts an entry, or changes its key and sequence number.
    #[inline]
    pub(crate) fn set(&mut self, entry: u32, key: u64, seq: u64) {
        let node = Node { rank: u128::from(key) << 64 | u128::from(seq), entry };
        let place = self.places[entry as usize];
        if place == ABSENT {
            self.heap.push(node);
            self.rise(self.heap.len() - 1, node);
        } else {
            self.settle(place as usize, node);
        }
    }

    /// Changes the key of an entry in the queue; its sequence number stays.
    #[inline]
    pub(crate) fn rekey(&mut self, entry: u32, key: u64) {
        if let Some(&place) = self.places.get(entry as usize) {
            if place != ABSENT {
                let seq = self.heap[place as usize].rank as u64;
                self.set(entry, key, seq);
            }
        }
    }

    /// Removes an entry, if present.
    #[inline]
    pub(crate) fn remove(&mut self, entry: u32) {
        let Some(place) = self.places.get_mut(entry as usize) else { return };
        let hole = core::mem::replace(place, ABSENT);
        if hole == ABSENT {
            return;
        }
        let hole = hole as usize;
        let Some(last) = self.heap.pop() else { return };
        if hole < self.heap.len() {
            self.settle(hole, last);
        }
    }

    /// Puts `node` at `place` and restores the heap order.
    fn settle(&mut self, place: usize, node: Node) {
        if place > 0 && node.rank < self.heap[(place - 1) / ARITY].rank {
            self.rise(place, node);
        } else {
            self.sink(place, node);
        }
    }

    fn rise(&mut self, mut place: usize, node: Node) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent].rank <= node.rank {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, node);
    }

    fn sink(&mut self, mut place: usize, node: Node) {
        while let Some(least) = self.least_child(place) {
            if node.rank <= self.heap[least].rank {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
        }
        self.put(place, node);
    }

    /// The child of `place` that is first.
    #[inline]
    fn least_child(&self, place: usize) -> Option<usize> {
        let first = place * ARITY + 1;
        // Two independent comparisons and a third, without branches.
        if let Some([a, b, c, d]) = self.heap.get(first..first + ARITY) {
            let (low, high) = (usize::from(b.rank < a.rank), usize::from(d.rank < c.rank) + 2);
            let left = if b.rank < a.rank { b.rank } else { a.rank };
            let right = if d.rank < c.rank { d.rank } else { c.rank };
            return Some(first + if right < left { high } else { low });
        }
        (first..self.heap.len()).min_by_key(|c| self.heap[*c].rank)
    }

    #[inline]
    fn put(&mut self, place: usize, node: Node) {
        self.heap[place] = node;
        self.places[node.entry as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // Few keys, so that ties are common. Fails when a removal only sinks the last node: tried
        // with `sink` in place of `settle` in `remove`.
        #[test]
        fn queue_agrees_with_a_sorted_list(moves in proptest::collection::vec((0..40u32, 0..9u64), 1..400)) {
            let mut queue = Queue::default();
            queue.reserve(40);
            let mut list: Vec<(u64, u64, u32)> = Vec::new();
            for (seq, (entry, key)) in moves.into_iter().enumerate() {
                let old = list.iter().find(|(.., e)| *e == entry).copied();
                list.retain(|(.., e)| *e != entry);
                match (key, old) {
                    (8, _) => queue.remove(entry),
                    (7, old) => {
                        queue.rekey(entry, 3);
                        list.extend(old.map(|(_, seq, e)| (3, seq, e)));
                    }
                    _ => {
                        queue.set(entry, key, seq as u64);
                        list.push((key, seq as u64, entry));
                    }
                }
                let least = list.iter().min().map(|(key, _, e)| (*key, *e));
                prop_assert_eq!(queue.first(), least);
                let odd = list.iter().filter(|(.., e)| e % 2 == 1).min();
                prop_assert_eq!(queue.first_of(|e| e % 2 == 1), odd.map(|(key, _, e)| (*key, *e)));
                for e in 0..40 {
                    let key = list.iter().find(|(.., x)| *x == e).map(|(key, ..)| *key);
                    prop_assert_eq!(queue.key(e), key);
                }
            }
        }
    }
}
