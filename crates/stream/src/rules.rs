//! Rules (A), (B) and (C): what service and misses do to a window.

use crate::{Record, RuleA, RuleC, Tolerance};

/// The most packets to which [`RuleC::Widen`] and [`RuleC::Tag`] let a window grow.
pub const LONGEST_WINDOW: u16 = u16::MAX;

/// What is left of a stream's current window, x'/y'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Losses still tolerated.
    pub x: u16,
    /// Packets still to come.
    pub y: u16,
}

impl Window {
    /// A whole window.
    #[inline]
    pub const fn fresh(tolerance: Tolerance) -> Window {
        Window { x: tolerance.x(), y: tolerance.y() }
    }

    #[inline]
    fn is_over(self) -> bool {
        self.x == 0 && self.y == 0
    }
}

/// The readings of rules (A) and (C) in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Service by the deadline.
    pub a: RuleA,
    /// Misses beyond the tolerance.
    pub c: RuleC,
}

impl Rules {
    /// Rule (A): the head was served by its deadline. Streams without deadlines keep their
    /// tolerance.
    #[inline]
    pub fn met(self, record: &mut Record) {
        if !record.has_deadlines() {
            return;
        }
        let fresh = Window::fresh(record.tolerance);
        if record.tagged() {
            record.set_tagged(false);
            record.window = fresh;
            return;
        }
        let window = &mut record.window;
        if window.y > window.x {
            window.y -= 1;
        } else if self.a == RuleA::Rolling && window.x > 0 {
            window.x -= 1;
            window.y -= 1;
        }
        if window.is_over() {
            *window = fresh;
        }
    }

    /// Rules (B) and (C): one deadline was missed. Answers whether the window tolerated none,
    /// which is a violation.
    #[inline]
    pub fn missed_once(self, record: &mut Record) -> bool {
        let fresh = Window::fresh(record.tolerance);
        let window = &mut record.window;
        if window.x > 0 {
            window.x -= 1;
            window.y -= 1;
            if window.is_over() {
                *window = fresh;
            }
            return false;
        }
        if fresh.y == 0 {
            return false; // 0/0 has no window to violate and never becomes urgent.
        }
        match self.c {
            RuleC::Tag => {
                window.y = window.y.saturating_add(1);
                record.set_tagged(true);
            }
            // Join keeps y small enough for twice x to fit; see `Scheduler::join`.
            RuleC::Widen if fresh.x > 0 => {
                let y = 2 * u32::from(fresh.y) + u32::from(window.y) - 1;
                let y = y.min(u32::from(LONGEST_WINDOW)) as u16;
                *window = Window { x: 2 * fresh.x - 1, y };
            }
            RuleC::Reset | RuleC::Widen => *window = fresh,
        }
        true
    }

    /// `count` misses at once; answers how many of them were violations.
    #[inline]
    pub fn missed(self, record: &mut Record, count: u64) -> u64 {
        (0..count).map(|_| u64::from(self.missed_once(record))).sum()
    }
}
