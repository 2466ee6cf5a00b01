//! A set of stream offsets, as disjoint ranges.

use alloc::vec::Vec;

use crate::Range;

/// Ranges in ascending order with gaps between them.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Vec<Range>);

impl Ranges {
    /// Adds `range`, joined with what it touches. Returns the joined range, and whether any of it was new.
    pub fn insert(&mut self, range: Range) -> (Range, bool) {
        let from = self.0.partition_point(|r| r.end < range.start);
        let to = self.0.partition_point(|r| r.start <= range.end);
        if from == to {
            self.0.insert(from, range);
            return (range, true);
        }
        let first = self.0[from];
        if first.contains(range) {
            return (first, false);
        }
        let start = first.start.min(range.start);
        let joined = Range { start, end: self.0[to - 1].end.max(range.end) };
        self.0[from] = joined;
        self.0.drain(from + 1..to);
        (joined, true)
    }

    /// Takes the range that begins at `offset` or earlier; returns its end, or `offset` if there is none.
    pub fn advance(&mut self, offset: u64) -> u64 {
        let reached = self.0.partition_point(|r| r.start <= offset);
        let end = self.0[..reached].last().map_or(offset, |r| r.end.max(offset));
        self.0.drain(..reached);
        end
    }

    /// Whether there is no range.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when neighbours are not joined, or a duplicate counts as new: all orders of five ranges
    // against a set of bytes. Tried with `<` for `<=` in `insert`.
    #[test]
    fn ranges_agree_with_a_set_of_bytes_in_every_order() {
        let pieces = [(0, 2), (2, 3), (4, 6), (5, 8), (9, 10)];
        for order in 0..5u32.pow(5) {
            let (mut ranges, mut bytes) = (Ranges::default(), [false; 10]);
            for place in 0..5 {
                let (start, end) = pieces[(order / 5u32.pow(place) % 5) as usize];
                let new = bytes[start..end].iter().any(|b| !b);
                bytes[start..end].fill(true);
                let (joined, was_new) =
                    ranges.insert(Range { start: start as u64, end: end as u64 });
                assert_eq!(was_new, new);
                assert!(bytes[joined.start as usize..joined.end as usize].iter().all(|b| *b));
                let held = |offset| ranges.0.iter().any(|r| (r.start..r.end).contains(&offset));
                assert!((0..10).all(|offset| held(offset) == bytes[offset as usize]));
                assert!(ranges.0.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
            let end = bytes.iter().position(|b| !b).unwrap_or(10);
            assert_eq!(ranges.advance(0), end as u64);
        }
    }
}
