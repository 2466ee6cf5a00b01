//! A limit to how far deadlines run ahead of time.

use super::Servers;
use super::server::{Kind, State};

impl Servers {
    /// Before a server becomes ready at `now`: where all that is pending ran ahead of its share by
    /// more than the limit, all deadlines move back by the excess of the one least ahead.
    ///
    /// Safe when no hard job is pending. Let `z` be a server's zero-lag time: what is left of its
    /// budget is its share from `z` to its deadline. With `z >= now` after the move, every server
    /// demands no more from `now` on than a fresh one, and no hard job that comes later looks back
    /// beyond `now`, as none is pending. One amount for all keeps their order, and with it who is
    /// owed what.
    pub(super) fn limit_ahead(&mut self, now: u64) {
        let Some(limit) = self.rules.ahead else { return };
        // Looking at all servers is dear; that it is not done more often lets deadlines run a
        // little beyond the limit.
        if now < self.looked.saturating_add(limit.0 / 16) {
            return;
        }
        let latest = now.saturating_add(limit.0);
        let is_ahead = |s: u32| self.servers[s as usize].zero_lag(now) > latest;
        if !self.ready.first().is_some_and(is_ahead) {
            return;
        }
        self.looked = now;
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
        let advanced = self.advanced;
        for (s, server) in self.servers.iter_mut().enumerate() {
            if server.kind == Kind::Hard || server.state == State::Vacant {
                continue;
            }
            server.end = server.end.saturating_sub(excess);
            server.deadline = server.deadline.saturating_sub(excess);
            self.ready.rekey(s as u32, server.deadline);
            if server.state == State::Expired {
                // Its next release moves with the end of its period, or the share would be used twice.
                server.end = server.end.max(now);
                server.original = server.end;
                self.expired.rekey(s as u32, server.end.saturating_add(advanced));
            }
        }
        self.promises_move_back(now, excess);
    }
}
