//! The sending half: what leaves when, by window, loss detection and timers.

use alloc::boxed::Box;

use laxity_core::{Span, Time};

use crate::congestion::{Congestion, Window};
use crate::{Config, Ecn, Range};

mod acks;
mod pacing;
mod prr;
mod rack;
mod rate;
mod recovery;
mod rtt;
mod scoreboard;
mod timers;
mod usage;

use pacing::Pacing;
use prr::Prr;
use rack::Rack;
use rate::DeliveryRate;
use rtt::Rtt;
use scoreboard::Scoreboard;
use timers::Timers;
use usage::Usage;

/// Where the sender stands between congestion events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The window may grow.
    Open,
    /// A mark reduces the window.
    Reduced,
    /// Losses reduce the window.
    Recovery,
    /// After a timeout.
    Loss,
}

/// A tail loss probe that is not answered (RFC 8985 section 7.1).
#[derive(Clone, Copy, Debug)]
struct Probe {
    end: u64,
    retransmission: bool,
}

/// The state that a reduction would restore were it spurious (RFC 3522).
#[derive(Clone, Copy, Debug)]
struct Undo {
    cwnd: u32,
    ssthresh: u32,
    /// When the first segment was sent again.
    resent: Option<Time>,
}

/// Counters of a connection's sending half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Retransmissions.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Reductions of the window.
    pub reductions: u64,
    /// Reductions found to be for nothing.
    pub undone: u64,
}

/// A segment to send.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    pub range: Range,
    pub ecn: Ecn,
    pub cwr: bool,
}

/// The sending half of a connection.
#[derive(Debug)]
pub struct Sender {
    config: Config,
    congestion: Box<dyn Congestion>,
    window: Window,
    board: Scoreboard,
    rtt: Rtt,
    rack: Rack,
    prr: Prr,
    rate: DeliveryRate,
    usage: Usage,
    timers: Timers,
    /// For controls that pace.
    pacing: Option<Pacing>,
    phase: Phase,
    /// The phase ends when all before this offset has arrived.
    recovery_point: u64,
    undo: Option<Undo>,
    probe: Option<Probe>,
    must_probe: bool,
    /// Data was acknowledged since the last timeout.
    progress: bool,
    written: u64,
    una: u64,
    next: u64,
    /// The peer takes no byte from this offset on.
    edge: u64,
    last_sent: Option<Time>,
    /// The next new segment carries CWR (RFC 3168 section 6.1.2).
    must_send_cwr: bool,
    ce_seen: u64,
    counters: Counters,
}

impl Sender {
    pub fn new(config: Config, congestion: Box<dyn Congestion>) -> Sender {
        let pacing = congestion.paces().then(Pacing::default);
        Sender {
            config,
            congestion,
            window: Window { cwnd: config.initial_window, ssthresh: u32::MAX, credit: 0 },
            board: Scoreboard::default(),
            rtt: Rtt::new(),
            rack: Rack::new(),
            prr: Prr::new(config.initial_window),
            rate: DeliveryRate::default(),
            usage: Usage::default(),
            timers: Timers::default(),
            pacing,
            phase: Phase::Open,
            recovery_point: 0,
            undo: None,
            probe: None,
            must_probe: false,
            progress: false,
            written: 0,
            una: 0,
            next: 0,
            edge: 0,
            last_sent: None,
            must_send_cwr: false,
            ce_seen: 0,
            counters: Counters::default(),
        }
    }

    /// The application adds bytes to the stream.
    pub fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    pub fn written(&self) -> u64 {
        self.written
    }

    /// The offset of the next new byte.
    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn acknowledged(&self) -> u64 {
        self.una
    }

    pub fn window(&self) -> Window {
        self.window
    }

