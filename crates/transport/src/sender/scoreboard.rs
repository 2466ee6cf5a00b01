//! The segments between the acknowledgement and the next new byte, and what is known of each
//! (RFC 6675 section 3, RFC 8985 section 5.1).

use alloc::collections::VecDeque;

use laxity_core::Time;

use super::rate::Stamp;
use crate::Range;
use crate::segment::{MAX_SACK_BLOCKS, Sack};

/// The sender's belief about a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In flight since it was first sent.
    InFlight,
    /// Lost, to be sent again.
    Lost,
    /// In flight again.
    Resent,
    /// Received, by a SACK block.
    Sacked,
}

/// A segment that was sent. Retransmissions keep its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub range: Range,
    /// When it was last sent.
    pub sent: Time,
    pub retransmitted: bool,
    pub state: State,
    pub stamp: Stamp,
}

/// Segments in order of their offsets. A segment's id counts segments from the first.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    segments: VecDeque<Sent>,
    /// The id of the first segment.
    first: u64,
    /// No segment before this id is [`State::InFlight`].
    oldest: u64,
    /// Retransmissions in order of time. Entries of segments that have left `Resent` are stale.
    resent: VecDeque<(u64, Time)>,
    /// Segments in the order in which they were found lost, with stale entries likewise.
    lost: VecDeque<u64>,
    in_flight: u32,
    waiting: u32,
    sacked: u32,
    /// The blocks of the SACK option looked at last, so that only their growth is looked at again.
    known: [Range; MAX_SACK_BLOCKS],
}

impl Scoreboard {
    /// Segments believed to be in the network: RFC 6675's `pipe`.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Segments sent and not acknowledged.
    pub fn outstanding(&self) -> u32 {
        self.segments.len() as u32
    }

    /// Segments received above the acknowledgement.
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Whether segments wait to be sent again.
    pub fn has_lost(&self) -> bool {
        self.waiting > 0
    }

    /// Whether nothing is unacknowledged.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// When the oldest segment was last sent.
    pub fn first_sent(&self) -> Option<Time> {
        self.segments.front().map(|sent| sent.sent)
    }

    /// A new segment leaves.
    pub fn push(&mut self, now: Time, range: Range, stamp: Stamp) {
        let state = State::InFlight;
        self.segments.push_back(Sent { range, sent: now, retransmitted: false, state, stamp });
        self.in_flight += 1;
    }

