//! Bandwidth changes hands.

use super::bandwidth::Bandwidth;
use super::server::{Kind, Server, State};
use super::{Load, Servers, Transition};
use crate::Share;

/// What servers that shrink leave to others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Freed {
    /// When all of it is free.
    pub settled: u64,
    /// What is free at once.
    pub spare: Share,
}

impl Servers {
    /// Makes every shared server but `except` fit its present share, which `before` was not yet.
    /// One that is not counted has none, and nothing to leave.
    pub(super) fn shrink(&mut self, now: u64, except: Option<u32>, before: &Bandwidth) -> Freed {
        let mut freed = Freed { settled: now, spare: Share::ZERO };
        for s in 0..self.servers.len() as u32 {
            let server = &self.servers[s as usize];
            if server.counted == 0 || Some(s) == except {
                continue;
            }
            match server.state {
                State::Leaving => self.wait_for_leaver(now, s, &mut freed),
                State::Vacant => {}
                _ => self.shrink_one(now, s, before, &mut freed),
            }
        }
        if self.rules.transition == Transition::ZeroLag {
            self.settled = self.settled.max(freed.settled);
            freed.settled = self.settled;
        }
        freed
    }

    /// One that has left cannot shrink: what it executed ahead has its old share until its share comes back.
    fn wait_for_leaver(&self, now: u64, s: u32, freed: &mut Freed) {
        let server = &self.servers[s as usize];
        let period = self.bandwidth.period(server.budget, server.dividing());
        if self.rules.transition == Transition::ZeroLag && period > server.period {
            freed.settled = freed.settled.max(self.returns.key(s).unwrap_or(now));
        }
    }

    fn shrink_one(&mut self, now: u64, s: u32, before: &Bandwidth, freed: &mut Freed) {
        let transition = self.rules.transition;
        let server = &mut self.servers[s as usize];
        let blocked = server.state == State::Blocked;
        if server.period == 0 || (blocked && now >= server.end) {
            // Its period is over: the next one has the new share, and nothing was used ahead.
            if now >= server.limited_until {
                let q = server.dividing();
                let (had, has) = (before.share_down(q), self.bandwidth.share_up(q));
                freed.spare = freed.spare.plus(had.minus(has));
            }
            return;
        }
        let period = self.bandwidth.period(server.budget, server.dividing());
        if period <= server.period {
            return;
        }
        if transition.waits() && !blocked {
            freed.settled = freed.settled.max(server.end);
        }
        if transition == Transition::ZeroLag {
            let from = server.zero_lag(now);
            if from > now {
                freed.settled = freed.settled.max(from);
            } else {
                // Not the rate of this period, which was rounded: later ones may have all of the share.
                let has = self.bandwidth.share_up(server.dividing());
                let leaves = server.rate().minus(has);
                freed.spare = freed.spare.plus(leaves);
                // What it leaves at once is no longer part of what it is limited to, or a weight that rises
                // again before the limit is over would take it back from the newcomer.
                server.limited_rate = server.limited_rate.minus(leaves);
            }
            stretch_from(server, now, from, period);
        } else if transition.stretches() && !blocked {
            let later = period - server.period;
            server.end = server.end.saturating_add(later);
            server.deadline = server.deadline.saturating_add(later);
            server.period = period;
            if server.state == State::Expired {
                server.original = server.original.saturating_add(later);
                let release = self.expired.key(s).map(|at| at.saturating_add(later));
                self.expired.rekey(s, release.unwrap_or(server.end));
            }
        }
        let server = &self.servers[s as usize];
        self.ready.rekey(s, server.deadline);
    }

    /// A shared server joins those that divide, with all of its weight.
    pub(super) fn count(&mut self, now: u64, s: u32) {
        let before = self.bandwidth;
        let server = &self.servers[s as usize];
        let held = self.entitled(now, server, &before);
        let more = server.weight.max(server.counted);
        self.set_counted(now, s, more);
        let freed = self.shrink(now, Some(s), &before);
        let server = &mut self.servers[s as usize];
        server.risen = now;
        match self.rules.transition {
            Transition::ZeroLag => {
                server.limited_until = freed.settled;
                // On several CPUs the greatest share matters too, so nothing is free at once.
                let spare = if self.cpus == 1 { freed.spare } else { Share::ZERO };
                server.limited_rate = held.plus(spare);
            }
            t if t.waits() && server.period == 0 => server.end = freed.settled,
            _ => {}
        }
    }

    /// The share that a server may use now.
    fn entitled(&self, now: u64, server: &Server, bandwidth: &Bandwidth) -> Share {
        if server.counted == 0 {
            Share::ZERO
        } else if now < server.limited_until {
            // Others that came since may have left it less than it was limited to.
            server.limited_rate.min(bandwidth.share_down(server.counted))
        } else if server.period > 0 && now < server.end {
            server.rate()
        } else {
            bandwidth.share_down(server.counted)
        }
    }

