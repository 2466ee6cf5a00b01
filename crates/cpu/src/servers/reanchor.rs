//! The limit to how far deadlines run ahead of time.

use super::Servers;
use super::server::{Kind, State};

impl Servers {
    /// Called before a server becomes ready at `now`: if every pending server is ahead of its share
    /// by more than the limit, moves all deadlines back by the excess of the server least ahead.
    ///
    /// Safe while no hard job is pending. Let `z` be a server's zero-lag time: its remaining budget
    /// is its share from `z` to its deadline. With `z >= now` after the move, no server demands more
    /// from `now` on than one released at `now`, and the busy interval of a later hard job starts no
    /// earlier than `now`, as none is pending. Moving all by the same amount preserves their order
    /// and relative lag.
    pub(super) fn limit_ahead(&mut self, now: u64) {
        let Some(limit) = self.rules.ahead else { return };
        // Checking all servers is expensive, so it is done at most 16 times within the limit;
        // deadlines may exceed the limit by a sixteenth meanwhile.
        if now < self.ahead_checked_at.saturating_add(limit.0 / 16) {
            return;
        }
        let latest = now.saturating_add(limit.0);
        let is_ahead = |s: u32| self.servers[s as usize].zero_lag(now) > latest;
        if !self.ready.first().is_some_and(is_ahead) {
            return;
        }
        self.ahead_checked_at = now;
        let mut excess = u64::MAX;
        for server in self.servers.iter().filter(|s| s.state == State::Ready) {
            if server.kind == Kind::Hard {
                return;
            }
            excess = excess.min(server.zero_lag(now).saturating_sub(latest));
        }
        if excess == 0 {
            return;
        }
        let slack_advance = self.slack_advance;
        for (s, server) in self.servers.iter_mut().enumerate() {
            if server.kind == Kind::Hard || server.state == State::Vacant {
                continue;
            }
            server.period_end = server.period_end.saturating_sub(excess);
            server.deadline = server.deadline.saturating_sub(excess);
            self.ready.rekey(s as u32, server.deadline);
            if server.state == State::Expired {
                // Its next release moves with its period's end, or the share would be used twice.
                server.period_end = server.period_end.max(now);
                server.nominal_release = server.period_end;
                self.expired.rekey(s as u32, server.period_end.saturating_add(slack_advance));
            }
        }
        self.resets.0 += 1;
        self.promises_move_back(now, excess);
    }
}
