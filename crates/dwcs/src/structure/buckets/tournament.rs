//! The least of many keys, each of which may change.

use alloc::vec;
use alloc::vec::Vec;

/// A key that does not take part.
pub(super) const NEVER: u64 = u64::MAX;

/// A tournament: winners of pairs, of pairs of pairs, and so on, over as many keys as were set so
/// far. A change visits one node a level, for any keys.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    /// Winner at 1; those of the pair below `node` at `2 node` and `2 node + 1`.
    nodes: Vec<(u64, u32)>,
    leaves: usize,
}

impl Tournament {
    /// Keys of the numbers below `count`, none of which takes part yet.
    pub(super) fn new(count: usize) -> Tournament {
        let most = count.next_power_of_two();
        Tournament { nodes: vec![(NEVER, 0); 2 * most], leaves: 1 }
    }

    pub(super) fn clear(&mut self) {
        self.nodes.fill((NEVER, 0));
        self.leaves = 1;
    }

    /// The least key and its number; the number is unspecified when none takes part.
    #[inline]
    pub(super) fn winner(&self) -> (u64, u32) {
        self.nodes[1]
    }

    #[inline]
    pub(super) fn set(&mut self, number: u32, key: u64) {
        while number as usize >= self.leaves {
            self.double();
        }
        let mut node = self.leaves + number as usize;
        let mut winner = (key, number);
        self.nodes[node] = winner;
        while node > 1 {
            let other = self.nodes[node ^ 1];
            // The lesser, without a branch that is often guessed wrong.
            winner = if other.0 < winner.0 { other } else { winner };
            node /= 2;
            if self.nodes[node] == winner {
                return;
            }
            self.nodes[node] = winner;
        }
    }

    /// All levels move down by one, below a new one.
    #[cold]
    fn double(&mut self) {
        let mut level = self.leaves;
        while level > 0 {
            self.nodes.copy_within(level..2 * level, 2 * level);
            self.nodes[3 * level..4 * level].fill((NEVER, 0));
            level /= 2;
        }
        self.leaves *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Fails when a change does not reach the top: tried with `<=` against the old winner's key
    /// alone in place of `==`.
    #[test]
    fn the_tournament_finds_the_least() {
        for count in [1, 2, 5, 64, 300] {
            let mut tournament = Tournament::new(count);
            let mut keys: Vec<u64> = vec![NEVER; count];
            let mut state = 1u64;
            for _ in 0..3000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let number = (state >> 40) as usize % count;
                let key = if state >> 62 == 0 { NEVER } else { (state >> 33) % 1000 };
                keys[number] = key;
                tournament.set(number as u32, key);
                let (least, whose) = tournament.winner();
                assert_eq!(Some(&least), keys.iter().min());
                assert!(least == NEVER || keys[whose as usize] == least);
            }
            tournament.clear();
            assert_eq!(tournament.winner().0, NEVER);
        }
    }
}
