//! `algorithm-3-printed`: Algorithm 3 letter by letter, kept to show that it is unsafe.

use laxity_core::{Live, NANOBITS_PER_BYTE, OptionTable, PolicyInfo, Time};
use laxity_curve::TwoSegment;

use super::Assigner;
use super::algorithm_3::Segments;
use super::two_segment::{OPTIONS, TwoSegments};

/// Algorithm 3 as printed.
///
/// Once two neighbouring packets together exceed the first segment, the new deadline no longer
/// depends on the previous one: back-to-back packets all get the same deadline, however many they
/// are, and real-time packets then miss theirs. Use [`Algorithm3`](super::Algorithm3).
#[derive(Clone, Debug)]
pub struct Algorithm3Printed {
    line: Segments,
    /// Release, deadline and work (nanobits) of the previous packet.
    previous: Option<(Time, Time, u128)>,
    /// The same before the newest packet.
    before: Option<(Time, Time, u128)>,
}

impl Algorithm3Printed {
    /// Deadlines under `line`.
    pub fn new(line: &TwoSegment) -> Algorithm3Printed {
        Algorithm3Printed { line: Segments::new(line), previous: None, before: None }
    }

    fn next(&self, release: Time, work: u128) -> Option<Time> {
        let Some((before, deadline, previous)) = self.previous else {
            return Some(Time(release.0.saturating_add(self.line.inverse(work)?)));
        };
        let both = previous + work;
        let at_corner = u128::from(self.line.first) * u128::from(self.line.corner);
        if both < at_corner {
            let start = release.max(deadline);
            return Some(Time(start.0.saturating_add(self.line.inverse(work)?)));
        }
        // On the second segment: (w_n + w)/s + p - p r/s, counted from the previous release.
        let both = Time(before.0.saturating_add(self.line.inverse(both)?));
        if work < at_corner {
            let alone = Time(release.0.saturating_add(self.line.inverse(work)?));
            return Some(both.max(alone));
        }
        Some(both)
    }
}

impl Assigner for Algorithm3Printed {
    const INFO: PolicyInfo = PolicyInfo {
        name: "algorithm-3-printed",
        summary: "Algorithm 3 as printed: unsafe, kept for comparison",
        source: "RTAS 2002, section 4.3.1, Algorithm 3",
        keeps_deadlines: false,
        live: &[Live::UserLink],
        options: OPTIONS,
        table: OptionTable::Of(TwoSegments::INFO.name),
    };

    #[inline]
    fn assign(&mut self, release: Time, wire: u32) -> Time {
        let work = u128::from(wire) * NANOBITS_PER_BYTE as u128;
        let deadline = self.next(release, work).unwrap_or(Time::MAX);
        self.before = self.previous;
        self.previous = Some((release, deadline, work));
        deadline
    }

    fn raise(&mut self, release: Time, _from: u32, wire: u32) -> Time {
        self.previous = self.before;
        self.assign(release, wire)
    }

    fn settle(&mut self, release: Time, _from: u32, wire: u32) {
        self.previous = self.before;
        if wire > 0 {
            self.assign(release, wire);
        }
    }

    fn reset(&mut self) {
        (self.previous, self.before) = (None, None);
    }
}
