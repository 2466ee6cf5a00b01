//! RACK: a segment is lost when one sent later has arrived, and a reordering window has passed
//! (RFC 8985 section 6).

use laxity_core::{Span, Time};

use super::scoreboard::{Scoreboard, Sent};
use crate::segment::Sack;

/// Sacked segments that rule out reordering (RFC 5681's three duplicate acknowledgements).
const DUP_THRESH: u32 = 3;

/// Recoveries without duplicates after which the reordering window shrinks.
const PERSIST: u32 = 16;

/// The next segment, in order of sending, of those sent once or of those sent again.
type Oldest = fn(&mut Scoreboard) -> Option<(u64, Sent)>;

/// What RACK keeps of a connection (section 5.2).
#[derive(Clone, Copy, Debug)]
pub struct Rack {
    /// The latest sent of all segments that arrived: when, and its end.
    latest: Option<(Time, u64)>,
    rtt: Span,
    /// The greatest offset that arrived.
    highest: u64,
    reordering_seen: bool,
    /// The duplicates of this round were counted: it ends when this offset is acknowledged.
    duplicates_until: Option<u64>,
    multiplier: u32,
    persist: u32,
}

/// What a search for losses found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Segments found lost.
    pub lost: u32,
    /// When the next will be, if it does not arrive.
    pub next: Option<Time>,
}

impl Rack {
    pub fn new() -> Rack {
        Rack {
            latest: None,
            rtt: Span::ZERO,
            highest: 0,
            reordering_seen: false,
            duplicates_until: None,
            multiplier: 1,
            persist: PERSIST,
        }
    }

    /// A segment arrived for the first time (steps 2 and 3).
    pub fn deliver(&mut self, now: Time, sent: &Sent, min_rtt: Span) {
        let rtt = now.since(sent.sent);
        // An answer this early is to the first transmission.
        if sent.retransmitted && rtt < min_rtt {
            return;
        }
        let order = (sent.sent, sent.range.end);
        if self.latest.is_none_or(|latest| order > latest) {
            self.latest = Some(order);
            self.rtt = rtt;
        }
        if sent.range.end > self.highest {
            self.highest = sent.range.end;
        } else if !sent.retransmitted {
            self.reordering_seen = true;
        }
    }

    /// Duplicates mean that the window was too small (step 4). `next` is the next new offset.
    pub fn adapt(&mut self, una: u64, next: u64, sack: &Sack) {
        if self.duplicates_until.is_some_and(|until| una >= until) {
            self.duplicates_until = None;
        }
        if sack.duplicate && self.duplicates_until.is_none() {
            self.duplicates_until = Some(next);
            self.multiplier += 1;
            self.persist = PERSIST;
        }
    }

    /// A recovery ended.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }

    fn reordering_window(&self, sacked: u32, recovering: bool, min_rtt: Span, srtt: Span) -> Span {
        if !self.reordering_seen && (recovering || sacked >= DUP_THRESH) {
            return Span::ZERO;
        }
        Span(u64::from(self.multiplier) * min_rtt.0 / 4).min(srtt)
    }

    /// Marks lost segments (step 5). The timer is for the first of the rest, so that each is found as
    /// its own window ends.
    pub fn detect(
        &self,
        now: Time,
        board: &mut Scoreboard,
        recovering: bool,
        min_rtt: Span,
        srtt: Span,
    ) -> Search {
        let mut search = Search { lost: 0, next: None };
        let Some(latest) = self.latest else { return search };
        let window = self.reordering_window(board.sacked(), recovering, min_rtt, srtt);
        for oldest in [Scoreboard::oldest_original, Scoreboard::oldest_resent] as [Oldest; 2] {
            while let Some((id, sent)) = oldest(board) {
                if (sent.sent, sent.range.end) >= latest {
                    break;
                }
                let due = sent.sent + self.rtt + window;
                if due > now {
                    search.next = Some(search.next.map_or(due, |next| next.min(due)));
                    break;
                }
                board.mark_lost(id);
                search.lost += 1;
            }
        }
        search
    }

    /// Whether a timeout finds the segment lost too (section 6.3).
    pub fn is_lost_on_timeout(&self, now: Time, sent: &Sent, min_rtt: Span, srtt: Span) -> bool {
        sent.sent + self.rtt + self.reordering_window(0, false, min_rtt, srtt) <= now
    }
}
