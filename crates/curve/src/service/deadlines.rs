//! The deadlines that a service curve gives the packets of a flow.

use alloc::{boxed::Box, vec};

use laxity_core::{Span, Time};

use super::{ServiceInverse, ServiceLine};

/// The deadlines of a flow with service curve `S`.
///
/// A *start* `(a, R)` is recorded when a packet arrives and none of the flow waits or is being
/// sent, `R` the bytes of the flow before it. The flow's deadline curve is `Z(t) = min_i [R_i +
/// S(t - a_i)]` over all starts, so the packet that ends at byte `w` is due at
///
/// ```text
/// D(w) = max_i [a_i + Sinv(w - R_i)]
/// ```
///
/// rounded up to whole ns (Sariowan, Cruz, Polyzos 1999, the deadline recursion of SCED). This is
/// Algorithm 1 of the low-delay paper with `S` for the residual and starts for releases, and costs
/// the same: on each line of `Sinv` the largest `a_i - R_i / slope` over a sliding window of
/// starts, kept by one monotone queue a line; the last line needs one number. O(lines) a packet,
/// amortised, without allocation.
///
/// Starts within the last corner of the curve are remembered, up to a capacity. Beyond it the
/// newest two are joined as `(a_{i+1}, R_i)`: later deadlines for this flow, never an earlier one,
/// so nobody else suffers. Leaving a start out would be unsafe.
///
/// Bounds: times below 2^63 ns, 2^62 bytes between two [`reset`](Self::reset)s.
#[derive(Clone, Debug)]
pub struct ServiceDeadlines {
    lines: Box<[Windowed]>,
    ring: Box<[Start]>,
    mask: u64,
    /// Index of the next start.
    next: u64,
    /// Bytes of the flow since the last reset.
    work: u64,
    joined: u64,
}

/// A line and the starts on it.
#[derive(Clone, Debug)]
struct Windowed {
    line: ServiceLine,
    /// First start that is too new for this line.
    newer: u64,
    /// Starts whose keys fall from front to back, by their places in the ring.
    front: u32,
    back: u32,
    /// The largest key, on the last line, which no start leaves.
    best: Option<i128>,
}

#[derive(Clone, Copy, Debug)]
struct Start {
    at: u64,
    /// `R_i`.
    before: u64,
    /// Neighbours in the window of `line`.
    older: u32,
    newer: u32,
    /// The line whose window holds it, or [`NONE`].
    line: u32,
}

const NONE: u32 = u32::MAX;

impl Start {
    const NEVER: Start = Start { at: 0, before: 0, older: NONE, newer: NONE, line: NONE };

    /// `rise * a_i - gap * R_i`, which `D(w)` grows with.
    #[inline]
    fn key(self, line: &ServiceLine) -> i128 {
        let work = i128::from(line.gap) * laxity_core::NANOBITS_PER_BYTE * i128::from(self.before);
        i128::from(self.at) * i128::from(line.rise.get()) - work
    }
}

impl ServiceDeadlines {
    /// Default number of starts remembered.
    pub const CAPACITY: usize = 1024;

    /// No packets yet. Remembers `capacity` starts (rounded up to a power of two, at least 2).
    pub fn new(inverse: &ServiceInverse, capacity: usize) -> ServiceDeadlines {
        let capacity = capacity.max(2).next_power_of_two();
        let window = |line: &ServiceLine| Windowed {
            line: *line,
            newer: 0,
            front: NONE,
            back: NONE,
            best: None,
        };
        ServiceDeadlines {
            lines: inverse.lines().iter().map(window).collect(),
            ring: vec![Start::NEVER; capacity].into_boxed_slice(),
            mask: capacity as u64 - 1,
            next: 0,
            work: 0,
            joined: 0,
        }
    }

    /// Forgets all packets: the link is idle and nothing waits.
    pub fn reset(&mut self) {
        for window in &mut self.lines {
            (window.newer, window.front, window.back, window.best) = (0, NONE, NONE, None);
        }
        (self.next, self.work) = (0, 0);
    }

    /// Bytes of the flow since the last reset.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// How often starts were joined because the ring was full. Kept over resets.
    pub fn joined(&self) -> u64 {
        self.joined
    }

