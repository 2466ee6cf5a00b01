//! `two-segment`: shortest deadlines under two line segments (Algorithm 2).

use laxity_core::{Live, OptionInfo, OptionKind, OptionTable, PolicyInfo, Reference, Span, Time};
use laxity_curve::{CurveError, InverseCurve, TwoSegment};

use super::{Assigner, History};
use crate::live;

/// Algorithm 2 of the paper: `E` approximated by a segment through the origin and a steeper one.
///
/// The packets left of the corner, which the paper keeps as a set and scans, are a window that
/// only moves forward, and the nearest point right of it is one number: [`History`] with two
/// pieces. The sum in the paper's pseudo-code runs from `i` to `n + 1` and subtracts `r_i`; both
/// indices are misprinted there.
#[derive(Clone, Debug)]
pub struct TwoSegments(History);

/// The parameters, shared with both forms of Algorithm 3.
pub(super) const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "slopes",
        kind: OptionKind::RatePair,
        required: true,
        default: "fitted to the residual capacity",
        example: "[\"358530 B/s\", \"450000 B/s\"]",
        summary: "slopes left and right of the corner, the first at most the second",
        reference: Some(Reference {
            default: "fitted to the residual capacity",
            doc: "Their slopes.",
        }),
    },
    OptionInfo {
        name: "corner",
        kind: OptionKind::Time(Span(1), Span(u64::MAX)),
        required: true,
        default: "fitted to the residual capacity",
        example: "\"463 ms\"",
        summary: "where the segments meet",
        reference: Some(Reference {
            default: "fitted to the residual capacity",
            doc: "Start of the second.",
        }),
    },
];

impl TwoSegments {
    /// Deadlines under `line`, remembering up to `capacity` packets left of its corner.
    ///
    /// # Errors
    /// When the line leaves the range of the curve's numbers.
    pub fn new(line: &TwoSegment, capacity: usize) -> Result<TwoSegments, CurveError> {
        Ok(TwoSegments(History::new(&InverseCurve::from_two_segment(line)?, capacity)))
    }
}

impl Assigner for TwoSegments {
    const INFO: PolicyInfo = PolicyInfo {
        name: "two-segment",
        summary: "EDF with deadlines from two line segments below the residual capacity",
        source: "RTAS 2002, section 4.3, Algorithm 2",
        keeps_deadlines: true,
        live: &[live::HISTORY, Live::UserLink],
        options: OPTIONS,
        table: OptionTable::Own {
            schema: "two-segment",
            doc: "Two lines below the residual capacity, the second no flatter than the first.",
            key: "Parameters of the policies `two-segment`, `algorithm-3` and `algorithm-3-printed`.",
            default: "fitted",
            example: "{ slopes = [\"358530 B/s\", \"450000 B/s\"], corner = \"463 ms\" }",
        },
    };

    #[inline]
    fn assign(&mut self, release: Time, wire: u32) -> Time {
        self.0.push(release, wire)
    }

    fn raise(&mut self, release: Time, from: u32, wire: u32) -> Time {
        self.0.raise(release, wire - from)
    }

    fn settle(&mut self, _release: Time, from: u32, wire: u32) {
        self.0.settle(from - wire);
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn restart(&mut self, at: Time, in_flight: u32, head: Option<(u32, Time)>) -> Option<Time> {
        if head.is_none() {
            self.0.restart(at, in_flight);
        }
        None
    }
}
