//! The receiving half: reassembly, and when and what to acknowledge.

use laxity_core::Time;

use crate::ranges::Ranges;
use crate::segment::{MAX_SACK_BLOCKS, Range, Sack, Segment};
use crate::{Config, Ecn};

/// The fields of a segment that the receiving half sets.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledgement {
    pub ack: u64,
    pub window: u64,
    pub echo: Option<Time>,
    pub ece: bool,
    pub ce_received: u64,
    pub sack: Sack,
}

/// Segments that have arrived, and those that the peer does not know of.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: Config,
    /// All bytes before this offset have arrived.
    next: u64,
    out_of_order: Ranges,
    /// The out-of-order blocks reported last, latest first (RFC 2018 section 4).
    recent: [Option<Range>; MAX_SACK_BLOCKS],
    duplicate: Option<Range>,
    /// Data segments in order since the last acknowledgement.
    unacknowledged: u32,
    quick_acks: u32,
    ack_now: bool,
    delayed: Option<Time>,
    /// The acknowledgement sent last, and the timestamp to echo (RFC 7323 section 4.3).
    last_ack: u64,
    recent_timestamp: Option<Time>,
    was_marked: bool,
    ce_received: u64,
    echo_congestion: bool,
}

impl Receiver {
    pub fn new(config: Config) -> Receiver {
        Receiver {
            config,
            next: 0,
            out_of_order: Ranges::default(),
            recent: [None; MAX_SACK_BLOCKS],
            duplicate: None,
            unacknowledged: 0,
            quick_acks: config.quick_acks,
            ack_now: false,
            delayed: None,
            last_ack: 0,
            recent_timestamp: None,
            was_marked: false,
            ce_received: 0,
            echo_congestion: false,
        }
    }

    /// Bytes received in order.
    pub fn received(&self) -> u64 {
        self.next
    }

    /// A segment arrived; one without payload only carries a timestamp.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        let newer = self.recent_timestamp.is_none_or(|recent| segment.sent >= recent);
        if segment.start <= self.last_ack && newer {
            self.recent_timestamp = Some(segment.sent);
        }
        if segment.len == 0 {
            return;
        }
        self.handle_congestion(segment);
        let range = segment.range();
        if range.end <= self.next {
            self.duplicate = Some(range);
            self.ack_now = true;
        } else if range.start > self.next {
            self.handle_out_of_order(range);
        } else {
            self.handle_in_order(now, range);
        }
    }

    /// RFC 3168 section 6.1.3: echo marks until the sender says that it reduced its window. A change
    /// between marked and unmarked segments is acknowledged at once (RFC 8257 section 3.2).
    fn handle_congestion(&mut self, segment: &Segment) {
        let marked = segment.ecn == Ecn::Ce;
        if segment.cwr {
            self.echo_congestion = false;
        }
        if marked {
            self.ce_received += 1;
            self.echo_congestion = true;
        }
        if marked != self.was_marked {
            self.was_marked = marked;
            self.ack_now = true;
        }
    }

    fn handle_out_of_order(&mut self, range: Range) {
        let (joined, new) = self.out_of_order.insert(range);
        if !new {
            self.duplicate = Some(range);
        }
        // The block with the latest segment stands first; those that it took in are gone.
        let mut others = self.recent.into_iter().flatten().filter(|r| !joined.contains(*r));
        self.recent = [Some(joined), others.next(), others.next()];
        self.ack_now = true;
    }

    fn handle_in_order(&mut self, now: Time, range: Range) {
        let had_gap = !self.out_of_order.is_empty();
        self.next = self.out_of_order.advance(range.end);
        let next = self.next;
        for recent in &mut self.recent {
            *recent = recent.filter(|r| r.start > next);
        }
        self.unacknowledged += 1;
        let quick = self.quick_acks > 0;
        self.quick_acks = self.quick_acks.saturating_sub(1);
        // RFC 5681 section 4.2: a segment that fills all or part of a gap, and each second segment.
        if had_gap || quick || self.unacknowledged >= 2 {
            self.ack_now = true;
        } else if self.delayed.is_none() {
            self.delayed = Some(now + self.config.ack_delay);
        }
    }

    /// When a delayed acknowledgement is due.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.delayed
    }

    pub fn handle_timeout(&mut self, now: Time) {
        if self.delayed.is_some_and(|at| at <= now) {
            self.ack_now = true;
        }
    }

    /// Acknowledges at the next opportunity, as after a handshake.
    pub fn acknowledge_now(&mut self) {
        self.ack_now = true;
    }

    /// Whether a segment must go out to acknowledge.
    pub fn must_acknowledge(&self) -> bool {
        self.ack_now
    }

    /// Whether it must report a gap or a duplicate, for which a data segment has no room.
    pub fn must_report(&self) -> bool {
        self.ack_now && (self.duplicate.is_some() || !self.out_of_order.is_empty())
    }

    /// The acknowledgement in a segment that leaves; `report`: with the SACK option.
    pub fn acknowledge(&mut self, report: bool) -> Acknowledgement {
        self.last_ack = self.next;
        self.unacknowledged = 0;
        self.ack_now = false;
        self.delayed = None;
        Acknowledgement {
            ack: self.next,
            window: self.config.receive_window,
            echo: self.recent_timestamp,
            ece: self.echo_congestion,
            ce_received: self.ce_received,
            sack: if report { self.sack() } else { Sack::default() },
        }
    }

    /// The duplicate, if one arrived, then the blocks reported last, of which the first holds a duplicate
    /// above the acknowledgement (RFC 2883 section 4).
    fn sack(&mut self) -> Sack {
        let mut sack = Sack::default();
        if let Some(duplicate) = self.duplicate.take() {
            sack.duplicate = true;
            sack.push(duplicate);
        }
        self.recent.into_iter().flatten().for_each(|block| sack.push(block));
        sack
    }
}
