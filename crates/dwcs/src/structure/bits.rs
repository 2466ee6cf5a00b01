//! A set of small numbers that finds the next member fast.

use alloc::vec;
use alloc::vec::Vec;

/// One bit for each number, and a bit for each word of bits that has any, two levels up: the next
/// member is a few "count trailing zeros" away, however far it lies.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits {
    low: Vec<u64>,
    middle: Vec<u64>,
    /// Searched linearly; a word for each 2^18 numbers.
    high: Vec<u64>,
}

const WORD: usize = 64;

impl Bits {
    /// An empty set of numbers below `size`.
    pub(super) fn new(size: usize) -> Bits {
        let low = size.div_ceil(WORD);
        let middle = low.div_ceil(WORD);
        let high = middle.div_ceil(WORD);
        Bits { low: vec![0; low], middle: vec![0; middle], high: vec![0; high] }
    }

    pub(super) fn clear(&mut self) {
        for level in [&mut self.low, &mut self.middle, &mut self.high] {
            level.fill(0);
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, number: usize) {
        let word = number / WORD;
        let before = self.low[word];
        self.low[word] = before | bit(number);
        if before == 0 {
            let above = word / WORD;
            self.middle[above] |= bit(word);
            self.high[above / WORD] |= bit(above);
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, number: usize) {
        let word = number / WORD;
        self.low[word] &= !bit(number);
        if self.low[word] == 0 {
            let above = word / WORD;
            self.middle[above] &= !bit(word);
            if self.middle[above] == 0 {
                self.high[above / WORD] &= !bit(above);
            }
        }
    }

    /// The least member that is at least `from`.
    #[inline]
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        let word = from / WORD;
        let rest = self.low.get(word)? & (u64::MAX << (from % WORD));
        if rest != 0 {
            return Some(first(word, rest));
        }
        self.next_word(word + 1)
    }

    /// The least member in the words from `from` on.
    fn next_word(&self, from: usize) -> Option<usize> {
        let above = from / WORD;
        let rest = self.middle.get(above)? & (u64::MAX << (from % WORD));
        let word = if rest != 0 {
            first(above, rest)
        } else {
            let above = self.next_above(above + 1)?;
            first(above, self.middle[above])
        };
        Some(first(word, self.low[word]))
    }

    fn next_above(&self, from: usize) -> Option<usize> {
        let top = from / WORD;
        let rest = self.high.get(top)? & (u64::MAX << (from % WORD));
        if rest != 0 {
            return Some(first(top, rest));
        }
        let (skipped, word) =
            self.high.iter().enumerate().skip(top + 1).find(|(_, word)| **word != 0)?;
        Some(first(skipped, *word))
    }
}

#[inline]
fn bit(number: usize) -> u64 {
    1 << (number % WORD)
}

/// The number of the lowest bit of the `index`th word.
#[inline]
fn first(index: usize, word: u64) -> usize {
    index * WORD + word.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Fails when a level forgets or invents members: tried without clearing `middle`, with
    /// `above` for `above + 1`, and with `skip(top)`.
    #[test]
    fn heap_agrees_with_a_tree() {
        let size = 3 * WORD.pow(3) + 5;
        let (mut bits, mut tree) = (Bits::new(size), BTreeSet::new());
        let mut state = 1u64;
        let mut below = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % bound
        };
        for round in 0..20_000 {
            // Crowded near the start, sparse beyond.
            let number = if below(4) == 0 { below(size) } else { below(100) };
            if below(100) < 50 - (round / 8000) * 10 {
                bits.insert(number);
                tree.insert(number);
            } else {
                bits.remove(number);
                tree.remove(&number);
            }
            let from = if below(2) == 0 { below(size + 9) } else { number };
            assert_eq!(bits.next(from), tree.range(from..).next().copied());
            if round % 500 == 0 {
                let last = tree.last().copied();
                tree.iter().for_each(|number| bits.remove(*number));
                tree.clear();
                assert_eq!(bits.next(0), None);
                if let Some(last) = last {
                    bits.insert(last);
                    tree.insert(last);
                }
            }
        }
    }
}
