//! One server's promise: its share at each instant from its zero-lag time on.

use alloc::vec::Vec;
use core::fmt;

use super::tail::{FULL_CPU, FineShare, Tail};

/// Work in units of 2^-56 ns.
fn work(span: u64) -> u128 {
    u128::from(span) << 56
}

/// A share that is constant from step to step.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Promise {
    /// The end of each step and its share, in order of time.
    steps: Vec<(u64, FineShare)>,
    /// The share after the last step.
    rest: FineShare,
    /// The instant up to which the promise is used up, and the work executed beyond it.
    zero_lag: u64,
    remainder: u128,
}

/// Shares in millionths.
impl fmt::Debug for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (until, share) in &self.steps {
            write!(f, "{} until {until}, ", share * 1_000_000 / FULL_CPU)?;
        }
        write!(f, "{}; used up to {}", self.rest * 1_000_000 / FULL_CPU, self.zero_lag)
    }
}

impl Promise {
    /// A share of zero until `from`.
    pub(super) fn starting(now: u64, from: u64) -> Promise {
        // Rarely exceeded: a step lasts until the server's zero-lag time at the change.
        let mut steps = Vec::with_capacity(16);
        if from > now {
            steps.push((from, 0));
        }
        Promise { steps, zero_lag: now, ..Promise::default() }
    }

    pub(super) fn zero_lag(&self) -> u64 {
        self.zero_lag
    }

    /// The index of the step at `t`, by bisection: a server may run thousands of periods ahead, and each adds a
    /// step.
    fn step(&self, t: u64) -> usize {
        self.steps.partition_point(|(until, _)| *until <= t)
    }

    pub(super) fn at(&self, t: u64) -> FineShare {
        self.steps.get(self.step(t)).map_or(self.rest, |(_, share)| *share)
    }

    /// The time in which the least share around the zero-lag time amounts to this much work.
    pub(super) fn time_of(&self, span: u64) -> u64 {
        let about = [self.at(self.zero_lag.saturating_sub(1)), self.at(self.zero_lag), self.rest];
        let least = about.into_iter().filter(|share| *share > 0).min().unwrap_or(FULL_CPU);
        u64::try_from(work(span) / least).unwrap_or(u64::MAX)
    }

    /// The instants at which the share changes.
    pub(super) fn breakpoints(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.steps.iter().map(|(until, _)| *until)
    }

    /// The share at `t`, and the end of its step unless it is the last. `cursor` only moves forward; 0 is a start
    /// anywhere.
    pub(super) fn seek(&self, cursor: &mut usize, t: u64) -> (FineShare, Option<u64>) {
        if *cursor == 0 {
            *cursor = self.step(t);
        }
        while let Some((until, share)) = self.steps.get(*cursor) {
            if *until > t {
                return (*share, Some(*until));
            }
            *cursor += 1;
        }
        (self.rest, None)
    }

    /// Replaces the promise from `from` on.
    pub(super) fn change(&mut self, from: u64, tail: &Tail) {
        let before = self.at(from.saturating_sub(1));
        self.steps.truncate(self.steps.partition_point(|(until, _)| *until < from));
        self.steps.push((from, before));
        self.extend(from, tail);
    }

