//! A binary heap of small numbers, ordered by an external comparison.

use alloc::vec::Vec;

/// Numbers `0..n`, each at most once, ordered by a comparison passed to every call. Any of
/// them can be moved or removed, because its position is stored.
#[derive(Clone, Debug, Default)]
pub(super) struct IndexHeap {
    items: Vec<u32>,
    /// Position of each number in `items`, or [`ABSENT`].
    places: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl IndexHeap {
    /// Makes room for the numbers below `count`.
    pub(super) fn grow(&mut self, count: usize) {
        if self.places.len() < count {
            self.places.resize(count, ABSENT);
            self.items.reserve(count - self.items.len());
        }
    }

    /// Takes all out.
    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.places.fill(ABSENT);
    }

    /// The least number by the order of the last changes.
    #[inline]
    pub(super) fn top(&self) -> Option<u32> {
        self.items.first().copied()
    }

    /// Inserts, moves or removes `item`. `before` must order all others as they
    /// stand.
    #[inline]
    pub(super) fn place(&mut self, item: u32, member: bool, before: impl Fn(u32, u32) -> bool) {
        let place = self.places[item as usize];
        match (place != ABSENT, member) {
            (false, false) => {}
            (false, true) => {
                self.items.push(item);
                self.rise(self.items.len() - 1, item, &before);
            }
            (true, true) => self.move_from(place as usize, item, &before),
            (true, false) => {
                self.places[item as usize] = ABSENT;
                let last = self.items.pop().unwrap_or(item);
                if last != item {
                    self.move_from(place as usize, last, &before);
                }
            }
        }
    }

    /// Fills the hole at `place` with `item` and moves it to its position.
    #[inline]
    fn move_from(&mut self, place: usize, item: u32, before: &impl Fn(u32, u32) -> bool) {
        if place > 0 && before(item, self.items[(place - 1) / 2]) {
            self.rise(place, item, before);
        } else {
            self.sink(place, item, before);
        }
    }

    #[inline]
    fn rise(&mut self, mut place: usize, item: u32, before: &impl Fn(u32, u32) -> bool) {
        while place > 0 {
            let parent = (place - 1) / 2;
            let above = self.items[parent];
            if !before(item, above) {
                break;
            }
            self.set(place, above);
            place = parent;
        }
        self.set(place, item);
    }

    #[inline]
    fn sink(&mut self, mut place: usize, item: u32, before: &impl Fn(u32, u32) -> bool) {
        loop {
            let left = 2 * place + 1;
            let Some(&first) = self.items.get(left) else { break };
            let second = self.items.get(left + 1).copied();
            let (child, below) = match second {
                Some(second) if before(second, first) => (left + 1, second),
                _ => (left, first),
            };
            if !before(below, item) {
                break;
            }
            self.set(place, below);
            place = child;
        }
        self.set(place, item);
    }

    #[inline]
    fn set(&mut self, place: usize, item: u32) {
        self.items[place] = item;
        self.places[item as usize] = place as u32;
    }
}
