//! One server's promise: its share at each instant from its zero-lag time on.

use alloc::vec::Vec;
use core::fmt;

/// A share of one CPU in units of 2^-56.
pub(super) type Fine = u128;

/// All of one CPU.
pub(super) const ALL: Fine = 1 << 56;

/// Work in units of 2^-56 ns.
fn work(span: u64) -> u128 {
    u128::from(span) << 56
}

/// What a promise is from some instant on: steps, of which any may be over, and the rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tail {
    pub steps: [(u64, Fine); 3],
    pub rest: Fine,
}

impl Tail {
    fn at(&self, t: u64) -> Fine {
        self.steps.iter().find(|(until, _)| *until > t).map_or(self.rest, |(_, share)| *share)
    }
}

/// A share that is constant from step to step.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Promise {
    /// Until when which share holds, in order of time.
    steps: Vec<(u64, Fine)>,
    /// The share after the last step.
    rest: Fine,
    /// Up to when the promise is used up, and the work executed beyond.
    zero_lag: u64,
    carry: u128,
}

/// Shares in millionths.
impl fmt::Debug for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (until, share) in &self.steps {
            write!(f, "{} until {until}, ", share * 1_000_000 / ALL)?;
        }
        write!(f, "{}; used up to {}", self.rest * 1_000_000 / ALL, self.zero_lag)
    }
}

impl Promise {
    /// Nothing until `from`.
    pub(super) fn starting(now: u64, from: u64) -> Promise {
        // Rarely more: a step lasts until the zero-lag time that the server had when it changed.
        let mut steps = Vec::with_capacity(16);
        if from > now {
            steps.push((from, 0));
        }
        Promise { steps, zero_lag: now, ..Promise::default() }
    }

    pub(super) fn zero_lag(&self) -> u64 {
        self.zero_lag
    }

    pub(super) fn at(&self, t: u64) -> Fine {
        self.steps.iter().find(|(until, _)| *until > t).map_or(self.rest, |(_, share)| *share)
    }

    /// In which time the least share about the zero-lag time gives so much work.
    pub(super) fn time_of(&self, span: u64) -> u64 {
        let about = [self.at(self.zero_lag.saturating_sub(1)), self.at(self.zero_lag), self.rest];
        let least = about.into_iter().filter(|share| *share > 0).min().unwrap_or(ALL);
        u64::try_from(work(span) / least).unwrap_or(u64::MAX)
    }

    /// Instants at which the share changes.
    pub(super) fn breakpoints(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.steps.iter().map(|(until, _)| *until)
    }

    /// The share at `t` and until when it holds, if not for ever. `cursor` only moves forward.
    pub(super) fn seek(&self, cursor: &mut usize, t: u64) -> (Fine, Option<u64>) {
        while let Some((until, share)) = self.steps.get(*cursor) {
            if *until > t {
                return (*share, Some(*until));
            }
            *cursor += 1;
        }
        (self.rest, None)
    }

    /// From `from` on another promise. Answers the first instant at which it differs, if any.
    pub(super) fn change(&mut self, from: u64, tail: &Tail) -> Option<u64> {
        let at = core::iter::once(from)
            .chain(self.breakpoints().filter(|t| *t > from))
            .chain(tail.steps.iter().map(|(until, _)| *until).filter(|t| *t > from))
            .filter(|t| self.at(*t) != tail.at(*t))
            .min()?;
        let before = self.at(from.saturating_sub(1));
        self.steps.retain(|(until, _)| *until < from);
        self.steps.push((from, before));
        self.extend(from, tail);
        Some(at)
    }

    fn extend(&mut self, from: u64, tail: &Tail) {
        let mut last = from;
        for (until, share) in tail.steps {
            if until > last {
                self.steps.push((until, share));
                last = until;
            }
        }
        self.rest = tail.rest;
    }

    /// The past up to `t` does not matter any more.
    pub(super) fn forget(&mut self, t: u64) {
        self.steps.retain(|(until, _)| *until > t);
    }

    /// Nothing was executed ahead of the promise before `t`.
    pub(super) fn waited(&mut self, t: u64) {
        if t > self.zero_lag {
            (self.zero_lag, self.carry) = (t, 0);
        }
    }

    pub(super) fn executed(&mut self, ran: u64) {
        let (t, carry) = self.reach(work(ran));
        (self.zero_lag, self.carry) = (t, carry);
    }

