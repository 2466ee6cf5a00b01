//! The share that a server has at each instant, as a record states it, and how far it is used up.

/// A share in units of 2^-56 of a CPU.
pub(super) type Share = u128;

/// All of one CPU.
pub(super) const CPU: Share = 1 << 56;

/// Work in ns by which whole budgets and fractions of shares may differ.
pub(super) const WORK: u64 = 8;

/// Instants in ns that rounding may move.
pub(super) const INSTANT: u64 = 8;

fn work(span: u64) -> u128 {
    u128::from(span) << 56
}

/// A statement of a record: from an instant on, shares up to the ends of steps, and the share after them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stated {
    pub from: u64,
    pub steps: [(u64, Share); 3],
    pub rest: Share,
}

impl Stated {
    fn at(&self, t: u64) -> Share {
        self.steps.iter().find(|(until, _)| *until > t).map_or(self.rest, |(_, share)| *share)
    }
}

/// A share at each instant, and the instant up to which execution has used it up.
#[derive(Clone, Debug, Default)]
pub(super) struct Promise {
    /// Ends of steps and their shares, in order of time.
    steps: Vec<(u64, Share)>,
    rest: Share,
    zero_lag: u64,
    /// What was executed beyond `zero_lag`, less than a nanosecond of the share.
    remainder: u128,
}

impl Promise {
    /// Nothing, and nothing used up.
    pub(super) fn new(now: u64) -> Promise {
        Promise { zero_lag: now, ..Promise::default() }
    }

    pub(super) fn zero_lag(&self) -> u64 {
        self.zero_lag
    }

    fn step(&self, t: u64) -> usize {
        self.steps.partition_point(|(until, _)| *until <= t)
    }

    fn at(&self, t: u64) -> Share {
        self.steps.get(self.step(t)).map_or(self.rest, |(_, share)| *share)
    }

    /// Moves the steps that ended by `now`, and are used up, to `past`.
    pub(super) fn retire(&mut self, now: u64, past: &mut Vec<(u64, Share)>) {
        let ended = self.step(now.min(self.zero_lag));
        past.extend(self.steps.drain(..ended));
    }

    /// All steps from now on, and the share after them.
    pub(super) fn steps(&self) -> (&[(u64, Share)], Share) {
        (&self.steps, self.rest)
    }

    /// A server that becomes ready at `t` has lost what it did not use before.
    pub(super) fn advance(&mut self, t: u64) {
        if t > self.zero_lag {
            (self.zero_lag, self.remainder) = (t, 0);
        }
    }

    pub(super) fn executed(&mut self, ran: u64) {
        (self.zero_lag, self.remainder) = self.reach(work(ran));
    }

    /// The instant by which the promise amounts to `left` more than is used up.
    pub(super) fn finish(&self, left: u64) -> u64 {
        let (t, remainder) = self.reach(work(left));
        t.saturating_add(u64::from(remainder > 0))
    }

