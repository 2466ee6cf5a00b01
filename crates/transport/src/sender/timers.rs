//! The retransmission timer (RFC 6298 section 5), the probe timer and the reordering timer (RFC 8985).

use laxity_core::{Span, Time};

use super::{Phase, Sender};

/// How long a receiver may delay the acknowledgement of a single segment, as Linux assumes.
const MAX_ACK_DELAY: Span = Span::from_millis(200);

/// The probe timeout before the first round trip is measured.
const FIRST_PROBE: Span = Span::from_millis(1000);

/// When each timer expires. RFC 8985 section 8 keeps one timer; here the earliest counts, and the
/// probe timer never exceeds the retransmission timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timers {
    pub retransmission: Option<Time>,
    pub probe: Option<Time>,
    pub reordering: Option<Time>,
}

impl Timers {
    pub fn next(&self) -> Option<Time> {
        Time::first(Time::first(self.retransmission, self.probe), self.reordering)
    }
}

impl Sender {
    pub fn poll_timeout(&self) -> Option<Time> {
        let next = self.timers.next();
        match self.pacing.filter(|_| self.has_room()) {
            Some(pacing) => Some(next.map_or(pacing.next(), |next| next.min(pacing.next()))),
            None => next,
        }
    }

    /// Whether only pacing may hold a segment back.
    fn has_room(&self) -> bool {
        let waits = self.board.has_lost() || self.can_send_new();
        waits && self.board.in_flight() < self.window.cwnd
    }

    pub fn handle_timeout(&mut self, now: Time) {
        let due = |timer: Option<Time>| timer.is_some_and(|at| at <= now);
        if due(self.timers.reordering) {
            let lost = self.detect_losses(now);
            // The arrival for which the timer was set counts here, as in Linux.
            self.reduce_in_proportion(1, lost == 0);
        }
        if due(self.timers.probe) {
            self.timers.probe = None;
            self.must_probe = true;
            self.timers.retransmission = Some(now + self.rtt.timeout(&self.config));
        }
        if due(self.timers.retransmission) {
            self.time_out(now);
        }
    }

    /// Data was acknowledged: the rest has a whole timeout (5.2, 5.3).
    pub(super) fn restart_retransmission(&mut self, now: Time) {
        let outstanding = !self.board.is_empty();
        self.timers.retransmission = outstanding.then(|| now + self.rtt.timeout(&self.config));
    }

    /// Schedules a probe unless losses are being dealt with or one is out (RFC 8985 section 7.2).
    pub(super) fn arm_probe(&mut self, now: Time) {
        let open = matches!(self.phase, Phase::Open | Phase::Reduced);
        if !open || self.board.is_empty() || self.board.sacked() > 0 || self.probe.is_some() {
            self.timers.probe = None;
            return;
        }
        let mut wait = self.rtt.smoothed().map_or(FIRST_PROBE, |srtt| Span(2 * srtt.0));
        if self.board.outstanding() == 1 {
            wait = wait + MAX_ACK_DELAY;
        }
        let at = now + wait;
        self.timers.probe = Some(self.timers.retransmission.map_or(at, |limit| at.min(limit)));
    }
}