    /// The deadline of the next packet of the flow, of `wire` bytes, accepted at `now`. `starts`
    /// tells that no packet of the flow waits or is being sent.
    #[inline]
    pub fn push(&mut self, now: Time, wire: u32, starts: bool) -> Time {
        if starts {
            self.start(now.0);
        }
        self.work += u64::from(wire);
        self.advance();
        self.deadline(now.0)
    }

    fn start(&mut self, at: u64) {
        // Starts on the last line are part of its maximum.
        let oldest = self.lines.last().map_or(self.next, |last| last.newer);
        if self.next - oldest <= self.mask {
            let start = Start { at, before: self.work, ..Start::NEVER };
            self.ring[(self.next & self.mask) as usize] = start;
            self.next += 1;
            return;
        }
        self.joined += 1;
        let newest = self.next - 1;
        self.ring[(newest & self.mask) as usize].at = at;
        // Its key has grown, so its place in the window of its line changes.
        if let Some(line) = self.lines.iter().rposition(|window| newest < window.newer) {
            self.enter(newest, line);
        }
    }

    /// Moves every start whose `w - R_i` has passed a corner to the line beyond it.
    #[inline]
    fn advance(&mut self) {
        let mut older = 0;
        for k in (0..self.lines.len()).rev() {
            let (above, mut newer) = (self.lines[k].line.above, self.lines[k].newer);
            while newer < self.next {
                let start = &self.ring[(newer & self.mask) as usize];
                if self.work - start.before <= above {
                    break;
                }
                if newer >= older {
                    self.enter(newer, k);
                }
                newer += 1;
            }
            self.lines[k].newer = newer;
            older = newer;
        }
    }

    /// Moves a start to line `k` and removes starts there whose keys are no larger.
    #[inline]
    fn enter(&mut self, index: u64, k: usize) {
        let place = (index & self.mask) as u32;
        self.unlink(place);
        let last = k + 1 == self.lines.len();
        let window = &mut self.lines[k];
        let key = self.ring[place as usize].key(&window.line);
        if last {
            window.best = Some(window.best.map_or(key, |best| best.max(key)));
            return;
        }
        while let Some(back) = self.ring.get_mut(window.back as usize) {
            if back.key(&window.line) > key {
                break;
            }
            window.back = back.older;
            back.line = NONE;
        }
        let older = window.back;
        match self.ring.get_mut(older as usize) {
            Some(back) => back.newer = place,
            None => window.front = place,
        }
        window.back = place;
        let start = &mut self.ring[place as usize];
        (start.older, start.newer, start.line) = (older, NONE, k as u32);
    }

    /// Removes a start from its window.
    #[inline]
    fn unlink(&mut self, place: u32) {
        let Start { older, newer, line, .. } = self.ring[place as usize];
        let Some(window) = self.lines.get_mut(line as usize) else { return };
        self.ring[place as usize].line = NONE;
        match self.ring.get_mut(older as usize) {
            Some(neighbour) => neighbour.newer = newer,
            None => window.front = newer,
        }
        match self.ring.get_mut(newer as usize) {
            Some(neighbour) => neighbour.older = older,
            None => window.back = older,
        }
    }

    #[inline]
    fn deadline(&self, now: u64) -> Time {
        let mut relative = 0;
        for window in &self.lines {
            let Some(key) = self.largest_key(window) else { continue };
            let rise = i128::from(window.line.rise.get());
            let ahead = window.line.scaled(self.work) + key - i128::from(now) * rise;
            if ahead > i128::from(relative) * rise {
                relative = window.line.rise.div_ceil(ahead as u128);
            }
        }
        if relative == 0 {
            return self.past_deadline();
        }
        Time(now) + Span(relative)
    }

    /// A deadline that is not in the future: the link has lost time.
    #[cold]
    fn past_deadline(&self) -> Time {
        let mut latest = 0;
        for window in &self.lines {
            let Some(key) = self.largest_key(window) else { continue };
            let scaled = (window.line.scaled(self.work) + key).max(0);
            latest = window.line.rise.div_ceil(scaled as u128).max(latest);
        }
        Time(latest)
    }

    #[inline]
    fn largest_key(&self, window: &Windowed) -> Option<i128> {
        let front = self.ring.get(window.front as usize);
        front.map(|front| front.key(&window.line)).or(window.best)
    }
}
