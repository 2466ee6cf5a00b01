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

/// RACK's state of a connection (section 5.2).
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

/// The result of a search for losses.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Range;
    use crate::sender::rate::Stamp;
    use crate::sender::scoreboard::State;

    const MS: u64 = 1_000_000;
    const RTT: Span = Span(40 * MS);

    fn sent(at: u64, end: u64, retransmitted: bool) -> Sent {
        let range = Range { start: end - 10, end };
        Sent {
            range,
            sent: Time(at * MS),
            retransmitted,
            state: State::InFlight,
            stamp: Stamp::default(),
        }
    }

    /// Four segments sent at zero, of which RACK learns that some arrive at 40 ms.
    fn board(rack: &mut Rack, arrive: &[u64]) -> Scoreboard {
        let mut board = Scoreboard::default();
        for end in [10, 20, 30, 40] {
            board.push(Time(0), Range { start: end - 10, end }, Stamp::default());
        }
        for end in arrive {
            let mut sack = Sack::default();
            sack.push(Range { start: end - 10, end: *end });
            board.sack(&sack, |sent| rack.deliver(Time(40 * MS), sent, RTT));
        }
        board
    }

    // Fails when of segments sent at one instant those behind the one that arrived are lost too.
    #[test]
    fn segments_of_an_instant_are_in_the_order_of_their_offsets() {
        let mut rack = Rack::new();
        let mut board = board(&mut rack, &[30]);
        let search = rack.detect(Time(50 * MS), &mut board, false, RTT, RTT);
        assert_eq!((search.lost, board.in_flight()), (2, 1));
    }

    // Fails when reordering does not open the window, or retransmissions count as reordered (section 6.2,
    // step 3): tried without `reordering_seen`.
    #[test]
    fn reordering_opens_the_window() {
        for (arrive, lost) in [([20, 30, 40], 1), ([30, 20, 40], 0)] {
            let mut rack = Rack::new();
            let mut board = board(&mut rack, &arrive);
            let search = rack.detect(Time(40 * MS), &mut board, false, RTT, RTT);
            assert_eq!(search.lost, lost);
            assert_eq!(search.next, (lost == 0).then_some(Time(50 * MS)));
        }
        let mut rack = Rack::new();
        rack.deliver(Time(40 * MS), &sent(0, 30, false), RTT);
        rack.deliver(Time(80 * MS), &sent(40, 10, true), RTT);
        assert!(!rack.reordering_seen);
    }

    // Fails when an answer to the first transmission counts for the second: tried without the test.
    #[test]
    fn an_answer_within_the_least_round_trip_is_to_the_first_transmission() {
        let mut rack = Rack::new();
        rack.deliver(Time(79 * MS), &sent(40, 10, true), RTT);
        assert_eq!(rack.latest, None);
        rack.deliver(Time(80 * MS), &sent(40, 10, true), RTT);
        assert_eq!(rack.latest, Some((Time(40 * MS), 10)));
    }

    // Fails when duplicates of a round count twice, or the window stays wide for ever (step 4): tried
    // without the multiplier.
    #[test]
    fn duplicates_widen_the_window_for_sixteen_recoveries() {
        let (mut rack, mut duplicate) = (Rack::new(), Sack::default());
        (rack.reordering_seen, duplicate.duplicate) = (true, true);
        let window = |rack: &Rack| rack.reordering_window(0, false, RTT, RTT).0 / MS;
        assert_eq!(window(&rack), 10);
        for (una, expected) in [(10, 20), (20, 20), (50, 30), (200, 40), (400, 40)] {
            rack.adapt(una, una + 40, &duplicate);
            assert_eq!(window(&rack), expected, "at {una}");
        }
        for _ in 0..PERSIST - 1 {
            rack.recovered();
        }
        assert_eq!(window(&rack), 40);
        rack.recovered();
        assert_eq!(window(&rack), 10);
    }
}
