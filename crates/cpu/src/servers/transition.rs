//! Redistribution of bandwidth between servers.

use super::bandwidth::Bandwidth;
use super::server::{Kind, Server, State};
use super::{Load, Servers, Transition};
use crate::Share;

/// The bandwidth that shrinking servers free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Freed {
    /// The time at which all of it is free.
    pub all_free_at: u64,
    /// The part that is free at once.
    pub free_now: Share,
}

impl Servers {
    /// Shrinks every shared server but `except` from its share under `before` to its present one.
    /// A server without active weight has no share to give up.
    pub(super) fn shrink(&mut self, now: u64, except: Option<u32>, before: &Bandwidth) -> Freed {
        let mut freed = Freed { all_free_at: now, free_now: Share::ZERO };
        for s in 0..self.servers.len() as u32 {
            let server = &self.servers[s as usize];
            if server.active_weight == 0 || Some(s) == except {
                continue;
            }
            match server.state {
                State::Leaving => self.wait_for_departed(now, s, &mut freed),
                State::Vacant => {}
                _ => self.shrink_server(now, s, before, &mut freed),
            }
        }
        if self.rules.transition == Transition::ZeroLag {
            self.all_free_at = self.all_free_at.max(freed.all_free_at);
            freed.all_free_at = self.all_free_at;
        }
        freed
    }

    /// A departed server cannot shrink: it keeps its old share, for what it executed ahead, until its bandwidth is
    /// reclaimed.
    fn wait_for_departed(&self, now: u64, s: u32, freed: &mut Freed) {
        let server = &self.servers[s as usize];
        let period = self.bandwidth.period(server.budget, server.share_weight());
        if self.rules.transition == Transition::ZeroLag && period > server.period {
            freed.all_free_at = freed.all_free_at.max(self.reclaim_queue.key(s).unwrap_or(now));
        }
    }

    fn shrink_server(&mut self, now: u64, s: u32, before: &Bandwidth, freed: &mut Freed) {
        let transition = self.rules.transition;
        let server = &mut self.servers[s as usize];
        let blocked = server.state == State::Blocked;
        if server.period == 0 || (blocked && now >= server.period_end) {
            // Its period is over: the next one has the new share, and it is not ahead.
            if now >= server.limited_until {
                let q = server.share_weight();
                let (had, has) = (before.share_down(q), self.bandwidth.share_up(q));
                freed.free_now = freed.free_now.plus(had.minus(has));
            }
            return;
        }
        let period = self.bandwidth.period(server.budget, server.share_weight());
        if period <= server.period {
            return;
        }
        if transition.waits() && !blocked {
            freed.all_free_at = freed.all_free_at.max(server.period_end);
        }
        if transition == Transition::ZeroLag {
            let from = server.zero_lag(now);
            if from > now {
                freed.all_free_at = freed.all_free_at.max(from);
            } else {
                // The rate of this period was rounded; later periods may use the whole share.
                let has = self.bandwidth.share_up(server.share_weight());
                let leaves = server.rate().minus(has);
                freed.free_now = freed.free_now.plus(leaves);
                // The bandwidth that it frees at once no longer belongs to its limited rate; otherwise a weight
                // that rises again before the limit ends would take it back from the new server.
                server.limited_rate = server.limited_rate.minus(leaves);
            }
            stretch_from(server, now, from, period);
        } else if transition.stretches() && !blocked {
            let later = period - server.period;
            server.period_end = server.period_end.saturating_add(later);
            server.deadline = server.deadline.saturating_add(later);
            server.period = period;
            if server.state == State::Expired {
                server.nominal_release = server.nominal_release.saturating_add(later);
                let release = self.expired.key(s).map(|at| at.saturating_add(later));
                self.expired.rekey(s, release.unwrap_or(server.period_end));
            }
        }
        let server = &self.servers[s as usize];
        self.ready.rekey(s, server.deadline);
    }

    /// Adds the whole weight of a shared server to the total weight.
    pub(super) fn activate_weight(&mut self, now: u64, s: u32) {
        let before = self.bandwidth;
        let server = &self.servers[s as usize];
        let previous = self.current_share(now, server, &before);
        let more = server.weight.max(server.active_weight);
        self.set_active_weight(now, s, more);
        let freed = self.shrink(now, Some(s), &before);
        let server = &mut self.servers[s as usize];
        server.last_rise = now;
        match self.rules.transition {
            Transition::ZeroLag => {
                server.limited_until = freed.all_free_at;
                // On several CPUs the test also depends on the greatest share, so nothing is free at once.
                let free_now = if self.cpus == 1 { freed.free_now } else { Share::ZERO };
                server.limited_rate = previous.plus(free_now);
            }
            t if t.waits() && server.period == 0 => server.period_end = freed.all_free_at,
            _ => {}
        }
    }

    /// The share that a server may use at `now`.
    fn current_share(&self, now: u64, server: &Server, bandwidth: &Bandwidth) -> Share {
        if server.active_weight == 0 {
            Share::ZERO
        } else if now < server.limited_until {
            // Servers that joined since may have left it less than its limit.
            server.limited_rate.min(bandwidth.share_down(server.active_weight))
        } else if server.period > 0 && now < server.period_end {
            server.rate()
        } else {
            bandwidth.share_down(server.active_weight)
        }
    }

