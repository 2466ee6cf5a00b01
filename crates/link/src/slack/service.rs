//! Future demand of a flow with a service curve.
//!
//! The flow's deadline curve is `Z(T) = min_i [R_i + S(T - a_i)]` over its starts `(a_i, R_i)`, and
//! the packet that ends at byte `w` is due at the first `T` with `Z(T) >= w` (SCED; see
//! [`laxity_curve::service`]). With `R` bytes accepted so far it can still demand, by `T`,
//!
//! ```text
//! F = P(max(0, Z'(T) - R))
//! ```
//!
//! in whole packets (`P`). `Z'` is `Z` while packets of it wait; once none does, its next packet is
//! a start at `t` or later, so `Z'(T) = min(Z(T), R + S(T - t))`. A policed flow sends no more than
//! its buckets still let through either.
//!
//! `F` is bounded from above in three places: the slopes of the curve are rounded up to whole bit/s;
//! starts beyond the sixteen that are remembered, and lines beyond the first hundred or so, are
//! left out of the minimum; and after as many packets as for envelopes, packets are counted by the
//! byte. To leave a start out is safe here, where it only raises the demand, and not for deadlines.

use alloc::boxed::Box;
use alloc::vec::Vec;

use laxity_core::{NANOBITS_PER_BYTE, Time};
use laxity_curve::CurveError;
use laxity_curve::service::{MAX_SERVICE_PIECES, ServiceCurve};

use super::flow::{Change, FlowDemand};
use crate::Wire;
use crate::config::{RealtimeFlow, Service};
use crate::police::Remaining;

/// Starts remembered, apart from those on the curve's last line.
const STARTS: usize = 16;
/// Terms of the minimum: the starts, those on the last line, a start now, and the buckets.
const TERMS: usize = STARTS + 2 + Remaining::LINES;
/// Instants at which the minimum is taken; from the last one on its lowest term stands for it.
const INSTANTS: usize = 96;

/// A line of the curve from `start` (ns) on: `level + slope * (t - start)` nanobits.
#[derive(Clone, Copy, Debug)]
struct Line {
    start: u64,
    level: i128,
    slope: i128,
}

/// The demand of one flow.
#[derive(Clone, Debug)]
pub(super) struct ServiceDemand {
    pub(super) flow: usize,
    curve: Box<[Line]>,
    /// Relative deadline of a first packet of the smallest size, in ns.
    pub(super) first: u64,
    /// Smallest packet on the wire, in bytes; smaller ones count as much.
    smallest: u32,
    /// Smallest and largest packet on the wire, in nanobits.
    small: i128,
    large: i128,
    /// Number of packets that are counted whole.
    steps: i128,
    /// `(a_i, R_i)` in ns and nanobits, in order of time.
    starts: [(u64, i128); STARTS],
    len: usize,
    /// The least `R_i + S(T - a_i)` at `T = 0` over starts on the last line of the curve.
    last_line: Option<i128>,
    /// `R`, in nanobits.
    accepted: i128,
    /// Number of packets that wait.
    queued: usize,
    /// A packet of it is being sent.
    pub(super) on_wire: bool,
    /// The policer enforces its envelope.
    pub(super) policed: bool,
    /// Amount by which a start now counts as later.
    deferred: u64,
}

/// One of the functions whose minimum bounds the demand, on the line that holds at present.
#[derive(Clone, Copy)]
struct Term {
    /// `intercept + slope * x`, with `x` in ns from now.
    intercept: i128,
    slope: i128,
    /// First `x` of its next line.
    until: u64,
    /// Index of its next line in the curve.
    next: usize,
    /// The curve is read at `x + shift`, and `raised` is added.
    shift: i128,
    raised: i128,
}

impl Term {
    const NONE: Term =
        Term { intercept: 0, slope: 0, until: u64::MAX, next: 0, shift: 0, raised: 0 };

    fn line(intercept: i128, slope: i128) -> Term {
        Term { intercept, slope, ..Term::NONE }
    }

    /// `S(x + shift) + raised`, before its first line.
    fn curve(shift: i128, raised: i128) -> Term {
        Term { intercept: raised, until: 0, shift, raised, ..Term::NONE }
    }

    fn at(&self, x: u64) -> i128 {
        self.intercept + self.slope * i128::from(x)
    }

    /// Moves on to the line that holds at `x`.
    fn advance(&mut self, curve: &[Line], x: u64) {
        while self.until <= x {
            let Some(line) = curve.get(self.next) else {
                self.until = u64::MAX;
                return;
            };
            let back = i128::from(line.start) - self.shift;
            let start = u64::try_from(back.max(0)).unwrap_or(u64::MAX);
            if start > x {
                self.until = start;
                return;
            }
            self.slope = line.slope;
            self.intercept = self.raised + line.level - line.slope * back;
            self.next += 1;
            self.until = x;
        }
    }
}

