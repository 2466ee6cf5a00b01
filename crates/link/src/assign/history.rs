//! The textbook deadline with bounded memory and constant amortised cost.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use laxity_core::{Divisor, NANOBITS_PER_BYTE, Time};
use laxity_curve::InverseCurve;

/// Evaluates `D_n = max over i <= n of [ r_i + Einv(W_n - P_i) ]` packet by packet, where `W_n` is
/// the work up to and with packet `n`, `P_i` the work before packet `i` and `r_i` its release.
///
/// On one linear piece of `Einv`, with slope `1/s` and the intercept `-c/s`, the maximum over the
/// packets whose `W_n - P_i` lies on that piece is
/// `[ W_n - c + max_i (r_i s - P_i) ] / s`: one number that does not depend on `n`, over a window of
/// `i` that only moves forward. A monotone queue a piece keeps it; for the last piece, which no
/// packet ever leaves, a single number does. So each packet enters and leaves each piece once.
///
/// Memory is fixed: `capacity` packets inside the last corner. Beyond it the newest two are taken
/// together as if both had been released with the later one, which can only postpone deadlines.
#[derive(Clone, Debug)]
pub struct History {
    pieces: Box<[Piece]>,
    /// Work above which no deadline exists.
    saturated: Option<u64>,
    ring: Box<[Remembered]>,
    mask: u64,
    /// Absolute index of the next packet to remember.
    next: u64,
    /// `W_n`: wire bytes since the last reset.
    work: u64,
    /// Latest release so far: the deadline while `Einv` is zero.
    latest: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Remembered {
    release: u64,
    /// `P_i`.
    before: u64,
}

#[derive(Clone, Debug)]
struct Piece {
    above: u64,
    slope: Divisor,
    intercept: i128,
    /// First packet that is still too new for this piece.
    newer: u64,
    window: Window,
}

/// Indices of packets on a piece whose keys `r_i s - P_i` fall from front to back.
#[derive(Clone, Debug)]
struct Window {
    /// Empty for the last piece, whose maximum is `best` alone.
    indices: Box<[u64]>,
    mask: u64,
    head: u64,
    tail: u64,
    best: Option<i128>,
}

impl Remembered {
    #[inline]
    fn key(self, slope: Divisor) -> i128 {
        // Fits: releases stay below 2^63 ns (292 years), slopes below 2^64, 8e9 * P_i below 2^97.
        (u128::from(self.release) * u128::from(slope.get())) as i128
            - i128::from(self.before) * NANOBITS_PER_BYTE
    }
}

impl History {
    /// Packets remembered unless told otherwise.
    pub const CAPACITY: usize = 4096;

    /// An empty history over `service`, remembering `capacity` packets (rounded up to a power of
    /// two, at least 2).
    pub fn new(service: &InverseCurve, capacity: usize) -> History {
        let capacity = capacity.max(2).next_power_of_two();
        let count = service.pieces().len();
        let piece = |(i, p): (usize, &laxity_curve::InversePiece)| {
            // A piece of slope zero would have no inverse; the curve never holds one.
            let slope = Divisor::new(p.slope)?;
            let size = if i + 1 == count { 0 } else { capacity };
            Some(Piece {
                above: p.above,
                slope,
                intercept: p.intercept,
                newer: 0,
                window: Window::new(size),
            })
        };
        let pieces: Vec<Piece> = service.pieces().iter().enumerate().filter_map(piece).collect();
        History {
            pieces: pieces.into_boxed_slice(),
            saturated: service.saturated_above(),
            ring: vec![Remembered::default(); capacity].into_boxed_slice(),
            mask: capacity as u64 - 1,
            next: 0,
            work: 0,
            latest: 0,
        }
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        for piece in &mut self.pieces {
            piece.newer = 0;
            piece.window.clear();
        }
        self.next = 0;
        self.work = 0;
        self.latest = 0;
    }

    /// Takes the next packet and returns its deadline, [`Time::MAX`] when there is none.
    pub fn push(&mut self, release: Time, wire: u32) -> Time {
        self.remember(release.0);
        self.work += u64::from(wire);
        self.advance();
        self.deadline(release.0)
    }