    fn reach(&self, more: u128) -> (u64, u128) {
        let (mut t, mut need) = (self.zero_lag, self.remainder + more);
        for (until, share) in self.steps[self.step(t)..].iter().copied() {
            let room = u128::from(until - t) * share;
            if need < room {
                let steps = u64::try_from(need / share).unwrap_or(u64::MAX);
                return (t.saturating_add(steps), need % share);
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

    /// What the promise amounts to from one instant to another.
    fn between(&self, from: u64, until: u64) -> u128 {
        let (mut t, mut sum) = (from, 0u128);
        let last = std::iter::once((u64::MAX, self.rest));
        for (end, share) in self.steps[self.step(from)..].iter().copied().chain(last) {
            let end = end.min(until);
            if end > t {
                sum = sum.saturating_add(u128::from(end - t).saturating_mul(share));
                t = end;
            }
        }
        sum
    }

    /// Whether more than a rounding error was executed beyond what the promise amounts to by `t`.
    pub(super) fn is_ahead_of(&self, t: u64) -> bool {
        self.between(t, self.zero_lag) > work(WORK)
    }

    /// Moves the zero-lag time to the one stated if no more than a rounding error is between them: where the share
    /// is zero for a while, a nanosecond would move it across all of it.
    pub(super) fn absorb(&mut self, stated: u64) {
        if stated < self.zero_lag {
            let excess = self.between(stated, self.zero_lag).saturating_add(self.remainder);
            if excess <= work(WORK) {
                (self.zero_lag, self.remainder) = (stated, excess);
            }
        }
    }

    /// The time that a rounding error of work takes at the least share around the zero-lag time.
    pub(super) fn tolerance(&self) -> u64 {
        let around = [self.at(self.zero_lag.saturating_sub(1)), self.at(self.zero_lag), self.rest];
        let least = around.into_iter().filter(|share| *share > 0).min().unwrap_or(CPU);
        INSTANT.saturating_add(u64::try_from(work(WORK) / least).unwrap_or(u64::MAX))
    }

    /// The first instant at which the promise is not as stated.
    pub(super) fn first_difference(&self, stated: &Stated) -> Option<u64> {
        let mut rest = &self.steps[self.step(stated.from)..];
        let mut t = stated.from;
        loop {
            let (until, share) = rest.first().map_or((u64::MAX, self.rest), |step| *step);
            if share != stated.at(t) {
                return Some(t);
            }
            let ends = stated.steps.iter().map(|(until, _)| *until).filter(|until| *until > t);
            t = ends.fold(until, u64::min);
            if t == u64::MAX {
                return None;
            }
            if until <= t {
                rest = &rest[1..];
            }
        }
    }

    /// Takes over what is stated.
    pub(super) fn change(&mut self, stated: &Stated) {
        self.keep_until(stated.from);
        self.extend(stated);
    }

    /// Takes over what is stated, with nothing used up from then on; the share is zero between `now` and that.
    pub(super) fn reset(&mut self, now: u64, stated: &Stated) {
        self.keep_until(now);
        if stated.from > now {
            self.steps.push((stated.from, 0));
        }
        self.extend(stated);
        (self.zero_lag, self.remainder) = (stated.from, 0);
    }

    /// Forgets what was executed ahead of `now`: the share is zero until the zero-lag time.
    pub(super) fn forgive(&mut self, now: u64) {
        if self.zero_lag <= now {
            return;
        }
        let later = self.steps[self.step(self.zero_lag)..].to_vec();
        self.keep_until(now);
        self.steps.push((self.zero_lag, 0));
        self.steps.extend(later);
    }

    fn keep_until(&mut self, from: u64) {
        let before = self.at(from.saturating_sub(1));
        self.steps.truncate(self.steps.partition_point(|(until, _)| *until < from));
        self.steps.push((from, before));
    }

    fn extend(&mut self, stated: &Stated) {
        let mut last = stated.from;
        for (until, share) in stated.steps {
            if until > last {
                self.steps.push((until, share));
                last = until;
            }
        }
        self.rest = stated.rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(from: u64, until: u64) -> Stated {
        Stated { from, steps: [(0, 0), (until, CPU / 2), (0, 0)], rest: CPU / 4 }
    }

    // Fails when execution is not charged to the share in force, or a change reaches what is used up.
    #[test]
    fn execution_uses_the_promise_up() {
        let mut promise = Promise::new(10);
        promise.change(&half(10, 30));
        promise.executed(5);
        assert_eq!((promise.zero_lag(), promise.finish(5)), (20, 30));
        assert_eq!(promise.finish(6), 34);
        assert_eq!(promise.first_difference(&half(20, 30)), None);
        assert_eq!(promise.first_difference(&half(20, 25)), Some(25));
        promise.change(&Stated { from: 20, steps: [(0, 0); 3], rest: CPU });
        assert_eq!(promise.finish(5), 25);
        promise.reset(22, &Stated { from: 24, steps: [(0, 0); 3], rest: CPU });
        assert_eq!(promise.finish(1), 25);
        let mut past = Vec::new();
        promise.retire(24, &mut past);
        assert_eq!(past, [(10, 0), (20, CPU / 2), (22, CPU), (24, 0)]);
    }

    // Fails when what is promised after the zero-lag time is forgotten too.
    #[test]
    fn execution_ahead_is_forgiven() {
        let mut promise = Promise::new(0);
        promise.change(&half(0, 30));
        promise.executed(10);
        promise.forgive(12);
        assert_eq!(
            promise.steps(),
            (&[(0, 0), (12, CPU / 2), (20, 0), (30, CPU / 2)][..], CPU / 4)
        );
        assert_eq!(promise.finish(5), 30);
    }

    // Fails when a nanosecond executed beyond a step moves the zero-lag time across a share of nothing.
    #[test]
    fn rounding_does_not_cross_a_pause() {
        let mut promise = Promise::new(0);
        promise.change(&Stated { from: 0, steps: [(20, CPU / 2), (9000, 0), (0, 0)], rest: CPU });
        promise.executed(11);
        assert_eq!(promise.zero_lag(), 9001);
        promise.absorb(20);
        assert_eq!(promise.zero_lag(), 20);
        assert!(!promise.is_ahead_of(20));
        promise.executed(20);
        assert!(promise.is_ahead_of(20));
    }
}
