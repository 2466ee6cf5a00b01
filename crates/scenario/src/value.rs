//! Values of keys that are neither plain quantities nor names: lengths, frequencies, shares, steps.

use laxity_core::{Bytes, Span};

/// `length` of a source. Drawn lengths are rounded and clamped to [40 B, the largest packet].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always this.
    Fixed(Bytes),
    /// Normally distributed.
    Normal {
        /// Mean.
        mean: Bytes,
        /// Standard deviation.
        deviation: Bytes,
    },
    /// Uniformly distributed, both ends included.
    Uniform {
        /// The shortest.
        least: Bytes,
        /// The longest.
        most: Bytes,
    },
}

/// A frequency in millionths of 1/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frequency(pub u64);

impl Frequency {
    /// A million a second.
    pub const MOST: Frequency = Frequency(1_000_000_000_000);
}

/// A share of a whole, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(pub u32);

impl Share {
    /// All of it.
    pub const WHOLE: Share = Share(1_000_000);
}

/// A step of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Computes for so long.
    Run(Span),
    /// Sleeps for so long.
    Sleep(Span),
    /// Sleeps until so long after the first wake-up; not at all if that has passed.
    Until(Span),
}