    fn remember(&mut self, release: u64) {
        self.latest = self.latest.max(release);
        let entry = Remembered { release, before: self.work };
        // Packets on the last piece are already part of its maximum.
        let oldest = self.pieces.last().map_or(self.next, |p| p.newer);
        if self.next - oldest <= self.mask {
            self.ring[(self.next & self.mask) as usize] = entry;
            self.next += 1;
            return;
        }
        let newest = self.next - 1;
        let merged = &mut self.ring[(newest & self.mask) as usize];
        merged.release = release;
        let merged = *merged;
        for k in 0..self.pieces.len() {
            let last = k + 1 == self.pieces.len();
            let older = self.pieces.get(k + 1).map_or(0, |p| p.newer);
            let piece = &mut self.pieces[k];
            if newest < piece.newer && newest >= older {
                piece.window.raise(newest, merged.key(piece.slope), piece.slope, &self.ring, last);
            }
        }
    }

    /// Moves every packet whose `W_n - P_i` has passed a corner to the piece beyond it.
    #[inline]
    fn advance(&mut self) {
        let mut older = 0;
        let last = self.pieces.len().wrapping_sub(1);
        for (k, piece) in self.pieces.iter_mut().enumerate().rev() {
            while piece.newer < self.next {
                let entry = self.ring[(piece.newer & self.mask) as usize];
                if self.work - entry.before <= piece.above {
                    break;
                }
                if piece.newer >= older {
                    let key = entry.key(piece.slope);
                    piece.window.enter(piece.newer, key, piece.slope, &self.ring, k == last);
                }
                piece.newer += 1;
            }
            piece.window.leave(older, k == last);
            older = piece.newer;
        }
    }

    #[inline]
    fn deadline(&self, release: u64) -> Time {
        // The first packet of the history has P = 0, so W_n is the longest interval's work.
        if self.saturated.is_some_and(|limit| self.work > limit) {
            return Time::MAX;
        }
        let work = i128::from(self.work) * NANOBITS_PER_BYTE;
        let mut relative = 0u64;
        for piece in &self.pieces {
            let Some(key) = piece.window.max(piece.slope, &self.ring) else { continue };
            let slope = i128::from(piece.slope.get());
            let ahead = work - piece.intercept + key - i128::from(release) * slope;
            if ahead > i128::from(relative) * slope {
                relative = piece.slope.div_ceil(ahead as u128);
            }
        }
        Time(self.latest.max(release.saturating_add(relative)))
    }
}

impl Window {
    fn new(capacity: usize) -> Window {
        Window {
            indices: vec![0; capacity].into_boxed_slice(),
            mask: (capacity as u64).wrapping_sub(1),
            head: 0,
            tail: 0,
            best: None,
        }
    }

    fn clear(&mut self) {
        self.head = 0;
        self.tail = 0;
        self.best = None;
    }

    #[inline]
    fn at(&self, position: u64) -> u64 {
        self.indices[(position & self.mask) as usize]
    }

    #[inline]
    fn enter(&mut self, index: u64, key: i128, slope: Divisor, ring: &[Remembered], last: bool) {
        if last {
            self.best = Some(self.best.map_or(key, |b| b.max(key)));
            return;
        }
        let mask = ring.len() as u64 - 1;
        while self.tail > self.head {
            let back = self.at(self.tail - 1);
            if ring[(back & mask) as usize].key(slope) > key {
                break;
            }
            self.tail -= 1;
        }
        let slot = (self.tail & self.mask) as usize;
        self.indices[slot] = index;
        self.tail += 1;
    }

    /// The newest packet, already on this piece, now has the larger `key`.
    fn raise(&mut self, index: u64, key: i128, slope: Divisor, ring: &[Remembered], last: bool) {
        if !last && self.tail > self.head && self.at(self.tail - 1) == index {
            self.tail -= 1;
        }
        self.enter(index, key, slope, ring, last);
    }

    #[inline]
    fn leave(&mut self, first: u64, last: bool) {
        if last {
            return;
        }
        while self.head < self.tail && self.at(self.head) < first {
            self.head += 1;
        }
    }

    #[inline]
    fn max(&self, slope: Divisor, ring: &[Remembered]) -> Option<i128> {
        if self.head == self.tail {
            return self.best;
        }
        let mask = ring.len() as u64 - 1;
        Some(ring[(self.at(self.head) & mask) as usize].key(slope))
    }
}