    /// Lowers what is counted of a server to its weight, or to nothing, when that is safe, but not
    /// before `earliest`.
    pub(super) fn uncount(&mut self, now: u64, earliest: u64, s: u32) {
        let server = &self.servers[s as usize];
        let at = match self.rules.transition {
            // While its share is limited, others have not left all of what its weight stands for; were
            // the load to fall now, they would grow into what they are still giving up.
            Transition::ZeroLag if server.state != State::Leaving => {
                server.zero_lag(now).max(server.limited_until)
            }
            Transition::ZeroLag => server.zero_lag(now),
            _ => now,
        };
        let at = at.max(earliest);
        if at > now {
            self.returns.set(s, at, 0);
        } else {
            self.settle(now, s);
        }
    }

    /// What was to come back at this time does.
    pub(super) fn settle(&mut self, now: u64, s: u32) {
        self.returns.remove(s);
        let server = &mut self.servers[s as usize];
        let asleep = server.state == State::Blocked && self.rules.load == Load::Unblocked;
        let gone = server.state == State::Leaving;
        if server.kind == Kind::Shared {
            let target = if asleep || gone { 0 } else { server.weight };
            self.set_counted(now, s, target);
        } else {
            server.held = server.declared;
            server.row = server.declared;
            let reservation = (!gone).then_some(server.declared);
            self.ledger.set(s, reservation);
            self.divide(now);
        }
        if gone {
            let server = &mut self.servers[s as usize];
            self.leaving -= u32::from(server.kind == Kind::Shared);
            server.state = State::Vacant;
            self.vacant.push(s);
        }
    }

    /// The share of a reservation that was entered in the ledger is taken from best effort;
    /// answers from when on it is free.
    pub(super) fn take(&mut self, now: u64) -> u64 {
        self.release_due(now);
        let before = self.bandwidth;
        self.divide(now);
        if self.rules.transition == Transition::ZeroLag && self.cpus == 1 && !self.is_pressed() {
            self.begin_anew(now);
            return now;
        }
        self.shrink(now, None, &before).settled
    }

    /// Whether anything that was promised is pending.
    fn is_pressed(&self) -> bool {
        self.servers.iter().any(|s| s.state == State::Ready && s.kind != Kind::Shared)
    }

    /// All shared servers have their present shares from now on, those behind theirs too: what they
    /// used ahead, or did not use, is forgotten, and the shares of those that have left are free.
    ///
    /// Safe when nothing that was promised is pending, as no later job then looks back beyond `now`:
    /// what is left of each budget is due no earlier than the present share needs from `now` on.
    fn begin_anew(&mut self, now: u64) {
        for s in 0..self.servers.len() as u32 {
            let server = &mut self.servers[s as usize];
            let there = !matches!(server.state, State::Leaving | State::Vacant);
            if !there || server.counted == 0 {
                continue;
            }
            server.limited_until = server.limited_until.min(now);
            if server.period == 0 || now >= server.end && server.state == State::Blocked {
                continue;
            }
            let period = self.bandwidth.period(server.budget, server.dividing());
            server.period = period.max(server.period);
            let needs = u128::from(server.left) * u128::from(server.period);
            let needs = needs.div_ceil(u128::from(server.budget.max(1)));
            let end = u128::from(now).saturating_add(needs).min(u128::from(u64::MAX)) as u64;
            let later = end.saturating_sub(server.end);
            server.end = server.end.saturating_add(later);
            server.deadline = server.deadline.saturating_add(later);
            let deadline = server.deadline;
            self.ready.rekey(s, deadline);
        }
        self.settled = now;
        let gone = |server: &Server| server.state == State::Leaving && server.kind == Kind::Shared;
        for s in 0..self.servers.len() as u32 {
            if self.leaving > 0 && gone(&self.servers[s as usize]) {
                self.settle(now, s);
            }
        }
        self.promises_begin_anew(now);
    }

    /// Nobody has anything to do at `now`: nothing that comes later looks back beyond it. After many tasks
    /// that came and went their shares would come back over seconds, and as long those that are there would
    /// have next to nothing each.
    pub(super) fn forget(&mut self, now: u64) {
        let waits = self.leaving > 0 || self.settled > now;
        if waits && self.rules.transition == Transition::ZeroLag {
            self.begin_anew(now);
        }
    }
}

/// From `from` on, up to which the server's share was the old one, it has the share of `period`.
/// What is left of its budget then needs so much more time.
pub(super) fn stretch_from(server: &mut Server, now: u64, from: u64, period: u64) {
    if server.end > from {
        // A zero-lag time to come was rounded up: what is left needs up to 1 ns more.
        let rest = server.end - from + u64::from(from > now);
        let rest = u128::from(rest) * u128::from(period);
        let rest = rest.div_ceil(u128::from(server.period)) as u64;
        let later = rest - (server.end - from);
        server.end = server.end.saturating_add(later);
        server.deadline = server.deadline.saturating_add(later);
    }
    server.period = period;
}
