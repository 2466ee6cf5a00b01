//! The promise that a server's state makes, for the assertions and for records.

use laxity_core::{Span, Time};

use super::super::Servers;
use super::super::bandwidth::Bandwidth;
use super::super::server::{Kind, State};
use crate::{Reservation, ServerId, ServerView, Share};

/// A share of one CPU in units of 2^-56.
pub(super) type FineShare = u128;

/// All of one CPU.
#[cfg(debug_assertions)]
pub(super) const FULL_CPU: FineShare = 1 << 56;

/// A promise from some instant on: steps, some of which may be in the past, and the share after them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tail {
    pub steps: [(u64, FineShare); 3],
    pub rest: FineShare,
}

#[cfg(debug_assertions)]
impl Tail {
    pub(super) fn at(&self, t: u64) -> FineShare {
        self.steps.iter().find(|(until, _)| *until > t).map_or(self.rest, |(_, share)| *share)
    }
}

fn reserved(r: Reservation) -> FineShare {
    (u128::from(r.budget.0) << 56).div_ceil(u128::from(r.deadline.0.max(1)))
}

impl Servers {
    /// The promise that follows from a server's state, and the instant from which it does: the share of its
    /// period until its end, then its limited rate, then its present share. Before that instant the first step of
    /// a shared server is nothing.
    pub(super) fn stated_promise(&self, now: u64, s: u32) -> (u64, Tail) {
        let server = &self.servers[s as usize];
        if matches!(server.state, State::Leaving | State::Vacant) {
            return (self.reclaim_queue.key(s).unwrap_or(now).max(now), Tail::default());
        }
        if server.kind != Kind::Shared {
            let rest = reserved(server.declared);
            let previous = (server.limited_until, reserved(server.previous));
            if server.period == 0 {
                return (
                    server.period_end.max(now),
                    Tail { steps: [(0, 0), (0, 0), previous], rest },
                );
            }
            let rate = (u128::from(server.budget) << 56).div_ceil(server.period.into());
            let rate = if server.is_constrained() { rest } else { rate };
            let tail = Tail { steps: [(0, 0), (server.period_end, rate), previous], rest };
            return (server.zero_lag(now), tail);
        }
        let from = match server.state {
            State::Expired => self.release_of(s).unwrap_or(now).max(now),
            _ if server.period == 0 => now,
            _ => server.zero_lag(now),
        };
        if server.active_weight == 0 {
            return (from, Tail::default());
        }
        let rate = (u128::from(server.budget) << 56) / u128::from(server.period.max(1));
        let period = match server.state {
            State::Expired => (0, 0),
            _ => (server.period_end, rate),
        };
        // Blocked under `Load::Unblocked`, it has the share of its active weight until it wakes.
        let weight = u128::from(server.share_weight());
        let share = (u128::from(self.divided().0) << 16) * weight
            / u128::from(self.bandwidth.total_weight().max(1));
        let limit = u128::from(server.limited_rate.0) << 16;
        let limited = (server.limited_until, share.min(limit));
        (from, Tail { steps: [(from, 0), period, limited], rest: share })
    }

    /// The bandwidth that shared servers divide, at least the minimum for which periods are computed.
    pub(super) fn divided(&self) -> Share {
        self.best_effort().max(Bandwidth::MIN)
    }

    /// The release of an expired server.
    pub(super) fn release_of(&self, s: u32) -> Option<u64> {
        let expired = self.expired.key(s).map(|at| at - self.slack_advance);
        expired.or_else(|| self.suspended.key(s))
    }

    /// A server at `now`, for records.
    pub(in super::super) fn view(&self, now: u64, s: u32) -> ServerView {
        let server = &self.servers[s as usize];
        let (from, tail) = self.stated_promise(now, s);
        let narrow = |share: FineShare| u64::try_from(share).unwrap_or(u64::MAX);
        let [_, first, second] = tail.steps.map(|(until, share)| (Time(until), narrow(share)));
        ServerView {
            id: ServerId { cluster: 0, slot: s },
            serial: server.serial.0,
            state: server.state,
            kind: server.kind,
            constrained: server.is_constrained(),
            replenished: server.replenished.0,
            remaining: Span(server.remaining_budget),
            deadline: Time(server.deadline),
            release: self.release_of(s).map(Time),
            from: Time(from),
            steps: [first, second],
            rest: narrow(tail.rest),
        }
    }
}