impl ServiceDemand {
    /// The demand of a flow that has not sent yet, its next `steps` packets counted whole.
    ///
    /// # Errors
    /// Numbers beyond 128 bits.
    pub(super) fn new(
        flow: usize,
        config: &RealtimeFlow,
        service: &Service,
        wire: Wire,
        steps: usize,
    ) -> Result<ServiceDemand, CurveError> {
        let smallest = wire.of_bytes(config.smallest_served()).0;
        let largest = wire.of_bytes(config.envelope.max_packet()).0;
        Ok(ServiceDemand {
            flow,
            curve: lines(&service.curve)?,
            first: service.curve.inverse()?.at(smallest).0,
            smallest: u32::try_from(smallest).unwrap_or(u32::MAX),
            small: i128::from(smallest) * NANOBITS_PER_BYTE,
            large: i128::from(largest) * NANOBITS_PER_BYTE,
            steps: steps as i128,
            starts: [(0, 0); STARTS],
            len: 0,
            last_line: None,
            accepted: 0,
            queued: 0,
            on_wire: false,
            policed: service.policed,
            deferred: 0,
        })
    }

    /// Maximum number of changes that [`changes`](Self::changes) yields.
    pub(super) fn max_changes(&self) -> usize {
        INSTANTS + MAX_SERVICE_PIECES + 2 * self.steps as usize
    }

    /// Counts a start now as later by `by` ns.
    pub(super) fn defer(&mut self, by: u64) {
        self.deferred = by;
    }

    /// Forgets all starts: the link is idle and nothing waits.
    pub(super) fn reset(&mut self) {
        (self.len, self.last_line, self.accepted) = (0, None, 0);
    }

    /// A packet of `wire` bytes was accepted at `at`, due at `deadline`.
    pub(super) fn accept(&mut self, buckets: &FlowDemand, at: Time, wire: u32, deadline: Time) {
        let counted = i128::from(wire.max(self.smallest)) * NANOBITS_PER_BYTE;
        debug_assert!(
            self.within(buckets, at, deadline.since(at).0) >= counted,
            "a packet due at {deadline:?} was not part of the demand of flow {}",
            self.flow
        );
        if self.is_idle() {
            // Beyond what is remembered the oldest starts stay, and the newest.
            self.len = (self.len + 1).min(STARTS);
            self.starts[self.len - 1] = (at.0, self.accepted);
        }
        self.accepted += counted;
        self.queued += 1;
        self.leave_for_last_line();
    }

    /// A packet of it starts.
    pub(super) fn start(&mut self) {
        self.queued -= 1;
        self.on_wire = true;
    }

    fn is_idle(&self) -> bool {
        self.queued == 0 && !self.on_wire
    }

    /// Of starts on the last line, on which they stay, only the lowest matters.
    fn leave_for_last_line(&mut self) {
        let Some(last) = self.curve.last() else { return };
        let on_it = |start: &(u64, i128)| self.accepted - start.1 >= last.level;
        let count = self.starts[..self.len].iter().take_while(|start| on_it(start)).count();
        for (at, before) in &self.starts[..count] {
            let passed = i128::from(*at) + i128::from(last.start);
            let key = before + last.level - last.slope * passed;
            self.last_line = Some(self.last_line.map_or(key, |least| least.min(key)));
        }
        self.starts.copy_within(count..self.len, 0);
        self.len -= count;
    }

    /// The functions whose minimum is `Z' - R`, with the flow's buckets.
    fn terms(&self, buckets: &FlowDemand, now: Time, out: &mut [Term; TERMS]) -> usize {
        let mut len = 0;
        let mut push = |term| {
            out[len] = term;
            len += 1;
        };
        for (at, before) in &self.starts[..self.len] {
            let shift = i128::from(now.0) - i128::from(*at);
            push(Term::curve(shift, before - self.accepted));
        }
        if let (Some(key), Some(last)) = (self.last_line, self.curve.last()) {
            push(Term::line(key + last.slope * i128::from(now.0) - self.accepted, last.slope));
        }
        if self.is_idle() {
            push(Term::curve(-i128::from(self.deferred), 0));
        }
        if self.policed {
            for (level, rate) in buckets.lines_at(now) {
                let rate = i128::from(rate);
                push(Term::line(i128::from(level) - rate * i128::from(self.deferred), rate));
            }
        }
        len
    }

    /// Rounds a bound down to whole packets: `n = ceil(v / s)` packets if they may be that small,
    /// else `n - 1` of the largest.
    fn whole_packets(&self, bound: i128) -> i128 {
        let bound = bound.max(0);
        let n = (bound + self.large - 1) / self.large;
        if n <= self.steps && bound < n.max(1) * self.small {
            (n - 1).max(0) * self.large
        } else {
            bound
        }
    }