    /// Lowers the active weight of a server to its weight, or to zero, as soon as that is safe, but
    /// not before `earliest`.
    pub(super) fn deactivate_weight(&mut self, now: u64, earliest: u64, s: u32) {
        let server = &self.servers[s as usize];
        let at = match self.rules.transition {
            // While its share is limited, other servers still hold a part of it; if the total weight
            // fell now, they would grow into bandwidth that they are still giving up.
            Transition::ZeroLag if server.state != State::Leaving => {
                server.zero_lag(now).max(server.limited_until)
            }
            Transition::ZeroLag => server.zero_lag(now),
            _ => now,
        };
        let at = at.max(earliest);
        if at > now {
            self.reclaim_queue.set(s, at, 0);
        } else {
            self.reclaim(now, s);
        }
    }

    /// Reclaims the bandwidth of a server whose reclaim time has come.
    pub(super) fn reclaim(&mut self, now: u64, s: u32) {
        self.reclaim_queue.remove(s);
        let server = &mut self.servers[s as usize];
        let asleep = server.state == State::Blocked && self.rules.load == Load::Unblocked;
        let gone = server.state == State::Leaving;
        if server.kind == Kind::Shared {
            let target = if asleep || gone { 0 } else { server.weight };
            self.set_active_weight(now, s, target);
        } else {
            server.previous = server.declared;
            server.ledger_row = server.declared;
            let reservation = (!gone).then_some(server.declared);
            self.ledger.set(s, reservation);
            self.update_best_effort_bw(now);
        }
        if gone {
            let server = &mut self.servers[s as usize];
            self.leaving -= u32::from(server.kind == Kind::Shared);
            server.state = State::Vacant;
            self.free_slots.push(s);
        }
    }

    /// Takes the share of a reservation in the ledger from best effort; returns the time from which
    /// it is free.
    pub(super) fn take_from_best_effort(&mut self, now: u64) -> u64 {
        self.release_due(now);
        let before = self.bandwidth;
        self.update_best_effort_bw(now);
        if self.rules.transition == Transition::ZeroLag
            && self.cpus == 1
            && !self.has_pending_reservation()
        {
            self.reset_lag(now);
            return now;
        }
        self.shrink(now, None, &before).all_free_at
    }

    /// Whether a job of a reservation is pending.
    fn has_pending_reservation(&self) -> bool {
        self.servers.iter().any(|s| s.state == State::Ready && s.kind != Kind::Shared)
    }

    /// Resets the lag of all shared servers, ahead or behind, so that they have their present shares
    /// from `now` on, and reclaims the shares of departed servers.
    ///
    /// Safe while no reserved job is pending, as the busy interval of a later job then starts no
    /// earlier than `now`: each remaining budget is due no earlier than the present share needs from
    /// `now` on.
    pub(super) fn reset_lag(&mut self, now: u64) {
        for s in 0..self.servers.len() as u32 {
            let server = &mut self.servers[s as usize];
            let there = !matches!(server.state, State::Leaving | State::Vacant);
            if !there || server.active_weight == 0 {
                continue;
            }
            server.limited_until = server.limited_until.min(now);
            if server.period == 0 || now >= server.period_end && server.state == State::Blocked {
                continue;
            }
            let period = self.bandwidth.period(server.budget, server.share_weight());
            server.period = period.max(server.period);
            let needs = u128::from(server.remaining_budget) * u128::from(server.period);
            let needs = needs.div_ceil(u128::from(server.budget.max(1)));
            let end = u128::from(now).saturating_add(needs).min(u128::from(u64::MAX)) as u64;
            let later = end.saturating_sub(server.period_end);
            server.period_end = server.period_end.saturating_add(later);
            server.deadline = server.deadline.saturating_add(later);
            let deadline = server.deadline;
            self.ready.rekey(s, deadline);
        }
        self.all_free_at = now;
        let gone = |server: &Server| server.state == State::Leaving && server.kind == Kind::Shared;
        for s in 0..self.servers.len() as u32 {
            if self.leaving > 0 && gone(&self.servers[s as usize]) {
                self.reclaim(now, s);
            }
        }
        self.resets.0 += 1;
        self.promises_reset_lag(now);
    }

    /// Resets lag when the CPU is idle at `now`, where it is safe: nothing is pending. Otherwise the shares of
    /// many departed tasks would be reclaimed over seconds, and until then the present tasks would have almost
    /// no bandwidth.
    pub(super) fn reset_lag_on_idle(&mut self, now: u64) {
        let waits = self.leaving > 0 || self.all_free_at > now;
        if waits && self.rules.transition == Transition::ZeroLag {
            self.reset_lag(now);
        }
    }
}

/// Gives a server the share of `period` from `from` on, and its old share before. Its remaining
/// budget then lasts longer, and the period's end and the deadline move accordingly.
pub(super) fn stretch_from(server: &mut Server, now: u64, from: u64, period: u64) {
    if server.period_end > from {
        // A future zero-lag time was rounded up: the remaining budget needs up to 1 ns more.
        let rest = server.period_end - from + u64::from(from > now);
        let rest = u128::from(rest) * u128::from(period);
        let rest = rest.div_ceil(u128::from(server.period)) as u64;
        let later = rest - (server.period_end - from);
        server.period_end = server.period_end.saturating_add(later);
        server.deadline = server.deadline.saturating_add(later);
    }
    server.period = period;
}
