//! Reservations precede best effort while a higher scheduling class leaves only a part of the CPU.

use laxity_core::Time;

use super::Servers;
use super::server::Kind;
use crate::Pick;

impl Servers {
    /// Picks the ready reservation with the earliest deadline; `None` where none is ready.
    ///
    /// All shares together are the whole CPU. Where a higher class takes a part of it they are an overload, in which
    /// earliest deadlines first isolate nobody: best effort may have the nearer deadlines again and again. With this
    /// order reservations need no more than their own shares.
    ///
    /// Among reservations the order is that of deadlines, and what they may execute is bounded by their budgets. So
    /// while this order is kept, best effort can delay none of them, and no deadline is missed that would be kept
    /// without best effort. But best effort that was passed over is behind its share, and earliest deadlines first
    /// would let it catch up at the cost of later jobs: a hard job could be late although the higher class took
    /// nothing. So the order stays until no reservation is ready. The busy interval of any later job starts no earlier
    /// than that instant, and from there on best effort has its present share, without what it is behind
    /// (`reset_lag`).
    pub(super) fn pick_reserved(&mut self, now: Time) -> Option<Pick> {
        if self.cpus > 1 {
            return None;
        }
        let first = self.ready.first();
        let servers = &self.servers;
        let reserved = |s: u32| servers[s as usize].kind != Kind::Shared;
        let Some((before, s)) = self.ready.pick_of(reserved) else {
            if core::mem::take(&mut self.passed_over) {
                self.reset_lag(now.0);
            }
            return None;
        };
        self.passed_over |= first.is_some_and(|first| !reserved(first));
        Some(self.begin_turn(now, before, s, None))
    }
}