    /// The most that the flow can send and have due within `x` ns from `now`, in nanobits.
    pub(super) fn within(&self, buckets: &FlowDemand, now: Time, x: u64) -> i128 {
        let mut terms = [Term::NONE; TERMS];
        let len = self.terms(buckets, now, &mut terms);
        let value = |term: &mut Term| {
            term.advance(&self.curve, x);
            term.at(x)
        };
        let least = terms[..len].iter_mut().map(value).min();
        self.whole_packets(least.unwrap_or(0))
    }

    /// Writes the changes of the flow's demand line; `out` has [`max_changes`](Self::max_changes)
    /// entries. O(n^2) for `n` starts with their lines.
    pub(super) fn changes(&self, buckets: &FlowDemand, now: Time, out: &mut [Change]) {
        out.fill(Change::NEVER);
        let mut line = Staircase { out, len: 0, before: (0, 0) };
        let mut terms = [Term::NONE; TERMS];
        let mut len = self.terms(buckets, now, &mut terms);
        let mut x = 0;
        for instant in 0..INSTANTS + MAX_SERVICE_PIECES {
            let mut lowest = 0;
            for i in 0..len {
                terms[i].advance(&self.curve, x);
                let (term, best) = (terms[i].at(x), terms[lowest].at(x));
                if term < best || (term == best && terms[i].slope < terms[lowest].slope) {
                    lowest = i;
                }
            }
            if instant == INSTANTS {
                (terms[0], len, lowest) = (terms[lowest], 1, 0);
            }
            let best = terms[lowest];
            let mut until = u64::MAX;
            for term in &terms[..len] {
                until = until.min(term.until);
                if term.slope < best.slope {
                    // The first whole instant at which it is the lower one.
                    let after = (term.at(x) - best.at(x)) / (best.slope - term.slope) + 1;
                    until = until.min(after_ns(x, after));
                }
            }
            self.stairs(&best, x, until, &mut line);
            if until == u64::MAX {
                return;
            }
            x = until;
        }
    }

    /// Writes a stretch of the bound in whole packets.
    fn stairs(&self, term: &Term, from: u64, until: u64, line: &mut Staircase) {
        let mut x = from;
        while x < until {
            let bound = term.at(x).max(0);
            let n = ((bound + self.large - 1) / self.large).max(1);
            // The bound at which the line changes, and whether it does so only beyond it.
            let (level, beyond) = if n <= self.steps && bound < n * self.small {
                line.write(x, (n - 1) * self.large, 0);
                (n * self.small, false)
            } else {
                line.write(x, term.intercept, term.slope);
                if n >= self.steps || n * self.large >= (n + 1) * self.small {
                    return;
                }
                (n * self.large, true)
            };
            if term.slope <= 0 {
                return;
            }
            let missing = level - term.at(x);
            let after = match beyond {
                true => missing / term.slope + 1,
                false => (missing + term.slope - 1) / term.slope,
            };
            x = after_ns(x, after);
        }
    }
}

/// `x` and as many ns.
fn after_ns(x: u64, ns: i128) -> u64 {
    u64::try_from(ns).ok().and_then(|ns| x.checked_add(ns)).unwrap_or(u64::MAX)
}

/// The lines of a curve, none below it at whole ns, with whole slopes and never falling.
fn lines(curve: &ServiceCurve) -> Result<Box<[Line]>, CurveError> {
    let mut lines: Vec<Line> = Vec::new();
    for piece in curve.curve().pieces() {
        let start = u64::try_from(piece.start.ceil()).unwrap_or(u64::MAX);
        // None of its instants is whole.
        if lines.last().is_some_and(|last| last.start == start) {
            lines.pop();
        }
        let end = lines.last().map_or(0, |last| {
            last.level + last.slope * (i128::from(start) - 1 - i128::from(last.start))
        });
        let level = piece.at(i128::from(start).into())?.ceil().max(end);
        lines.push(Line { start, level, slope: piece.slope.ceil() });
    }
    Ok(lines.into_boxed_slice())
}

/// Changes of a broken line.
struct Staircase<'a> {
    out: &'a mut [Change],
    len: usize,
    /// The line that holds, as intercept and slope.
    before: (i128, i128),
}

impl Staircase<'_> {
    /// The line from `x` on.
    fn write(&mut self, x: u64, intercept: i128, slope: i128) {
        if (intercept, slope) == self.before {
            return;
        }
        let change =
            Change { at: x, intercept: intercept - self.before.0, slope: slope - self.before.1 };
        self.out[self.len] = change;
        self.len += 1;
        self.before = (intercept, slope);
    }
}
