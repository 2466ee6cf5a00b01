//! Sources on probation (RFC 3550, appendix A.1): anyone can invent
//! synchronisation sources, and each measured one uses memory.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;

use super::sequence::JUMP;
use super::source::Seen;

/// Two packets in sequence prove a source. Where packets are lost on purpose, no two may ever come
/// in sequence; so many that advance plausibly do as well.
const PLAUSIBLE: usize = 4;

/// A packet so little behind the newest has been overtaken (RFC 3550: `MAX_MISORDER`).
const MISORDER: u16 = 100;

/// Addresses are spread over so many sets, and what one address makes up displaces candidates of
/// its own set only.
const SETS: usize = 16;

/// Sources on probation, in bounded memory.
#[derive(Debug)]
pub struct Probation {
    /// Keyed randomly in each process, so that no sender can aim at a set.
    hasher: RandomState,
    sets: [Set; SETS],
    /// Candidates in a set.
    most: usize,
    /// Packets that were given up with their candidates.
    forgotten: u64,
}

#[derive(Debug, Default)]
struct Set {
    candidates: HashMap<Key, Candidate>,
    /// In which order they came; those that are proven stay until it is their turn.
    order: VecDeque<Key>,
}

type Key = (IpAddr, u32);

#[derive(Debug)]
struct Candidate {
    newest: u16,
    held: Held,
}

/// The packets of a candidate, in the order in which they came.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    packets: [Option<Seen>; PLAUSIBLE],
    count: usize,
}

impl Held {
    fn of(first: Seen) -> Held {
        let mut held = Held { packets: [None; PLAUSIBLE], count: 0 };
        held.push(first);
        held
    }

    fn push(&mut self, packet: Seen) {
        if let Some(place) = self.packets.get_mut(self.count) {
            *place = Some(packet);
            self.count += 1;
        }
    }

    /// The packets.
    pub fn iter(&self) -> impl Iterator<Item = &Seen> {
        self.packets.iter().flatten()
    }
}

impl Probation {
    /// With room for as many sources of one address as are measured.
    pub fn new(sources: usize) -> Probation {
        let sets = std::array::from_fn(|_| Set::default());
        Probation { hasher: RandomState::new(), sets, most: sources.max(1), forgotten: 0 }
    }

    /// Records a packet of a source on probation; returns its packets so far once it is proven.
    pub fn record(&mut self, ssrc: u32, from: IpAddr, packet: Seen) -> Option<Held> {
        let set = &mut self.sets[self.hasher.hash_one(from) as usize % SETS];
        let key = (from, ssrc);
        let Some(candidate) = set.candidates.get_mut(&key) else {
            let oldest = if set.order.len() >= self.most { set.order.pop_front() } else { None };
            if let Some(oldest) = oldest.and_then(|oldest| set.candidates.remove(&oldest)) {
                self.forgotten += oldest.held.count as u64;
            }
            set.order.push_back(key);
            let candidate = Candidate { newest: packet.number, held: Held::of(packet) };
            set.candidates.insert(key, candidate);
            return None;
        };
        let ahead = packet.number.wrapping_sub(candidate.newest);
        let behind = candidate.newest.wrapping_sub(packet.number);
        let overtaken = behind < MISORDER;
        if ahead == 0 {
            self.forgotten += 1;
            return None;
        }
        if !(ahead < JUMP || overtaken) {
            self.forgotten += candidate.held.count as u64;
            (candidate.newest, candidate.held) = (packet.number, Held::of(packet));
            return None;
        }
        candidate.held.push(packet);
        if !overtaken {
            candidate.newest = packet.number;
        }
        let proven = ahead == 1 || candidate.held.count == PLAUSIBLE;
        if proven { set.candidates.remove(&key).map(|candidate| candidate.held) } else { None }
    }

