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
/// packets whose `W_n - P_i` lies on that piece is `[ W_n - c + max_i (r_i s - P_i) ] / s`: one
/// number that does not depend on `n`, over a window of `i` that only moves forward. A monotone
/// queue a piece keeps it; for the last piece, which no packet ever leaves, a single number does.
/// So each packet enters and leaves each piece once.
///
/// Memory is fixed: `capacity` packets inside the last corner. Each is on one piece at a time, so
/// the queues of all pieces are lists through the packets themselves, however many pieces the
/// staircases of periodic flows make. Beyond it the newest two are taken
/// together as if both had been released with the later one, which can only postpone deadlines.
#[derive(Clone, Debug)]
pub struct History {
    pieces: Box<[Piece]>,
    /// Work above which no deadline exists.
    saturated: Option<u64>,
    ring: Ring,
    mask: u64,
    /// Absolute index of the next packet to remember.
    next: u64,
    /// Wire bytes since the last reset, as far as they were sent.
    sent: u64,
    /// `W_n`: the maximum of `sent` so far. Lowering it would move packets back over corners that they
    /// have passed, so it stays until later packets have caught up.
    work: u64,
    /// Latest release so far: the deadline while `Einv` is zero.
    latest: u64,
    /// Deadline of the newest packet.
    newest: Time,
    /// A packet from which the history may restart, if that gives the next one an earlier deadline.
    restart_candidate: Option<(Time, u32)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct PastPacket {
    release: u64,
    /// `P_i`.
    before: u64,
    /// Absolute index of the packet.
    index: u64,
    /// Indices of its neighbours in the window of `piece`.
    older: u32,
    newer: u32,
    /// The piece whose window holds it, or [`NONE`].
    piece: u32,
}

type Ring = Box<[PastPacket]>;

/// No index, or no piece.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Piece {
    above: u64,
    slope: Divisor,
    intercept: i128,
    /// First packet that is too new for this piece.
    newer: u64,
    window: Window,
}

/// Packets on a piece whose keys `r_i s - P_i` fall from front to back, by their places in the
/// ring. The last piece has none: its maximum is `best` alone.
#[derive(Clone, Debug)]
struct Window {
    front: u32,
    back: u32,
    best: Option<i128>,
}

impl PastPacket {
    #[inline]
    fn key(self, slope: Divisor) -> i128 {
        // Fits: releases stay below 2^63 ns (292 years), slopes below 2^64, 8e9 * P_i below 2^97.
        (u128::from(self.release) * u128::from(slope.get())) as i128
            - i128::from(self.before) * NANOBITS_PER_BYTE
    }
}

impl History {
    /// Default number of packets remembered.
    pub const CAPACITY: usize = 4096;

    /// An empty history over `service`, remembering `capacity` packets (rounded up to a power of
    /// two, at least 2).
    pub fn new(service: &InverseCurve, capacity: usize) -> History {
        let capacity = capacity.max(2).next_power_of_two();
        let piece = |p: &laxity_curve::InversePiece| {
            // A piece of slope zero would have no inverse; the curve never holds one.
            let slope = Divisor::new(p.slope)?;
            let (above, intercept, window) = (p.above, p.intercept, Window::EMPTY);
            Some(Piece { above, slope, intercept, newer: 0, window })
        };
        let pieces: Vec<Piece> = service.pieces().iter().filter_map(piece).collect();
        History {
            pieces: pieces.into_boxed_slice(),
            saturated: service.saturated_above(),
            ring: vec![PastPacket::default(); capacity].into_boxed_slice(),
            mask: capacity as u64 - 1,
            next: 0,
            sent: 0,
            work: 0,
            latest: 0,
            newest: Time::ZERO,
            restart_candidate: None,
        }
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        for piece in &mut self.pieces {
            piece.newer = 0;
            piece.window = Window::EMPTY;
        }
        self.next = 0;
        self.sent = 0;
        self.work = 0;
        self.latest = 0;
        self.newest = Time::ZERO;
        self.restart_candidate = None;
    }

    /// Takes the next packet and returns its deadline, [`Time::MAX`] when there is none.
    #[inline]
    pub fn push(&mut self, release: Time, wire: u32) -> Time {
        if let Some((at, in_flight)) = self.restart_candidate.take() {
            let both = in_flight.saturating_add(wire);
            // Deadlines of one history do not fall, so the newest one is enough to compare with.
            if self.alone(at, both).max(self.alone(release, wire)) < self.newest {
                self.reset();
                self.take(at, in_flight);
            }
        }
        self.take(release, wire)
    }

    /// Restarts the history with `in_flight` bytes released at `at` (with nothing if that is 0)
    /// once the next packet arrives, if that is certain to give it an earlier deadline.
    #[inline]
    pub fn restart(&mut self, at: Time, in_flight: u32) {
        if in_flight == 0 {
            self.reset();
        } else {
            self.restart_candidate = Some((at, in_flight));
        }
    }

    /// Remembers `in_flight` bytes and the newest packet, of `wire` bytes, both released at `at`,
    /// instead of all packets so far, and returns the newest one's deadline, if that is earlier
    /// than `deadline`.
    #[inline]
    pub fn restart_with(
        &mut self,
        at: Time,
        in_flight: u32,
        wire: u32,
        deadline: Time,
    ) -> Option<Time> {
        let both = in_flight.saturating_add(wire);
        if self.alone(at, both) >= deadline {
            return None;
        }
        self.reset();
        Some(self.take(at, both))
    }