    fn get(&self, id: u64) -> Option<&Sent> {
        self.segments.get(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, id: u64) -> &mut Sent {
        let at = (id - self.first) as usize;
        &mut self.segments[at]
    }

    /// Removes segments that end at or before `ack`; `newly` sees those not known as received.
    pub fn acknowledge(&mut self, ack: u64, mut newly: impl FnMut(&Sent)) {
        while let Some(sent) = self.segments.front().copied().filter(|s| s.range.end <= ack) {
            self.segments.pop_front();
            self.first += 1;
            match sent.state {
                State::Sacked => {
                    self.sacked -= 1;
                    continue;
                }
                State::Lost => self.waiting -= 1,
                State::InFlight | State::Resent => self.in_flight -= 1,
            }
            newly(&sent);
        }
        self.oldest = self.oldest.max(self.first);
    }

    /// Marks the segments within the blocks as received; `newly` sees each once.
    pub fn sack(&mut self, sack: &Sack, mut newly: impl FnMut(&Sent)) {
        let mut looked_at = [Range::default(); MAX_SACK_BLOCKS];
        for (block, slot) in sack.received().iter().zip(&mut looked_at) {
            *slot = *block;
            let inside = self.known.into_iter().find(|k| k.end > k.start && block.contains(*k));
            if let Some(known) = inside {
                self.sack_range(Range { end: known.start, ..*block }, &mut newly);
                self.sack_range(Range { start: known.end, ..*block }, &mut newly);
            } else {
                self.sack_range(*block, &mut newly);
            }
        }
        if !sack.received().is_empty() {
            self.known = looked_at;
        }
    }

    fn sack_range(&mut self, block: Range, newly: &mut impl FnMut(&Sent)) {
        let from = self.segments.partition_point(|s| s.range.start < block.start);
        for sent in self.segments.iter_mut().skip(from) {
            if sent.range.end > block.end {
                break;
            }
            match sent.state {
                State::Sacked => continue,
                State::Lost => self.waiting -= 1,
                State::InFlight | State::Resent => self.in_flight -= 1,
            }
            newly(sent);
            sent.state = State::Sacked;
            self.sacked += 1;
        }
    }

    /// The segment in flight that was first sent the longest ago, of those sent once.
    pub fn oldest_original(&mut self) -> Option<(u64, Sent)> {
        while let Some(sent) = self.get(self.oldest).copied() {
            if sent.state == State::InFlight {
                return Some((self.oldest, sent));
            }
            self.oldest += 1;
        }
        None
    }

    /// The segment in flight that was sent again the longest ago.
    pub fn oldest_resent(&mut self) -> Option<(u64, Sent)> {
        while let Some((id, at)) = self.resent.front().copied() {
            match self.get(id) {
                Some(sent) if sent.state == State::Resent && sent.sent == at => {
                    return Some((id, *sent));
                }
                _ => self.resent.pop_front(),
            };
        }
        None
    }

    /// A segment in flight is lost.
    pub fn mark_lost(&mut self, id: u64) {
        self.get_mut(id).state = State::Lost;
        self.in_flight -= 1;
        self.waiting += 1;
        self.lost.push_back(id);
    }

    /// After a timeout the first segment is lost, and those in flight for which `is_lost` holds
    /// (RFC 8985 section 6.3). All are sent again in order of their offsets.
    pub fn mark_lost_on_timeout(&mut self, is_lost: impl Fn(&Sent) -> bool) {
        self.lost.clear();
        for (id, sent) in (self.first..).zip(&mut self.segments) {
            let in_flight = matches!(sent.state, State::InFlight | State::Resent);
            if in_flight && (id == self.first || is_lost(sent)) {
                sent.state = State::Lost;
                self.in_flight -= 1;
                self.waiting += 1;
            }
            if sent.state == State::Lost {
                self.lost.push_back(id);
            }
        }
    }

    /// Segments thought lost and not sent again are in flight after all.
    pub fn unmark_lost(&mut self) {
        for sent in &mut self.segments {
            if sent.state == State::Lost && !sent.retransmitted {
                sent.state = State::InFlight;
                self.in_flight += 1;
                self.waiting -= 1;
            }
        }
        self.oldest = self.first;
    }

    /// Sends the next lost segment again. Returns its bounds, and whether it is the first of all.
    pub fn resend_lost(&mut self, now: Time, stamp: Stamp) -> Option<(Range, bool)> {
        while let Some(id) = self.lost.pop_front() {
            if self.get(id).is_some_and(|sent| sent.state == State::Lost) {
                self.waiting -= 1;
                self.in_flight += 1;
                return Some((self.resend(now, id, stamp), id == self.first));
            }
        }
        None
    }

    /// Sends the last segment again, as a probe. Returns its bounds.
    pub fn resend_last(&mut self, now: Time, stamp: Stamp) -> Option<Range> {
        let id = self.first + self.segments.len().checked_sub(1)? as u64;
        match self.get(id)?.state {
            State::Sacked | State::Lost => None,
            State::InFlight | State::Resent => Some(self.resend(now, id, stamp)),
        }
    }

    fn resend(&mut self, now: Time, id: u64, stamp: Stamp) -> Range {
        let sent = self.get_mut(id);
        sent.state = State::Resent;
        sent.retransmitted = true;
        sent.sent = now;
        sent.stamp = stamp;
        let range = sent.range;
        self.resent.push_back((id, now));
        range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for id in 0..segments {
            board.push(Time(id), Range { start: id * 10, end: id * 10 + 10 }, Stamp::default());
        }
        board
    }

    // Fails when segments that are in flight after all are not watched for losses again: tried without
    // the reset of `oldest`.
    #[test]
    fn unmarked_segments_can_be_lost_again() {
        let mut board = board(4);
        board.mark_lost(0);
        board.mark_lost(1);
        assert_eq!(board.oldest_original().map(|(id, _)| id), Some(2));
        board.resend_lost(Time(9), Stamp::default());
        board.unmark_lost();
        assert_eq!((board.in_flight(), board.has_lost()), (4, false));
        assert_eq!(board.oldest_original().map(|(id, _)| id), Some(1));
        assert_eq!(board.oldest_resent().map(|(id, _)| id), Some(0));
    }

    // Fails when a segment is reported twice, or not because an earlier block held some of its
    // neighbours: blocks that grow at both ends, join and shrink.
    #[test]
    fn each_segment_is_reported_once() {
        let (mut board, mut reported) = (board(20), [0; 20]);
        let options: [&[(u64, u64)]; 5] = [
            &[(5, 7)],
            &[(10, 12), (4, 8)],
            &[(4, 12), (14, 15)],
            &[(16, 18), (14, 15), (2, 12)],
            &[(2, 19)],
        ];
        for blocks in options {
            let mut sack = Sack::default();
            for (start, end) in blocks {
                sack.push(Range { start: start * 10, end: end * 10 });
            }
            board.sack(&sack, |sent| reported[(sent.range.start / 10) as usize] += 1);
        }
        assert_eq!((board.sacked(), board.in_flight()), (17, 3));
        board.acknowledge(200, |sent| reported[(sent.range.start / 10) as usize] += 1);
        assert_eq!(reported, [1; 20]);
        assert_eq!((board.sacked(), board.in_flight(), board.is_empty()), (0, 0, true));
    }
}
