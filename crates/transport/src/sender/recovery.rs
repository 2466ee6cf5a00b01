//! Congestion events: fast recovery (RFC 6675, RFC 8985), marks (RFC 3168), timeouts (RFC 6298), and
//! their reversal when they were for nothing (RFC 3522, RFC 4015).

use laxity_core::Time;

use super::{Phase, Prr, Sender, Undo};
use crate::congestion::Signal;

impl Sender {
    pub(super) fn is_recovering(&self) -> bool {
        matches!(self.phase, Phase::Recovery | Phase::Loss)
    }

    /// Finds losses, and starts a recovery at the first. Returns how many were found.
    pub(super) fn detect_losses(&mut self, now: Time) -> u32 {
        let (min, smoothed) = (self.rtt.min(), self.rtt.smoothed().unwrap_or_default());
        let recovering = self.is_recovering();
        let search = self.rack.detect(now, &mut self.board, recovering, min, smoothed);
        self.timers.reordering = search.next;
        if search.lost > 0 && !recovering {
            // A reduction by marks that is going on serves for these losses too.
            if self.phase == Phase::Open {
                self.reduce(Signal::Loss);
            }
            self.phase = Phase::Recovery;
            self.recovery_point = self.next;
            self.probe = None;
            self.timers.probe = None;
        }
        search.lost
    }

    /// Marks reduce the window once a round trip.
    pub(super) fn handle_marks(&mut self) {
        self.reduce(Signal::Ecn);
        self.phase = Phase::Reduced;
        self.recovery_point = self.next;
    }

    /// Sets `ssthresh` and begins the reduction to it.
    pub(super) fn reduce(&mut self, signal: Signal) {
        let (cwnd, ssthresh) = (self.window.cwnd, self.window.ssthresh);
        self.undo = (signal != Signal::Ecn).then_some(Undo { cwnd, ssthresh, resent: None });
        self.window.ssthresh = self.congestion.reduce(&self.window, signal);
        self.window.credit = 0;
        self.prr = Prr::new(cwnd);
        self.must_send_cwr = true;
        self.counters.reductions += 1;
    }

    /// Moves the window towards `ssthresh` during a reduction.
    pub(super) fn reduce_in_proportion(&mut self, delivered: u32, progress: bool) {
        let reduces = matches!(self.phase, Phase::Reduced | Phase::Recovery);
        if reduces && !self.congestion.owns_window() {
            let (pipe, ssthresh) = (self.board.in_flight(), self.window.ssthresh);
            self.window.cwnd = self.prr.window(delivered, pipe, ssthresh, progress);
        }
    }

    /// The retransmission timer expired: slow start from what is in flight (RFC 6298 section 5.4 to
    /// 5.6, RFC 8985 section 6.3). The threshold falls once for all timeouts without progress (RFC
    /// 5681 section 3.1).
    pub(super) fn time_out(&mut self, now: Time) {
        if self.board.is_empty() {
            self.timers.retransmission = None;
            return;
        }
        self.counters.timeouts += 1;
        if self.phase == Phase::Open || self.phase == Phase::Loss && self.progress {
            self.reduce(Signal::Timeout);
        }
        let (min, smoothed) = (self.rtt.min(), self.rtt.smoothed().unwrap_or_default());
        let rack = self.rack;
        self.board.mark_lost_on_timeout(|s| rack.is_lost_on_timeout(now, s, min, smoothed));
        self.phase = Phase::Loss;
        self.recovery_point = self.next;
        self.progress = false;
        self.probe = None;
        self.must_probe = false;
        self.timers.probe = None;
        self.timers.reordering = None;
        self.window.cwnd = self.board.in_flight() + 1;
        self.window.credit = 0;
        self.rtt.back_off();
        self.timers.retransmission = Some(now + self.rtt.timeout(&self.config));
    }

    /// Ends the phase when all that was sent at its start has arrived.
    pub(super) fn end_phase(&mut self) {
        if self.phase == Phase::Open || self.una < self.recovery_point {
            return;
        }
        if self.is_recovering() {
            self.rack.recovered();
        }
        if self.phase != Phase::Loss && !self.congestion.owns_window() {
            self.window.cwnd = self.window.ssthresh;
        }
        self.phase = Phase::Open;
        self.undo = None;
    }

    /// The acknowledgement of the first segment echoes a timestamp from before its retransmission:
    /// the original had arrived (RFC 3522 section 3.2).
    pub(super) fn undo_spurious(&mut self, echo: Option<Time>) {
        let Some(Undo { cwnd, ssthresh, resent: Some(resent) }) = self.undo else { return };
        if echo.is_none_or(|echo| echo >= resent) {
            // The retransmission was needed, for one segment at least.
            self.undo = None;
            return;
        }
        self.board.unmark_lost();
        self.window.cwnd = self.window.cwnd.max(cwnd);
        self.window.ssthresh = ssthresh;
        self.congestion.undo();
        self.phase = Phase::Open;
        self.undo = None;
        self.counters.undone += 1;
    }
}