    /// The first instant from `from` on at which the share is not the tail's.
    pub(super) fn first_difference(&self, from: u64, tail: &Tail) -> Option<u64> {
        let mut rest = &self.steps[self.step(from)..];
        let mut t = from;
        loop {
            let (until, share) = rest.first().map_or((u64::MAX, self.rest), |step| *step);
            if share != tail.at(t) {
                return Some(t);
            }
            let ends = tail.steps.iter().map(|(until, _)| *until).filter(|until| *until > t);
            t = ends.fold(until, u64::min);
            if t == u64::MAX {
                return None;
            }
            if until <= t {
                rest = &rest[1..];
            }
        }
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

    /// Drops the steps that end by `t`.
    pub(super) fn drop_history(&mut self, t: u64) {
        match self.step(t) {
            0 => {}
            ended => drop(self.steps.drain(..ended)),
        }
    }

    /// Moves the zero-lag time to `t` if it is earlier.
    pub(super) fn advance_zero_lag(&mut self, t: u64) {
        if t > self.zero_lag {
            (self.zero_lag, self.remainder) = (t, 0);
        }
    }

    pub(super) fn executed(&mut self, ran: u64) {
        let (t, remainder) = self.reach(work(ran));
        (self.zero_lag, self.remainder) = (t, remainder);
    }

    /// The instant by which the promise amounts to `left` more than is used up.
    pub(super) fn finish_time(&self, left: u64) -> u64 {
        let (t, remainder) = self.reach(work(left));
        t.saturating_add(u64::from(remainder > 0))
    }

    /// The work that the promise amounts to from one instant to another, in whole ns.
    pub(super) fn work_between(&self, from: u64, until: u64) -> u64 {
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

    /// Moves the zero-lag time back to `from` if the work beyond is at most `rounded` ns, a rounding error: where
    /// the share is zero for a while, a nanosecond of work would move the zero-lag time across all of it.
    pub(super) fn absorb_rounding(&mut self, from: u64, rounded: u64) {
        if from < self.zero_lag {
            let excess_work = self.given_work(from, self.zero_lag).saturating_add(self.remainder);
            if excess_work <= work(rounded) {
                (self.zero_lag, self.remainder) = (from, excess_work);
            }
        }
    }

    /// The instant up to which `more` work uses up the promise, and the work beyond it.
    fn reach(&self, more: u128) -> (u64, u128) {
        let (mut t, mut need) = (self.zero_lag, self.remainder + more);
        for (until, share) in self.steps[self.step(t)..].iter().copied() {
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

    /// Replaces the promise, with a share of zero until `zero_lag`.
    pub(super) fn reset(&mut self, zero_lag: u64, tail: &Tail) {
        self.steps.clear();
        self.steps.push((zero_lag, 0));
        self.extend(zero_lag, tail);
        (self.zero_lag, self.remainder) = (zero_lag, 0);
    }

    /// Moves the whole promise back by `excess`.
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
    fn work_accumulates_over_steps() {
        let mut p = Promise::starting(0, 10);
        let tail = Tail { steps: [(20, FULL_CPU / 2), (15, FULL_CPU), (0, 0)], rest: FULL_CPU / 4 };
        assert_eq!(p.first_difference(10, &tail), Some(10));
        p.change(10, &tail);
        assert_eq!(p.finish_time(5), 20);
        assert_eq!(p.finish_time(6), 24);
        p.executed(7);
        assert_eq!((p.zero_lag(), p.finish_time(1)), (28, 32));
        assert_eq!((p.work_between(12, 28), p.work_between(28, 12)), (6, 0));
        assert_eq!(p.first_difference(10, &tail), None);
        let later = Tail { steps: [(20, FULL_CPU / 2), (15, FULL_CPU), (25, 1)], ..tail };
        assert_eq!(p.first_difference(10, &later), Some(20));
        let faster = Tail { rest: FULL_CPU / 2, ..Tail::default() };
        assert_eq!(p.first_difference(30, &faster), Some(30));
        p.change(30, &faster);
        assert_eq!(p.finish_time(1), 31);
        p.advance_zero_lag(40);
        p.drop_history(40);
        assert_eq!((p.finish_time(3), p.at(40)), (46, FULL_CPU / 2));
        p.move_back(5);
        assert_eq!(p.finish_time(3), 41);
    }

    #[test]
    fn rounding_does_not_advance_zero_lag_across_a_zero_share() {
        let mut p = Promise::starting(0, 0);
        p.change(0, &Tail { steps: [(20, FULL_CPU / 2), (1000, 0), (0, 0)], rest: FULL_CPU });
        p.executed(11);
        p.absorb_rounding(20, 0);
        assert_eq!((p.zero_lag(), p.finish_time(1)), (1001, 1002));
        p.absorb_rounding(20, 1);
        assert_eq!((p.zero_lag(), p.finish_time(1)), (20, 1002));
        // The remainder is preserved: a new share from there on has to cover it.
        p.change(20, &Tail { rest: FULL_CPU / 4, ..Tail::default() });
        assert_eq!(p.finish_time(1), 28);
    }

    #[test]
    fn a_zero_share_never_finishes() {
        let p = Promise::starting(5, 5);
        assert_eq!((p.finish_time(0), p.finish_time(1)), (5, u64::MAX));
    }
}
