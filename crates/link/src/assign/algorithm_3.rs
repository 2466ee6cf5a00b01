//! `algorithm-3`: two segments with constant memory, corrected.

use laxity_core::{Divisor, Live, NANOBITS_PER_BYTE, OptionTable, PolicyInfo, Time};
use laxity_curve::TwoSegment;

use super::Assigner;
use super::two_segment::{OPTIONS, TwoSegments};

/// Algorithm 3 of the paper as its text derives it: the demand so far is taken to touch `E`
/// everywhere, so the point at the previous deadline decides.
///
/// With `x_n = D_n - r_n`:
/// `D_{n+1} = max( r_{n+1} + Einv(w), D_n + Einv(E(x_n) + w) - x_n )`. A point `(x, E(x))` right
/// of `x_n` moves by as much and needs no more, because `E` is convex.
/// The printed form loses the dependence on the previous deadline; see
/// [`Algorithm3Printed`](super::Algorithm3Printed).
#[derive(Clone, Debug)]
pub struct Algorithm3 {
    line: Segments,
    /// Deadline and its distance from the release, of the previous packet.
    previous: Option<(Time, u64)>,
    /// The same before the newest packet.
    before: Option<(Time, u64)>,
    /// Deadline of the newest packet.
    newest: Time,
    /// No deadline is earlier.
    floor: Time,
}

/// A convex two-segment curve and its inverse in integers.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    pub(super) first: u64,
    pub(super) second: u64,
    pub(super) corner: u64,
    first_inverse: Option<Divisor>,
    second_inverse: Option<Divisor>,
}

impl Segments {
    pub(super) fn new(line: &TwoSegment) -> Segments {
        Segments {
            first: line.first.0,
            second: line.second.0,
            corner: line.corner.0,
            first_inverse: Divisor::new(line.first.0),
            second_inverse: Divisor::new(line.second.0),
        }
    }

    /// `E(t)` in nanobits.
    #[inline]
    pub(super) fn value(&self, t: u64) -> u128 {
        let left = u128::from(self.first) * u128::from(t.min(self.corner));
        left + u128::from(self.second) * u128::from(t.saturating_sub(self.corner))
    }

    /// Least `t` with `E(t) >= work` (nanobits), rounded up; `None` when there is none.
    #[inline]
    pub(super) fn inverse(&self, work: u128) -> Option<u64> {
        let at_corner = u128::from(self.first) * u128::from(self.corner);
        if work <= at_corner {
            return Some(if work == 0 { 0 } else { self.first_inverse?.div_ceil(work) });
        }
        let beyond = self.second_inverse?.div_ceil(work - at_corner);
        Some(self.corner.saturating_add(beyond))
    }
}

impl Algorithm3 {
    /// Deadlines under `line`.
    pub fn new(line: &TwoSegment) -> Algorithm3 {
        Algorithm3 {
            line: Segments::new(line),
            previous: None,
            before: None,
            newest: Time::ZERO,
            floor: Time::ZERO,
        }
    }

    fn next(&self, release: Time, work: u128) -> Option<u64> {
        let alone = release.0.saturating_add(self.line.inverse(work)?);
        let Some((deadline, length)) = self.previous else { return Some(alone) };
        let reached = self.line.inverse(self.line.value(length) + work)?;
        Some(alone.max(deadline.0.saturating_add(reached - length)))
    }
}

impl Assigner for Algorithm3 {
    const INFO: PolicyInfo = PolicyInfo {
        name: "algorithm-3",
        summary: "EDF with two-segment deadlines from constant memory (corrected)",
        source: "RTAS 2002, section 4.3.1, Algorithm 3, corrected",
        keeps_deadlines: true,
        live: &[Live::UserLink],
        options: OPTIONS,
        table: OptionTable::Of(TwoSegments::INFO.name),
    };

    #[inline]
    fn assign(&mut self, release: Time, wire: u32) -> Time {
        let work = u128::from(wire) * NANOBITS_PER_BYTE as u128;
        let deadline = Time(self.next(release, work).unwrap_or(u64::MAX));
        self.before = self.previous;
        self.previous = Some((deadline, deadline.0 - release.0.min(deadline.0)));
        self.newest = deadline.max(self.floor);
        self.newest
    }

    fn raise(&mut self, release: Time, _from: u32, wire: u32) -> Time {
        self.previous = self.before;
        self.assign(release, wire)
    }

    fn settle(&mut self, release: Time, _from: u32, wire: u32) {
        self.floor = self.newest;
        self.previous = self.before;
        if wire > 0 {
            self.assign(release, wire);
        }
    }

    fn reset(&mut self) {
        (self.previous, self.before) = (None, None);
        (self.newest, self.floor) = (Time::ZERO, Time::ZERO);
    }
}
