//! Bytes to and from memory that another process may be writing: as whole words, through atomics,
//! so that a race has a defined, if useless, result.

use crate::sync::{AtomicU64, Ordering};

const WORD: usize = size_of::<u64>();

/// Writes `bytes` to the start of `words`, as far as there is room.
pub(super) fn store(words: &[AtomicU64], bytes: &[u8]) {
    for (word, bytes) in words.iter().zip(bytes.chunks(WORD)) {
        let value = match bytes.try_into() {
            Ok(whole) => u64::from_ne_bytes(whole),
            Err(_) => {
                let mut padded = [0; WORD];
                padded[..bytes.len()].copy_from_slice(bytes);
                u64::from_ne_bytes(padded)
            }
        };
        word.store(value, Ordering::Relaxed);
    }
}

/// Fills `bytes` from the start of `words`, as far as there are any.
pub(super) fn load(words: &[AtomicU64], bytes: &mut [u8]) {
    for (word, bytes) in words.iter().zip(bytes.chunks_mut(WORD)) {
        let value = word.load(Ordering::Relaxed).to_ne_bytes();
        bytes.copy_from_slice(&value[..bytes.len()]);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// Fails when the last, partial word is left out or its bytes end at the wrong place.
    #[test]
    fn bytes_of_any_length_come_back() {
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
