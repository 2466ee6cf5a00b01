//! Sequence numbers of 16 bits as a line, and which of them came (RFC 3550, appendix A.1).

/// A packet so far behind the newest is given up for lost; one that comes later still was.
const REACH: u64 = 1024;

/// A jump ahead further than this is another sequence, once its next number comes as well.
pub const JUMP: u16 = 3000;

/// The meaning of a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Ahead of all before.
    Next,
    /// Behind the newest, and missed until now.
    Reordered,
    /// It came before.
    Twice,
    /// Its loss was counted already.
    TooLate,
    /// Far from what was expected; not counted yet.
    Strange,
    /// The source started again.
    Restart,
}

/// Which numbers came.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// The first number and the newest one, with cycles.
    pub first: u64,
    pub newest: u64,
    /// All before were settled.
    settled: u64,
    /// Which of the last [`REACH`] numbers came, by their remainder.
    came: Box<[bool]>,
    /// The number that would follow a strange one.
    strange: Option<u16>,
}

impl Sequence {
    pub fn new(first: u16) -> Sequence {
        let first = u64::from(first);
        let mut came = vec![false; REACH as usize].into_boxed_slice();
        came[(first % REACH) as usize] = true;
        Sequence { first, newest: first, settled: first, came, strange: None }
    }

    /// Numbers expected so far.
    pub fn expected(&self) -> u64 {
        self.newest - self.first + 1
    }

    /// Records a number; calls `settle` for each one, in order, with whether it is lost for good.
    pub fn record(&mut self, number: u16, settle: &mut impl FnMut(bool)) -> Place {
        let ahead = number.wrapping_sub(self.newest as u16);
        if ahead != 0 && ahead < JUMP {
            self.strange = None;
            let newest = self.newest + u64::from(ahead);
            self.settle_before((newest + 1).saturating_sub(REACH), settle);
            self.newest = newest;
            self.came[(newest % REACH) as usize] = true;
            return Place::Next;
        }
        let behind = u64::from((self.newest as u16).wrapping_sub(number));
        let known = self.newest.checked_sub(behind).filter(|n| *n >= self.first);
        if behind < u64::from(JUMP) {
            return match known {
                Some(known) if known >= self.settled => {
                    let came = &mut self.came[(known % REACH) as usize];
                    if std::mem::replace(came, true) { Place::Twice } else { Place::Reordered }
                }
                // Before the first packet that was seen.
                _ => Place::TooLate,
            };
        }
        if self.strange == Some(number) {
            self.finish(settle);
            *self = Sequence::new(number);
            return Place::Restart;
        }
        self.strange = Some(number.wrapping_add(1));
        Place::Strange
    }

    /// Settles all numbers, at the end.
    pub fn finish(&mut self, settle: &mut impl FnMut(bool)) {
        self.settle_before(self.newest + 1, settle);
    }

    fn settle_before(&mut self, end: u64, settle: &mut impl FnMut(bool)) {
        while self.settled < end {
            // Beyond the newest nothing came.
            let came = &mut self.came[(self.settled % REACH) as usize];
            settle(!std::mem::replace(came, false) || self.settled > self.newest);
            self.settled += 1;
        }
    }
}
