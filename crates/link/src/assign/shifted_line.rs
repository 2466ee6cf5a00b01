//! `shifted-line`: deadlines from one line that cuts the time axis at the shift.

use laxity_core::{
    Divisor, Live, NANOBITS_PER_BYTE, OptionInfo, OptionKind, OptionTable, PolicyInfo, Reference,
    Span, Time,
};
use laxity_curve::ShiftedLine;

use super::Assigner;
use crate::live;

/// `D = w/g + max(r + delta, D_prev)`: needs the previous deadline only.
#[derive(Clone, Debug)]
pub struct Shifted {
    line: Recursion,
}

/// The recursion with its deadline kept as an exact multiple of `1/g`, so that rounding up to
/// nanoseconds never accumulates.
#[derive(Clone, Debug)]
pub(super) struct Recursion {
    slope: Option<Divisor>,
    shift: u64,
    /// Previous deadline times the slope.
    previous: u128,
    /// The same before the newest packet.
    before: u128,
    /// Deadline of the newest packet.
    newest: Time,
    /// No deadline is earlier.
    floor: Time,
}

impl Recursion {
    pub(super) fn new(line: &ShiftedLine) -> Recursion {
        Recursion {
            slope: Divisor::new(line.slope.0),
            shift: line.shift.0,
            previous: 0,
            before: 0,
            newest: Time::ZERO,
            floor: Time::ZERO,
        }
    }

    #[inline]
    pub(super) fn next(&mut self, release: Time, wire: u32) -> Time {
        let Some(slope) = self.slope else { return Time::MAX };
        let start = u128::from(release.0.saturating_add(self.shift)) * u128::from(slope.get());
        let base = u128::from(release.0) * u128::from(slope.get());
        let work = u128::from(wire) * NANOBITS_PER_BYTE as u128;
        self.before = self.previous;
        self.previous = self.previous.max(start).saturating_add(work);
        // Relative to the release the quotient nearly always fits the fast division.
        let deadline = Time(release.0.saturating_add(slope.div_ceil(self.previous - base)));
        self.newest = deadline.max(self.floor);
        self.newest
    }

    /// The newest packet has `wire` bytes instead.
    pub(super) fn raise(&mut self, release: Time, wire: u32) -> Time {
        self.previous = self.before;
        self.next(release, wire)
    }

    /// Of the newest packet only `wire` bytes were sent.
    pub(super) fn settle(&mut self, release: Time, wire: u32) {
        self.floor = self.newest;
        self.previous = self.before;
        if wire > 0 {
            self.next(release, wire);
        }
    }

    pub(super) fn reset(&mut self) {
        (self.previous, self.before) = (0, 0);
        (self.newest, self.floor) = (Time::ZERO, Time::ZERO);
    }

    /// Remembers `in_flight` bytes released at `at` instead of all packets so far, if that gives
    /// earlier deadlines.
    pub(super) fn restart(&mut self, at: Time, in_flight: u32) {
        let Some(slope) = self.slope else { return };
        let old = self.clone();
        self.reset();
        if in_flight > 0 {
            self.next(at, in_flight);
        }
        let floor = u128::from(old.floor.0) * u128::from(slope.get());
        if old.previous.max(floor) < self.previous {
            *self = old;
        }
    }
}

impl Shifted {
    /// Deadlines under `line`; with a slope of zero there are none.
    pub fn new(line: &ShiftedLine) -> Shifted {
        Shifted { line: Recursion::new(line) }
    }
}

impl Assigner for Shifted {
    const INFO: PolicyInfo = PolicyInfo {
        name: "shifted-line",
        summary: "EDF with deadlines from one shifted line below the residual capacity",
        source: "RTAS 2002, section 4.2",
        keeps_deadlines: true,
        live: &[live::LINE, Live::UserLink],
        options: &[
            OptionInfo {
                name: "slope",
                kind: OptionKind::Rate,
                required: true,
                default: "fitted to the residual capacity",
                example: "\"370530 B/s\"",
                summary: "slope of the line",
                reference: Some(Reference {
                    default: "fitted to the residual capacity",
                    doc: "Its slope.",
                }),
            },
            OptionInfo {
                name: "shift",
                kind: OptionKind::Time(Span(0), Span(u64::MAX)),
                required: true,
                default: "fitted to the residual capacity",
                example: "\"15 ms\"",
                summary: "where the line cuts the time axis",
                reference: Some(Reference {
                    default: "fitted to the residual capacity",
                    doc: "Its zero crossing.",
                }),
            },
        ],
        table: OptionTable::Own {
            schema: "shifted-line",
            doc: "A line below the residual capacity.",
            key: "Parameters of the policy `shifted-line`.",
            default: "fitted",
            example: "{ slope = \"370530 B/s\", shift = \"15 ms\" }",
        },
    };

    #[inline]
    fn assign(&mut self, release: Time, wire: u32) -> Time {
        self.line.next(release, wire)
    }

    fn raise(&mut self, release: Time, _from: u32, wire: u32) -> Time {
        self.line.raise(release, wire)
    }

    fn settle(&mut self, release: Time, _from: u32, wire: u32) {
        self.line.settle(release, wire);
    }

    fn reset(&mut self) {
        self.line.reset();
    }

    fn restart(&mut self, at: Time, in_flight: u32, head: Option<(u32, Time)>) -> Option<Time> {
        if head.is_none() {
            self.line.restart(at, in_flight);
        }
        None
    }
}