    /// When the promise gives `left` beyond what is used up.
    pub(super) fn gives(&self, left: u64) -> u64 {
        let (t, carry) = self.reach(work(left));
        t.saturating_add(u64::from(carry > 0))
    }

    /// What the promise gives from one instant to another, in whole ns of work.
    pub(super) fn given(&self, from: u64, until: u64) -> u64 {
        u64::try_from(self.given_work(from, until) >> 56).unwrap_or(u64::MAX)
    }

    fn given_work(&self, from: u64, until: u64) -> u128 {
        let (mut t, mut sum) = (from, 0u128);
        let steps = self.steps.iter().copied().chain(core::iter::once((u64::MAX, self.rest)));
        for (end, share) in steps {
            let end = end.min(until);
            if end > t {
                sum += u128::from(end - t) * share;
                t = end;
            }
        }
        sum
    }

    /// Has the promise used up no further than `from` when only rounding, of so many ns of work, is beyond: where
    /// the share is nothing for a while, a nanosecond of work moves the zero-lag time by all of that.
    pub(super) fn round_to(&mut self, from: u64, rounded: u64) {
        if from < self.zero_lag {
            let beyond = self.given_work(from, self.zero_lag).saturating_add(self.carry);
            if beyond <= work(rounded) {
                (self.zero_lag, self.carry) = (from, beyond);
            }
        }
    }

    /// The instant up to which `more` work uses the promise up, and the work beyond it.
    fn reach(&self, more: u128) -> (u64, u128) {
        let (mut t, mut need) = (self.zero_lag, self.carry + more);
        for (until, share) in self.steps.iter().copied() {
            if until <= t {
                continue;
            }
            let room = u128::from(until - t) * share;
            if need < room {
                let steps = need / share;
                return (t + steps as u64, need % share);
            }
            (t, need) = (until, need - room);
        }
        match self.rest {
            _ if need == 0 => (t, 0),
            0 => (u64::MAX, 0),
            rest => {
                let steps = u64::try_from(need / rest).unwrap_or(u64::MAX);
                (t.saturating_add(steps), need % rest)
            }
        }
    }

    /// Replaces the promise: nothing until `zero_lag`.
    pub(super) fn reset(&mut self, zero_lag: u64, tail: &Tail) {
        self.steps.clear();
        self.steps.push((zero_lag, 0));
        self.extend(zero_lag, tail);
        (self.zero_lag, self.carry) = (zero_lag, 0);
    }

    /// All of it comes earlier by `excess`.
    pub(super) fn move_back(&mut self, excess: u64) {
        for (until, _) in &mut self.steps {
            *until = until.saturating_sub(excess);
        }
        self.zero_lag = self.zero_lag.saturating_sub(excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_over_steps() {
        let mut p = Promise::starting(0, 10);
        let tail = Tail { steps: [(20, ALL / 2), (15, ALL), (0, 0)], rest: ALL / 4 };
        assert_eq!(p.change(10, &tail), Some(10));
        assert_eq!(p.gives(5), 20);
        assert_eq!(p.gives(6), 24);
        p.executed(7);
        assert_eq!((p.zero_lag(), p.gives(1)), (28, 32));
        assert_eq!((p.given(12, 28), p.given(28, 12)), (6, 0));
        assert_eq!(p.change(30, &tail), None);
        assert_eq!(p.change(30, &Tail { rest: ALL / 2, ..Tail::default() }), Some(30));
        assert_eq!(p.gives(1), 31);
        p.waited(40);
        p.forget(40);
        assert_eq!((p.gives(3), p.at(40)), (46, ALL / 2));
        p.move_back(5);
        assert_eq!(p.gives(3), 41);
    }

    #[test]
    fn rounding_does_not_use_up_time_without_a_share() {
        let mut p = Promise::starting(0, 0);
        p.change(0, &Tail { steps: [(20, ALL / 2), (1000, 0), (0, 0)], rest: ALL });
        p.executed(11);
        p.round_to(20, 0);
        assert_eq!((p.zero_lag(), p.gives(1)), (1001, 1002));
        p.round_to(20, 1);
        assert_eq!((p.zero_lag(), p.gives(1)), (20, 1002));
        // Nothing is forgotten: another share from there on has to give it.
        p.change(20, &Tail { rest: ALL / 4, ..Tail::default() });
        assert_eq!(p.gives(1), 28);
    }

    #[test]
    fn no_share_gives_nothing() {
        let p = Promise::starting(5, 5);
        assert_eq!((p.gives(0), p.gives(1)), (5, u64::MAX));
    }
}