    pub fn in_flight(&self) -> u32 {
        self.board.in_flight()
    }

    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.rtt.smoothed()
    }

    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The handshake took a round trip, with a retransmission or without (RFC 5681 section 3.1: then
    /// the initial window is one segment).
    pub fn open(&mut self, rtt: Option<Span>, resent: bool) {
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt);
            self.rtt.sample_min(rtt);
        }
        if resent {
            self.window.cwnd = 1;
        }
    }

    /// The peer takes bytes before `edge`.
    pub fn extend_window(&mut self, edge: u64) {
        self.edge = self.edge.max(edge);
    }

    /// The next segment that may leave now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Outgoing> {
        if core::mem::take(&mut self.must_probe) {
            if let Some(outgoing) = self.send_probe(now) {
                return Some(outgoing);
            }
        }
        if self.board.is_empty() && self.can_send_new() {
            self.resume(now);
        }
        let paced = self.pacing.is_some_and(|pacing| !pacing.allows(now));
        if !paced && self.board.in_flight() < self.window.cwnd {
            if self.board.has_lost() {
                return self.resend(now);
            }
            if self.can_send_new() {
                return Some(self.send_new(now));
            }
        }
        let limited = self.board.in_flight() >= self.window.cwnd;
        if !limited && !paced {
            self.rate.limit(self.board.in_flight());
        }
        self.usage.record(self.una, self.next, self.board.outstanding(), limited);
        None
    }

    fn can_send_new(&self) -> bool {
        self.next < self.written.min(self.edge)
    }

    fn send_new(&mut self, now: Time) -> Outgoing {
        let end = self.written.min(self.edge).min(self.next + u64::from(self.config.mss));
        let range = Range { start: self.next, end };
        self.next = end;
        let stamp = self.rate.stamp(now, self.board.in_flight() == 0);
        self.board.push(now, range, stamp);
        self.usage.sent();
        self.sent(now, range);
        let cwr = core::mem::take(&mut self.must_send_cwr) && self.config.ecn;
        Outgoing { range, ecn: self.codepoint(), cwr }
    }

    fn resend(&mut self, now: Time) -> Option<Outgoing> {
        let stamp = self.rate.stamp(now, self.board.in_flight() == 0);
        let (range, first) = self.board.resend_lost(now, stamp)?;
        if first {
            // The oldest segment has a whole timeout to arrive again.
            self.timers.retransmission = None;
            if let Some(undo) = &mut self.undo {
                undo.resent.get_or_insert(now);
            }
        }
        self.counters.retransmissions += 1;
        self.sent(now, range);
        Some(self.again(range))
    }

    /// Sends new data, or else the last segment again (RFC 8985 section 7.3), whatever the window is.
    fn send_probe(&mut self, now: Time) -> Option<Outgoing> {
        let retransmission = !self.can_send_new();
        let outgoing = if retransmission {
            let stamp = self.rate.stamp(now, self.board.in_flight() == 0);
            let range = self.board.resend_last(now, stamp)?;
            self.counters.retransmissions += 1;
            self.sent(now, range);
            self.again(range)
        } else {
            self.send_new(now)
        };
        self.counters.probes += 1;
        self.probe = Some(Probe { end: self.next, retransmission });
        self.timers.probe = None;
        self.timers.retransmission = Some(now + self.rtt.timeout(&self.config));
        Some(outgoing)
    }

    /// A retransmission is ECN-capable for scalable control only (RFC 3168 section 6.1.5).
    fn again(&self, range: Range) -> Outgoing {
        let ecn = self.congestion.scalable().unwrap_or(Ecn::NotEct);
        Outgoing { range, ecn, cwr: false }
    }

    fn codepoint(&self) -> Ecn {
        let classic = if self.config.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        self.congestion.scalable().unwrap_or(classic)
    }

    fn sent(&mut self, now: Time, range: Range) {
        self.counters.segments += 1;
        self.last_sent = Some(now);
        if let Some(pacing) = &mut self.pacing {
            let gap = self.congestion.pacing_gap();
            pacing.sent(now, &self.window, self.rtt.smoothed(), gap);
        }
        if matches!(self.phase, Phase::Reduced | Phase::Recovery) {
            self.prr.sent();
        }
        if self.timers.retransmission.is_none() {
            self.timers.retransmission = Some(now + self.rtt.timeout(&self.config));
        }
        if range.end == self.next {
            self.arm_probe(now);
        }
    }

    /// Transmission resumes with nothing in flight. After more than a timeout the window is halved for
    /// each, down to the initial one (RFC 2861 section 3, RFC 5681 section 4.1).
    fn resume(&mut self, now: Time) {
        let Some(last) = self.last_sent else { return };
        let (idle, timeout) = (now.since(last), self.rtt.timeout(&self.config));
        if idle == Span::ZERO {
            return;
        }
        self.last_sent = Some(now);
        self.congestion.resume(idle);
        if idle <= timeout || self.congestion.owns_window() {
            return;
        }
        let window = &mut self.window;
        window.ssthresh = window.ssthresh.max(window.cwnd / 2 + window.cwnd / 4);
        let least = self.config.initial_window.min(window.cwnd);
        let halvings = (idle.0 / timeout.0).min(31) as u32;
        window.cwnd = (window.cwnd >> halvings).max(least);
        window.credit = 0;
        self.usage = Usage::default();
    }
}
