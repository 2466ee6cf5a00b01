//! Processing of acknowledgements.

use laxity_core::{Span, Time};

use super::{Phase, Sender};
use crate::Segment;
use crate::congestion::{Ack, Signal};

/// Segments that an acknowledgement newly reports as received.
#[derive(Clone, Copy, Debug, Default)]
struct Delivered {
    count: u32,
    /// When the first and the last were sent, of those sent once.
    first: Option<Time>,
    last: Option<Time>,
}

impl Sender {
    /// A segment of an open connection arrived, with its acknowledgement.
    pub fn handle_ack(&mut self, now: Time, segment: &Segment) {
        if segment.ack > self.next {
            return;
        }
        self.extend_window(segment.ack + segment.window);
        let delivered = self.mark_delivered(now, segment);
        let advanced = segment.ack > self.una;
        self.una = self.una.max(segment.ack);
        let rtt = self.sample_rtt(now, segment, delivered, advanced);
        self.rack.adapt(self.una, self.next, &segment.sack);
        let marked = segment.ce_received.saturating_sub(self.ce_seen) as u32;
        self.ce_seen = self.ce_seen.max(segment.ce_received);
        self.handle_probe_ack(segment, advanced);
        if advanced {
            self.progress = true;
            self.undo_spurious(segment.echo);
            self.restart_retransmission(now);
        } else if self.precedes_oldest(delivered) {
            // As Linux: the answer to the oldest segment cannot come before those to segments sent earlier, so
            // in a queue that has grown its timeout begins with them.
            self.restart_retransmission(now);
        }
        self.end_phase();
        let lost = self.detect_losses(now);

        let ack = Ack {
            now,
            delivered: delivered.count,
            marked,
            rtt,
            min_rtt: self.rtt.min(),
            una: self.una,
            next: self.next,
            lost,
            in_flight: self.board.in_flight(),
            rate: self.rate.sample(),
        };
        self.congestion.observe(&mut self.window, &ack);
        if self.phase == Phase::Open && self.is_marked(segment, marked) {
            self.handle_marks();
        }
        self.adjust_window(&ack, advanced, lost);
        if delivered.count > 0 {
            self.arm_probe(now);
        }
    }

    /// Whether marks call for a reduction. The receiver echoes a mark until it learns of the reduction from
    /// the first new segment after it, so echoes of data before that are of the same event.
    fn is_marked(&self, segment: &Segment, marked: u32) -> bool {
        if self.congestion.scalable().is_some() {
            return marked > 0;
        }
        let first = self.recovery_point == 0;
        segment.ece && self.config.ecn && (first || self.una > self.recovery_point)
    }

    /// Whether a segment was delivered that was sent once, and before the oldest one was last sent.
    fn precedes_oldest(&self, delivered: Delivered) -> bool {
        let oldest = self.board.first_sent();
        delivered.first.zip(oldest).is_some_and(|(delivered, oldest)| delivered < oldest)
    }

    fn mark_delivered(&mut self, now: Time, segment: &Segment) -> Delivered {
        let mut delivered = Delivered::default();
        let (rack, rate, min) = (&mut self.rack, &mut self.rate, self.rtt.min());
        let mut newly = |sent: &super::scoreboard::Sent| {
            delivered.count += 1;
            rack.deliver(now, sent, min);
            rate.deliver(now, sent);
            if !sent.retransmitted {
                let at = sent.sent;
                delivered.first = Some(delivered.first.map_or(at, |first| first.min(at)));
                delivered.last = Some(delivered.last.map_or(at, |last| last.max(at)));
            }
        };
        self.board.acknowledge(segment.ack, &mut newly);
        self.board.sack(&segment.sack, &mut newly);
        delivered
    }

    /// Measures round trips by segments sent once (Karn's rule), else by the timestamp (RFC 7323).
    /// Returns that of the last segment, which no delayed acknowledgement lengthens.
    fn sample_rtt(
        &mut self,
        now: Time,
        segment: &Segment,
        delivered: Delivered,
        advanced: bool,
    ) -> Option<Span> {
        if let (Some(first), Some(last)) = (delivered.first, delivered.last) {
            self.rtt.sample(now.since(first));
            let rtt = now.since(last);
            self.rtt.sample_min(rtt);
            return Some(rtt);
        }
        if let Some(echo) = segment.echo.filter(|_| advanced) {
            self.rtt.sample(now.since(echo));
        }
        None
    }

    /// RFC 8985 section 7.4: what became of the probe.
    fn handle_probe_ack(&mut self, segment: &Segment, advanced: bool) {
        let Some(probe) = self.probe.filter(|probe| segment.ack >= probe.end) else { return };
        let spurious = segment.sack.duplicate().is_some_and(|d| d.end == probe.end);
        if !probe.retransmission || spurious {
            self.probe = None;
        } else if segment.ack > probe.end {
            // The probe repaired a loss, which reduces the window as any other.
            self.probe = None;
            if self.phase == Phase::Open {
                self.reduce(Signal::Loss);
                if !self.congestion.owns_window() {
                    self.window.cwnd = self.window.ssthresh;
                }
                self.undo = None;
            }
        } else if !advanced && segment.len == 0 && segment.sack.is_empty() {
            self.probe = None;
        }
    }

    fn adjust_window(&mut self, ack: &Ack, advanced: bool, lost: u32) {
        let grows = advanced && ack.delivered > 0 && self.usage.is_limited(&self.window);
        match self.phase {
            Phase::Reduced | Phase::Recovery => {
                self.reduce_in_proportion(ack.delivered, advanced && lost == 0);
            }
            Phase::Open | Phase::Loss if grows => self.congestion.grow(&mut self.window, ack),
            Phase::Open | Phase::Loss => {}
        }
    }
}