    /// The deadline of a packet with an empty history.
    #[inline]
    fn alone(&self, release: Time, wire: u32) -> Time {
        let wire = u64::from(wire);
        if self.saturated.is_some_and(|limit| wire > limit) {
            return Time::MAX;
        }
        let Some(piece) = self.pieces.iter().rev().find(|p| p.above < wire) else { return release };
        let ahead = i128::from(wire) * NANOBITS_PER_BYTE - piece.intercept;
        let relative = if ahead > 0 { piece.slope.div_ceil(ahead as u128) } else { 0 };
        Time(release.0.saturating_add(relative))
    }

    /// The newest packet, released at `release`, takes `by` bytes more than was assigned: its later
    /// deadline.
    #[inline]
    pub fn raise(&mut self, release: Time, by: u32) -> Time {
        self.grow(release, by)
    }

    /// Of the newest packet `by` bytes less were sent than was assigned. Its deadline stays, and
    /// later ones are no earlier.
    #[inline]
    pub fn settle(&mut self, by: u32) {
        self.sent -= u64::from(by);
    }

    fn take(&mut self, release: Time, wire: u32) -> Time {
        self.remember(release.0);
        self.grow(release, wire)
    }

    #[inline]
    fn grow(&mut self, release: Time, wire: u32) -> Time {
        self.sent += u64::from(wire);
        self.work = self.work.max(self.sent);
        self.advance();
        self.newest = self.deadline(release.0);
        self.newest
    }

    fn remember(&mut self, release: u64) {
        self.latest = self.latest.max(release);
        let (index, before) = (self.next, self.sent);
        let entry = PastPacket { release, before, index, older: NONE, newer: NONE, piece: NONE };
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
            if k + 1 == self.pieces.len() && newest < self.pieces[k].newer {
                let best = &mut self.pieces[k];
                best.window.keep(merged.key(best.slope));
                continue;
            }
            let older = self.pieces.get(k + 1).map_or(0, |p| p.newer);
            if newest < self.pieces[k].newer && newest >= older {
                self.enter(newest, k);
            }
        }
    }

    /// Moves every packet whose `W_n - P_i` has passed a corner to the piece beyond it.
    #[inline]
    fn advance(&mut self) {
        let mut older = 0;
        for k in (0..self.pieces.len()).rev() {
            let piece = &self.pieces[k];
            let (above, mut newer) = (piece.above, piece.newer);
            while newer < self.next {
                let entry = &self.ring[(newer & self.mask) as usize];
                if self.work - entry.before <= above {
                    break;
                }
                if newer >= older {
                    self.enter(newer, k);
                }
                newer += 1;
            }
            self.pieces[k].newer = newer;
            self.leave(older, k);
            older = newer;
        }
    }

    /// Moves a packet to piece `k` and removes packets there whose keys are no larger.
    #[inline]
    fn enter(&mut self, index: u64, k: usize) {
        let place = (index & self.mask) as u32;
        self.unlink(place);
        let last = k + 1 == self.pieces.len();
        let Piece { window, slope, .. } = &mut self.pieces[k];
        let key = self.ring[place as usize].key(*slope);
        if last {
            window.keep(key);
            return;
        }
        while let Some(back) = self.ring.get_mut(window.back as usize) {
            if back.key(*slope) > key {
                break;
            }
            window.back = back.older;
            back.piece = NONE;
        }
        let older = window.back;
        match self.ring.get_mut(older as usize) {
            Some(back) => back.newer = place,
            None => window.front = place,
        }
        window.back = place;
        let entry = &mut self.ring[place as usize];
        (entry.older, entry.newer, entry.piece) = (older, NONE, k as u32);
    }

    /// Removes a packet from its window.
    #[inline]
    fn unlink(&mut self, place: u32) {
        let PastPacket { older, newer, piece, .. } = self.ring[place as usize];
        let Some(Piece { window, .. }) = self.pieces.get_mut(piece as usize) else { return };
        self.ring[place as usize].piece = NONE;
        match self.ring.get_mut(older as usize) {
            Some(neighbour) => neighbour.newer = newer,
            None => window.front = newer,
        }
        match self.ring.get_mut(newer as usize) {
            Some(neighbour) => neighbour.older = older,
            None => window.back = older,
        }
    }

    /// Packets before `first` have left piece `k`.
    #[inline]
    fn leave(&mut self, first: u64, k: usize) {
        let front = |h: &History| h.pieces[k].window.front;
        while self.ring.get(front(self) as usize).is_some_and(|f| f.index < first) {
            self.unlink(front(self));
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
    const EMPTY: Window = Window { front: NONE, back: NONE, best: None };

    /// On the last piece the largest key of all counts.
    fn keep(&mut self, key: i128) {
        self.best = Some(self.best.map_or(key, |best| best.max(key)));
    }

    #[inline]
    fn max(&self, slope: Divisor, ring: &[PastPacket]) -> Option<i128> {
        ring.get(self.front as usize).map(|front| front.key(slope)).or(self.best)
    }
}
