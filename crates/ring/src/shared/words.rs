//! Bytes to and from memory that another process may be writing: as whole words, through atomics,
//! so that a race has a defined, if useless, result.

use crate::sync::{AtomicU64, Ordering};

const WORD: usize = size_of::<u64>();

/// Writes `bytes` to the start of `words`, as far as there is room.
#[inline]
pub(super) fn store(words: &[AtomicU64], bytes: &[u8]) {
    let whole = bytes.chunks_exact(WORD);
    let rest = whole.remainder();
    for (word, bytes) in words.iter().zip(whole) {
        word.store(value(bytes), Ordering::Relaxed);
    }
    if let (false, Some(word)) = (rest.is_empty(), words.get(bytes.len() / WORD)) {
        word.store(value(rest), Ordering::Relaxed);
    }
}

/// Up to eight bytes as a word, filled up with zeros.
#[inline]
fn value(bytes: &[u8]) -> u64 {
    let mut whole = [0; WORD];
    whole[..bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(whole)
}

/// Fills `bytes` from the start of `words`, as far as there are any.
#[inline]
pub(super) fn load(words: &[AtomicU64], bytes: &mut [u8]) {
    let last = words.get(bytes.len() / WORD);
    let mut whole = bytes.chunks_exact_mut(WORD);
    for (bytes, word) in whole.by_ref().zip(words) {
        bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
    }
    let rest = whole.into_remainder();
    if let (false, Some(word)) = (rest.is_empty(), last) {
        rest.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes()[..rest.len()]);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// Fails when the last, partial word is left out or its bytes end at the wrong place.
    #[test]
    fn bytes_of_any_length_round_trip() {
        let words: Vec<AtomicU64> = (0..4).map(|_| AtomicU64::new(u64::MAX)).collect();
        for length in 0..=32u8 {
            let bytes: Vec<u8> = (1..=length).collect();
            store(&words, &bytes);
            let mut back = std::vec![0; length.into()];
            load(&words, &mut back);
            assert_eq!(back, bytes);
        }
        let mut more = [7; 40];
        load(&words, &mut more);
        assert_eq!((more[31], more[32]), (32, 7), "no further than there are words");
    }
}
