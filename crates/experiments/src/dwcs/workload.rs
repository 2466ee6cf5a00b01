//! The streams of section 5, and the orders in which FIFO may meet their packets.

use laxity_core::{Span, Time};
use laxity_dwcs::{Attributes, Dropped, Late, Overdue, Queues, StreamId, Tolerance};
use laxity_sim::Random;

/// Service time of a packet. The paper counts in units of it; a millisecond leaves room for a
/// million arrivals within one unit, so that arrivals can order packets and nothing else.
pub const SERVICE: Span = Span(1_000_000);

/// Classes of equally many streams.
pub const CLASSES: usize = 8;

/// The class of a stream.
pub fn class(stream: usize) -> usize {
    stream % CLASSES
}

/// Packets of which a class may lose one: 80, 90, ... 150.
pub fn window(class: usize) -> u64 {
    80 + 10 * class as u64
}

/// A class in labels.
pub fn class_name(class: usize) -> String {
    format!("1-{}", window(class))
}

/// `count` streams with deadlines `gap` service times apart.
pub fn streams(count: usize, gap: u64, late: Late) -> Vec<Attributes> {
    let tolerance = |i| Tolerance::new(1, window(class(i))).unwrap_or(NONE);
    let gap = Span(gap * SERVICE.0);
    (0..count).map(|i| Attributes { late, ..Attributes::new(tolerance(i), gap) }).collect()
}

/// Placeholder for a tolerance out of range, which none is.
const NONE: Tolerance = match Tolerance::new(0, 1) {
    Ok(none) => none,
    Err(_) => unreachable!(),
};

/// Streams that always have a packet. The k-th head of each came at k ns, so "first come" among
/// streams means the stream that was served least.
#[derive(Clone, Debug)]
pub struct Backlog {
    heads: Vec<u64>,
}

impl Backlog {
    /// For so many streams.
    pub fn new(streams: usize) -> Backlog {
        Backlog { heads: vec![0; streams] }
    }

    fn skip(&mut self, stream: StreamId, count: u64) -> Option<Time> {
        let head = self.heads.get_mut(stream.slot())?;
        *head += count;
        Some(Time(*head))
    }
}

impl Queues for Backlog {
    fn serve(&mut self, stream: StreamId) -> Option<Time> {
        self.skip(stream, 1)
    }

    fn drop_head(&mut self, stream: StreamId) -> Option<Time> {
        self.skip(stream, 1)
    }

    fn drop_heads(&mut self, stream: StreamId, which: Overdue) -> Dropped {
        Dropped { count: which.at_most, next: self.skip(stream, which.at_most) }
    }
}

/// A model of bursts. The paper states 20 on average, of similar size, close together, and
/// no more; for FIFO this decides everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bursts {
    /// Of `size` packets each, in rounds of all streams in the same order.
    Fixed {
        /// Packets.
        size: u64,
    },
    /// Of `mean - spread` to `mean + spread` packets, all equally likely, in rounds of all streams
    /// in an order drawn for each round.
    Shuffled {
        /// Packets on average.
        mean: u64,
        /// At most so many more or fewer.
        spread: u64,
    },
    /// Of `size` packets, each of a stream drawn at random: bursts of each stream at the instants
    /// of a Poisson process.
    Poisson {
        /// Packets.
        size: u64,
    },
}

impl Bursts {
    /// Whether a seed makes a difference.
    pub fn random(self) -> bool {
        !matches!(self, Bursts::Fixed { .. })
    }

    /// The bursts of `streams` streams without end, as stream and packets.
    pub fn generate(self, streams: usize, seed: u64) -> Generate {
        let order = (0..streams).collect();
        Generate { bursts: self, order, next: 0, random: Random::new(seed, 0) }
    }
}

/// Bursts without end.
#[derive(Clone, Debug)]
pub struct Generate {
    bursts: Bursts,
    /// Of the current round.
    order: Vec<usize>,
    next: usize,
    random: Random,
}

impl Iterator for Generate {
    type Item = (usize, u64);

    fn next(&mut self) -> Option<(usize, u64)> {
        let streams = self.order.len();
        if streams == 0 {
            return None;
        }
        if let Bursts::Poisson { size } = self.bursts {
            return Some((self.random.uniform(0, streams as u64 - 1) as usize, size));
        }
        if self.next == streams {
            self.next = 0;
        }
        if let (0, Bursts::Shuffled { .. }) = (self.next, self.bursts) {
            for last in (1..streams).rev() {
                let other = self.random.uniform(0, last as u64) as usize;
                self.order.swap(last, other);
            }
        }
        let stream = self.order[self.next];
        self.next += 1;
        let size = match self.bursts {
            Bursts::Fixed { size } | Bursts::Poisson { size } => size,
            Bursts::Shuffled { mean, spread } => {
                self.random.uniform(mean.saturating_sub(spread), mean + spread)
            }
        };
        Some((stream, size))
    }
}
