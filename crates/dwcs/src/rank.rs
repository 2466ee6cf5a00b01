//! Precedence among streams (Table 1 of the paper, and the form of 2000/2004).

use core::cmp::Ordering;
use core::num::NonZeroU32;

use laxity_core::{Span, Time};

use crate::{Order, Record, Window, ZeroTie};

/// The options that determine the precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rank {
    /// The first criterion of the order.
    pub order: Order,
    /// Ties among windows that tolerate no more losses.
    pub zero_tie: ZeroTie,
    /// Gaps before its deadline at which a head may go out.
    pub ahead: Option<NonZeroU32>,
}

/// A place in the order: the least key goes first. Keys of different streams differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Deadline or tolerance, whichever comes first in the order.
    first: u64,
    /// The other one.
    second: u64,
    x: u16,
    arrival: Time,
    /// The stream's place decides when all else is equal, so that the order is total.
    slot: u32,
}

impl Key {
    /// The stream's place.
    #[inline]
    pub fn slot(self) -> u32 {
        self.slot
    }
}

impl Rank {
    /// The place of a waiting stream.
    #[inline]
    pub fn key(&self, slot: u32, record: &Record) -> Key {
        let Record { deadline, window, arrival, .. } = *record;
        let urgency = urgency(window);
        let (first, second) = match self.order {
            Order::DeadlineFirst => (deadline.0, urgency),
            Order::ToleranceFirst => {
                let zero = window.x == 0 && window.y > 0;
                let by_arrival = zero && self.zero_tie == ZeroTie::FirstCome;
                (urgency, if by_arrival { 0 } else { deadline.0 })
            }
        };
        Key { first, second, x: window.x, arrival, slot }
    }

    /// Whether the first of two waiting streams goes before the second: as [`key`](Self::key), but
    /// by multiplication where that divides. For structures that compare more than they store.
    #[inline]
    pub fn before(&self, (slot_a, a): (u32, &Record), (slot_b, b): (u32, &Record)) -> bool {
        let by_deadline = a.deadline.cmp(&b.deadline);
        let by_tolerance = compare(a.window, b.window);
        let order = match self.order {
            Order::DeadlineFirst => by_deadline.then(by_tolerance),
            Order::ToleranceFirst => {
                let zero = a.window.x == 0 && a.window.y > 0;
                let by_arrival = zero && self.zero_tie == ZeroTie::FirstCome;
                by_tolerance.then(if by_arrival { Ordering::Equal } else { by_deadline })
            }
        };
        let order = order.then(a.window.x.cmp(&b.window.x)).then(a.arrival.cmp(&b.arrival));
        order.then(slot_a.cmp(&slot_b)).is_lt()
    }

    /// When the head may go out: never earlier than some gaps before its deadline.
    #[inline]
    pub fn release(&self, record: &Record) -> Time {
        let Some(ahead) = self.ahead else { return Time::ZERO };
        if !record.has_deadlines() {
            return Time::ZERO;
        }
        let before = Span(record.gap.0.saturating_mul(u64::from(ahead.get())));
        record.deadline - before
    }
}

/// The tolerance x'/y' as a whole number: lower is more urgent, and two are equal only when the
/// order leaves the tolerances tied.
///
/// Windows without losses left come first, the longer the sooner. Two different fractions with
/// denominators below 2^16 differ by more than 2^-32, so rounding `x'/y' * 2^32` down keeps them
/// apart and in order.
#[inline]
pub fn urgency(window: Window) -> u64 {
    if window.x == 0 {
        return u64::from(u16::MAX - window.y);
    }
    (1 << 16) + (u64::from(window.x) << 32) / u64::from(window.y)
}

/// Table 1 as it is written, for two windows of equal deadlines and arrivals.
#[inline]
fn compare(a: Window, b: Window) -> Ordering {
    match (a.x, b.x) {
        (0, 0) => b.y.cmp(&a.y),
        (0, _) => Ordering::Less,
        (_, 0) => Ordering::Greater,
        _ => {
            let cross = |p: Window, q: Window| u32::from(p.x) * u32::from(q.y);
            cross(a, b).cmp(&cross(b, a))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when fractions are rounded to fewer bits: tried with `<< 30`.
    #[test]
    fn urgency_orders_as_table_1() {
        let edge = [0u16, 1, 2, 3, 255, 256, 32766, 32767, 32768, 65533, 65534, 65535];
        let mut windows = alloc::vec![];
        for y in edge {
            windows.extend(edge.iter().filter(|x| **x <= y).map(|x| Window { x: *x, y }));
        }
        for y in 0..40 {
            windows.extend((0..=y).map(|x| Window { x, y }));
        }
        for a in &windows {
            for b in &windows {
                let want = compare(*a, *b);
                assert_eq!(urgency(*a).cmp(&urgency(*b)), want, "{a:?} {b:?}");
            }
        }
    }
}
