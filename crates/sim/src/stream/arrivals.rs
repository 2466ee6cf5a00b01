//! The packets of all streams in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use laxity_core::Time;

use super::source::{Pattern, Source};
use crate::Random;

/// A packet comes to the queue of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamArrival {
    /// When.
    pub time: Time,
    /// Index of the stream, counted over all classes in file order.
    pub stream: u32,
}

/// All sources of a run. Packets of one instant come in the order of their streams.
#[derive(Debug)]
pub struct StreamArrivals {
    random: Random,
    patterns: Vec<Pattern>,
    sources: Vec<Source>,
    /// Class of each stream.
    class_of: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    end: u64,
}

impl StreamArrivals {
    /// The sources of classes of so many streams, up to `end`.
    pub fn new(classes: &[(Pattern, u32)], seed: u64, end: Time) -> StreamArrivals {
        let random = Random::new(seed, 0);
        let count: u32 = classes.iter().map(|c| c.1).sum();
        let mut arrivals = StreamArrivals {
            random,
            patterns: classes.iter().map(|c| c.0).collect(),
            sources: Vec::with_capacity(count as usize),
            class_of: Vec::with_capacity(count as usize),
            heap: BinaryHeap::new(),
            end: end.0,
        };
        let mut first = Vec::new();
        for (class, (pattern, count)) in classes.iter().enumerate() {
            let begin = arrivals.sources.len() as u32;
            for stream in begin..begin + count {
                let mut source = Source::new(pattern, stream, &arrivals.random);
                let time = source.next(pattern, stream, &arrivals.random);
                first.extend(time.filter(|t| *t < end.0).map(|t| Reverse((t, stream))));
                arrivals.sources.push(source);
                arrivals.class_of.push(class as u32);
            }
        }
        arrivals.heap = first.into();
        arrivals
    }

    /// When the next packet comes.
    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((time, _))| Time(*time))
    }

    /// The class of a stream.
    #[inline]
    pub fn class(&self, stream: u32) -> usize {
        self.class_of[stream as usize] as usize
    }
}

impl Iterator for StreamArrivals {
    type Item = StreamArrival;

    fn next(&mut self) -> Option<StreamArrival> {
        let mut top = self.heap.peek_mut()?;
        let Reverse((time, stream)) = *top;
        let pattern = self.patterns[self.class_of[stream as usize] as usize];
        let source = &mut self.sources[stream as usize];
        match source.next(&pattern, stream, &self.random).filter(|t| *t < self.end) {
            Some(next) => *top = Reverse((next, stream)),
            None => {
                PeekMut::pop(top);
            }
        }
        Some(StreamArrival { time: Time(time), stream })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a stream is lost on the way through the heap, or time goes back.
    #[test]
    fn all_streams_come_in_order_of_time() {
        let periodic = |period, phase| Pattern::Periodic { period, jitter: 0, phase };
        let classes =
            [(periodic(10, Some(0)), 3), (Pattern::Backlogged, 2), (periodic(7, None), 4)];
        let all: Vec<_> = StreamArrivals::new(&classes, 1, Time(700)).collect();
        assert!(all.is_sorted_by_key(|a| (a.time, a.stream)));
        let count = |stream| all.iter().filter(|a| a.stream == stream).count();
        assert_eq!((0..9).map(count).collect::<Vec<_>>(), [70, 70, 70, 0, 0, 100, 100, 100, 100]);
    }
}