    /// Packets of sources that were never proven.
    pub fn unproven(&self) -> u64 {
        let candidates = self.sets.iter().flat_map(|set| set.candidates.values());
        self.forgotten + candidates.map(|candidate| candidate.held.count as u64).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Arrival;
    use super::*;

    const SOURCES: usize = 32;

    fn seen(number: u16) -> Seen {
        let at = Arrival { monotonic: 0, wall: 0 };
        Seen { number, timestamp: 0, stamp: None, bytes: 20, at }
    }

    fn address(n: u8) -> IpAddr {
        [192, 0, 2, n].into()
    }

    /// The packet of `numbers` with which a source is proven, and those that were held then.
    fn proven(numbers: &[u16]) -> Option<(usize, Vec<u16>)> {
        let mut probation = Probation::new(SOURCES);
        numbers.iter().enumerate().find_map(|(i, number)| {
            let held = probation.record(7, address(1), seen(*number))?;
            Some((i, held.iter().map(|packet| packet.number).collect()))
        })
    }

    /// Fails when one packet is enough, when packets before the proof are lost to measurement, or
    /// when a stream that loses every other packet is never measured.
    #[test]
    fn sequences_prove_a_source() {
        assert_eq!(proven(&[5]), None);
        assert_eq!(proven(&[5, 5, 5, 5, 5, 5]), None);
        assert_eq!(proven(&[5, 6]), Some((1, vec![5, 6])));
        assert_eq!(proven(&[65_535, 0]), Some((1, vec![65_535, 0])));
        assert_eq!(proven(&[5, 7, 8]), Some((2, vec![5, 7, 8])));
        assert_eq!(proven(&[6, 5, 7]), Some((2, vec![6, 5, 7])));
        assert_eq!(proven(&[1, 3, 5, 7]), Some((3, vec![1, 3, 5, 7])));
        // As by chance.
        assert_eq!(proven(&[0, 10_000, 20_000, 30_000, 40_000, 50_000]), None);
        assert_eq!(proven(&[0, 10_000, 10_001]), Some((2, vec![10_000, 10_001])));
    }

    /// Fails when a source from elsewhere goes on with another's sequence.
    #[test]
    fn a_source_has_one_address() {
        let mut probation = Probation::new(SOURCES);
        assert!(probation.record(7, address(1), seen(1)).is_none());
        assert!(probation.record(7, address(2), seen(2)).is_none());
        assert!(probation.record(7, address(1), seen(2)).is_some());
        assert_eq!(probation.unproven(), 1);
    }

    /// Fails when made-up sources take memory without a bound, or push out what comes from other
    /// addresses: tried with one set for all.
    #[test]
    fn unproven_sources_use_bounded_memory() {
        let mut probation = Probation::new(SOURCES);
        // Not in the stranger's set: one in 16 addresses is.
        let set = |p: &Probation, n| p.hasher.hash_one(address(n)) as usize % SETS;
        let other = (2..=u8::MAX).find(|n| set(&probation, *n) != set(&probation, 1));
        let other = address(other.expect("an address of another set"));
        assert!(probation.record(7, other, seen(1)).is_none());
        for ssrc in 0..100_000 {
            assert!(probation.record(ssrc, address(1), seen(9)).is_none());
        }
        let kept: usize = probation.sets.iter().map(|set| set.candidates.len()).sum();
        let known: usize = probation.sets.iter().map(|set| set.order.len()).sum();
        assert_eq!((kept, known), (SOURCES + 1, SOURCES + 1));
        assert!(probation.record(7, other, seen(2)).is_some());
        assert_eq!(probation.unproven(), 100_000);
    }

    /// Fails when streams that begin together push one another out before their second packets.
    #[test]
    fn as_many_begin_together_as_are_measured() {
        let mut probation = Probation::new(SOURCES);
        let mut round = |number| {
            let all = 0..SOURCES as u32;
            all.filter(|n| probation.record(*n, address(1), seen(number)).is_some()).count()
        };
        assert_eq!((round(1), round(2)), (0, SOURCES));
    }
}
