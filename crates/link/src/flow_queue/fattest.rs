//! The flow with about the most bytes, in constant time.

use alloc::{boxed::Box, vec};

const NONE: u32 = u32::MAX;

/// Flows in lists by the logarithm of their bytes, with a bitmap of the lists in use: the first of
/// the last list has more than half the bytes of any other.
#[derive(Clone, Debug)]
pub(super) struct Fattest {
    lists: [u32; 64],
    used: u64,
    links: Box<[Links]>,
}

#[derive(Clone, Copy, Debug)]
struct Links {
    next: u32,
    previous: u32,
    /// Its list, or 64 for none.
    list: u32,
}

impl Fattest {
    pub(super) fn new(flows: usize) -> Fattest {
        let links = Links { next: NONE, previous: NONE, list: 64 };
        let links = vec![links; flows].into_boxed_slice();
        Fattest { lists: [NONE; 64], used: 0, links }
    }

    /// A flow has `bytes` bytes now.
    #[inline]
    pub(super) fn set(&mut self, flow: usize, bytes: u64) {
        let list = bytes.checked_ilog2().unwrap_or(64);
        if list != self.links[flow].list {
            self.unlink(flow);
            self.link(flow, list);
        }
    }

    fn unlink(&mut self, flow: usize) {
        let Links { next, previous, list } = self.links[flow];
        let Some(first) = self.lists.get_mut(list as usize) else { return };
        match self.links.get_mut(previous as usize) {
            Some(links) => links.next = next,
            None => *first = next,
        }
        if *first == NONE {
            self.used &= !(1 << list);
        }
        if let Some(links) = self.links.get_mut(next as usize) {
            links.previous = previous;
        }
    }

    fn link(&mut self, flow: usize, list: u32) {
        let mut next = NONE;
        if let Some(first) = self.lists.get_mut(list as usize) {
            next = core::mem::replace(first, flow as u32);
            self.used |= 1 << list;
        }
        if let Some(links) = self.links.get_mut(next as usize) {
            links.previous = flow as u32;
        }
        self.links[flow] = Links { next, previous: NONE, list };
    }

    /// A flow of the last list.
    pub(super) fn fattest(&self) -> Option<usize> {
        let list = self.used.checked_ilog2()?;
        Some(self.lists[list as usize] as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::Fattest;

    // Fails when a flow stays in a list that it has left, or a list in use is not in the bitmap.
    #[test]
    fn the_fattest_has_more_than_half_of_the_most() {
        let (mut fattest, mut bytes, mut draw) = (Fattest::new(8), [0u64; 8], 7u64);
        for _ in 0..20_000 {
            draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let flow = (draw >> 60) as usize % 8;
            bytes[flow] = if draw >> 40 & 1 == 0 { 0 } else { 1 << (draw >> 50 & 15) | draw & 1 };
            fattest.set(flow, bytes[flow]);
            let most = bytes.into_iter().max().unwrap();
            match fattest.fattest() {
                Some(found) => assert!(bytes[found] * 2 > most && bytes[found] > 0),
                None => assert_eq!(most, 0),
            }
        }
    }
}
