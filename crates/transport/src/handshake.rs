//! The three-way handshake (RFC 9293 section 3.5).

use laxity_core::Time;

use crate::Config;
use crate::segment::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Listen,
    SynSent,
    SynReceived,
    Established,
}

/// The state of a connection before data flows. Simulated connections end with the run: no FIN.
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    stage: Stage,
    /// When the SYN or its answer is sent, or sent again.
    due: Option<Time>,
    attempts: u32,
}

impl Handshake {
    pub fn client() -> Handshake {
        Handshake { stage: Stage::SynSent, due: Some(Time::ZERO), attempts: 0 }
    }

    pub fn server() -> Handshake {
        Handshake { stage: Stage::Listen, due: None, attempts: 0 }
    }

    pub fn is_established(&self) -> bool {
        self.stage == Stage::Established
    }

    /// Whether the SYN or its answer was sent more than once.
    pub fn was_resent(&self) -> bool {
        self.attempts > 1
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        self.due
    }

    /// The segment that is due, sent again after a timeout that doubles.
    pub fn poll_transmit(&mut self, now: Time, config: &Config) -> Option<Kind> {
        if self.due.is_none_or(|at| at > now) {
            return None;
        }
        let wait = config.initial_rto.0.saturating_mul(1 << self.attempts.min(16));
        self.due = Some(now + laxity_core::Span(wait).min(config.max_rto));
        self.attempts += 1;
        Some(if self.stage == Stage::SynSent { Kind::Syn } else { Kind::SynAck })
    }

    /// Returns true when the connection opens by this segment.
    pub fn handle_segment(&mut self, now: Time, kind: Kind) -> bool {
        match (self.stage, kind) {
            (Stage::Listen | Stage::SynReceived, Kind::Syn) => {
                self.stage = Stage::SynReceived;
                self.due = Some(now);
                false
            }
            (Stage::SynSent, Kind::SynAck) | (Stage::SynReceived, Kind::Data) => {
                self.stage = Stage::Established;
                self.due = None;
                true
            }
            _ => false,
        }
    }
}
