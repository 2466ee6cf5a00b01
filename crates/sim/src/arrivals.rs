//! Arrivals in order of time: the packets of a run, before any policy has seen them.

use laxity_core::{FlowId, Time};

/// One packet offered to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// When.
    pub time: Time,
    /// Of which flow.
    pub flow: FlowId,
    /// Its length in bytes.
    pub bytes: u32,
}

/// Arrivals in order of time. Iterators serve as such; the engine asks for no more than the next.
pub trait Arrivals: Iterator<Item = Arrival> {}

impl<I: Iterator<Item = Arrival>> Arrivals for I {}

/// Merges sources into one sequence; packets of one instant come in flow order.
#[derive(Debug)]
pub struct Merge<S> {
    sources: Vec<S>,
    /// Next arrival of each source, kept as a binary heap.
    heads: Vec<(Arrival, usize)>,
}

impl<S: Iterator<Item = Arrival>> Merge<S> {
    /// Starts all sources.
    pub fn new(mut sources: Vec<S>) -> Merge<S> {
        let mut heads: Vec<_> =
            sources.iter_mut().enumerate().filter_map(|(i, s)| Some((s.next()?, i))).collect();
        heads.sort_unstable();
        Merge { sources, heads }
    }

    /// Restores the heap after its root has changed.
    #[inline]
    fn sift(&mut self) {
        let mut i = 0;
        loop {
            let mut child = 2 * i + 1;
            if child >= self.heads.len() {
                return;
            }
            if child + 1 < self.heads.len() && self.heads[child + 1] < self.heads[child] {
                child += 1;
            }
            if self.heads[i] <= self.heads[child] {
                return;
            }
            self.heads.swap(i, child);
            i = child;
        }
    }
}

impl<S: Iterator<Item = Arrival>> Iterator for Merge<S> {
    type Item = Arrival;

    #[inline]
    fn next(&mut self) -> Option<Arrival> {
        let &(arrival, source) = self.heads.first()?;
        match self.sources[source].next() {
            Some(next) => {
                debug_assert!(next.time >= arrival.time);
                self.heads[0] = (next, source);
            }
            None => {
                self.heads.swap_remove(0);
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
            (0..n).map(move |i| Arrival { time: Time(i * step), flow: FlowId(flow), bytes: 1 })
        };
        let merged: Vec<_> =
            Merge::new(vec![source(0, 7, 30), source(1, 3, 50), source(2, 1, 0)]).collect();
        assert_eq!(merged.len(), 80);
        assert!(merged.is_sorted());
    }
}
