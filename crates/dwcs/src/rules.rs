//! Rules (A), (B) and (C): effects of service and misses on a window.

use crate::{Record, RuleA, RuleC, Tolerance};

/// The most packets to which [`RuleC::Widen`] and [`RuleC::Tag`] let a window grow.
pub const LONGEST_WINDOW: u16 = u16::MAX;

/// The rest of a stream's current window, x'/y'.
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

    /// [`missed_once`](Self::missed_once) `count` times, in a number of steps that does not depend
    /// on it: misses without service between them repeat with a period. Answers how many of them
    /// were violations.
    #[inline]
    pub fn missed(self, record: &mut Record, count: u64) -> u64 {
        if count == 1 {
            u64::from(self.missed_once(record))
        } else {
            self.missed_at_once(record, count)
        }
    }

    fn missed_at_once(self, record: &mut Record, count: u64) -> u64 {
        let mut left = count;
        let mut violations = 0;
        // To the window's end, and from there to where the pattern repeats: at most twice.
        for _ in 0..2 {
            self.spend(record, &mut left);
            if left == 0 {
                return violations;
            }
            if record.window.x == 0 {
                break;
            }
        }
        let fresh = Window::fresh(record.tolerance);
        if record.window.x > 0 {
            // x/x: every x misses a window ends, and none is a violation.
            let rest = (left % u64::from(fresh.x)) as u16;
            record.window = Window { x: fresh.x - rest, y: fresh.y - rest };
            return violations;
        }
        if fresh.y == 0 {
            return violations;
        }
        match self.c {
            RuleC::Tag => {
                let grown = u64::from(record.window.y).saturating_add(left);
                record.window.y = grown.min(u64::from(LONGEST_WINDOW)) as u16;
                record.set_tagged(true);
                violations += left;
            }
            RuleC::Widen if fresh.x > 0 => {
                // 2x misses lead from one window 0/y' to the next, which is 2(y - x) longer
                // unless it reaches the limit.
                let period = 2 * u64::from(fresh.x);
                let rounds = left / period;
                let longest = u64::from(LONGEST_WINDOW) - (period - 1);
                let gain = rounds.saturating_mul(2 * u64::from(fresh.y - fresh.x));
                let grown = u64::from(record.window.y).saturating_add(gain);
                record.window.y = grown.min(longest) as u16;
                violations += rounds;
                left %= period;
                if left > 0 {
                    violations += u64::from(self.missed_once(record));
                    left -= 1;
                    self.spend(record, &mut left);
                }
            }
            RuleC::Reset | RuleC::Widen => {
                record.window = fresh;
                let period = u64::from(fresh.x) + 1;
                violations += 1 + (left - 1) / period;
                left = (left - 1) % period;
                self.spend(record, &mut left);
            }
        }
        violations
    }

    /// Uses up losses that the window tolerates, to its end at most.
    fn spend(self, record: &mut Record, left: &mut u64) {
        let window = &mut record.window;
        let spent = u64::from(window.x).min(*left);
        *left -= spent;
        window.x -= spent as u16;
        window.y -= spent as u16;
        if spent > 0 && window.is_over() {
            *window = Window::fresh(record.tolerance);
        }
    }
}

#[cfg(test)]
mod tests;
