//! A tournament over numbered players: the least key is known, any one key changes in O(log n).

use alloc::{boxed::Box, vec};

/// Content of the nodes of a [`Tournament`]: a key and the player that holds it.
pub(crate) trait Match: Copy {
    /// Loses against every player.
    const NOBODY: Self;
    /// The winner of the two, by key and on equal keys by player. Must compile without branches:
    /// outcomes are unpredictable.
    fn against(self, rival: Self) -> Self;
}

/// A winner tree of arity 4: the root is node 1, the children of node `i` are `4i` to `4i + 3`.
///
/// Each node holds the winner's key itself, so that the rivals on the way from a leaf to the root
/// are at places known beforehand: their loads and the matches among the three of them overlap, and
/// only one match a level waits for the one below.
#[derive(Clone, Debug)]
pub(crate) struct Tournament<M> {
    families: Box<[Family<M>]>,
    /// The number of the first leaf, a power of four.
    leaves: usize,
}

/// Nodes with one parent; for keys of 16 bytes, a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Family<M>([M; 4]);

impl<M: Match> Tournament<M> {
    /// A tournament without contestants, for players numbered below `players`.
    pub(crate) fn new(players: usize) -> Tournament<M> {
        let mut leaves = 1;
        while leaves < players {
            leaves *= 4;
        }
        let families = vec![Family([M::NOBODY; 4]); leaves.div_ceil(2).max(1)];
        Tournament { families: families.into_boxed_slice(), leaves }
    }

    /// The winner, or `NOBODY`.
    #[inline]
    pub(crate) fn winner(&self) -> M {
        self.families[0].0[1]
    }

    /// The entry of a player, or `NOBODY`.
    #[inline]
    pub(crate) fn entered(&self, player: usize) -> M {
        let leaf = self.leaves + player;
        self.families[leaf / 4].0[leaf % 4]
    }

    /// Enters or replaces a player.
    ///
    /// Not inlined, and without a loop up to 4096 players: inside loops the compiler turns
    /// conditional moves into branches, and half of these would be mispredicted.
    #[inline(never)]
    pub(crate) fn set(&mut self, player: usize, mut current: M) {
        let mut node = self.leaves + player;
        macro_rules! level {
            () => {
                let family = &mut self.families[node / 4].0;
                let place = node % 4;
                family[place] = current;
                if node == 1 {
                    return;
                }
                let rivals = family[place ^ 2].against(family[place ^ 3]);
                current = current.against(family[place ^ 1].against(rivals));
                node /= 4;
            };
        }
        level!();
        level!();
        level!();
        level!();
        level!();
        level!();
        level!();
        loop {
            level!();
        }
    }

    /// Withdraws a player.
    #[inline]
    pub(crate) fn withdraw(&mut self, player: usize) {
        self.set(player, M::NOBODY);
    }

    /// Makes this a copy of another tournament of the same size, without allocating.
    pub(crate) fn copy_from(&mut self, other: &Tournament<M>) {
        debug_assert_eq!(self.leaves, other.leaves);
        self.families.copy_from_slice(&other.families);
    }
}

/// A 64-bit key and the player packed into one number, compared at once.
///
/// An unused place is the greatest number, above even the last player with the greatest key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed(u128);

impl Packed {
    /// `player` with this key.
    #[inline]
    pub(crate) fn new(key: u64, player: usize) -> Packed {
        Packed(u128::from(key) << 64 | player as u128)
    }

    /// The key and the player, or `None` for `NOBODY`.
    #[inline]
    pub(crate) fn get(self) -> Option<(u64, usize)> {
        self.player().map(|player| ((self.0 >> 64) as u64, player))
    }

    /// The player, or `None` for `NOBODY`.
    #[inline]
    pub(crate) fn player(self) -> Option<usize> {
        (self != Packed::NOBODY).then_some(self.0 as u64 as usize)
    }
}

impl Match for Packed {
    const NOBODY: Packed = Packed(u128::MAX);

    #[inline]
    fn against(self, rival: Packed) -> Packed {
        Packed(if rival.0 < self.0 { rival.0 } else { self.0 })
    }
}

/// A 127-bit key and a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wide {
    key: i128,
    player: u32,
}

impl Wide {
    /// `player` with this key, which must not be negative.
    #[inline]
    pub(crate) fn new(key: i128, player: usize) -> Wide {
        debug_assert!((0..i128::MAX).contains(&key));
        Wide { key, player: player as u32 }
    }

    /// The key and the player, or `None` for `NOBODY`.
    #[inline]
    pub(crate) fn get(self) -> Option<(i128, usize)> {
        (self.key != i128::MAX).then_some((self.key, self.player as usize))
    }
}

impl Match for Wide {
    const NOBODY: Wide = Wide { key: i128::MAX, player: u32::MAX };

    #[inline]
    fn against(self, rival: Wide) -> Wide {
        // `<=` against a rival with a lower number, else `<`, as one comparison.
        let lost = rival.key - i128::from(rival.player < self.player) < self.key;
        Wide {
            key: if lost { rival.key } else { self.key },
            player: if lost { rival.player } else { self.player },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        // Few distinct keys, so that ties are common, and the greatest key among them. Fails when
        // a tie goes to the one that comes first on the way up.
        #[test]
        fn the_least_key_wins_and_ties_go_to_the_lowest_number(
            players in 1..70usize,
            moves in proptest::collection::vec((0..70usize, 0..6u64), 1..200),
        ) {
            let mut packed = Tournament::<Packed>::new(players);
            let mut wide = Tournament::<Wide>::new(players);
            let mut slow: Vec<Option<u64>> = vec![None; players];
            for (player, key) in moves {
                let player = player % players;
                let key = [0, 1, 2, u64::MAX - 1, u64::MAX, 9][key as usize];
                if key == 9 {
                    packed.withdraw(player);
                    wide.withdraw(player);
                    slow[player] = None;
                } else {
                    packed.set(player, Packed::new(key, player));
                    wide.set(player, Wide::new(i128::from(key), player));
                    slow[player] = Some(key);
                }
                let best = slow.iter().enumerate()
                    .filter_map(|(p, k)| k.map(|k| (k, p)))
                    .min();
                prop_assert_eq!(packed.winner().player(), best.map(|(_, p)| p));
                let want = best.map(|(k, p)| (i128::from(k), p));
                prop_assert_eq!(wide.winner().get(), want);
                let own = wide.entered(player).get().map(|(k, _)| k);
                prop_assert_eq!(own, slow[player].map(i128::from));
            }
        }
    }
}
