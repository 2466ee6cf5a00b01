//! Long histories of many streams, the same each time.

use std::num::NonZeroU32;

use laxity_core::Span;
use laxity_dwcs::structure::Structure;
use laxity_dwcs::{Attributes, Late, Options, Tolerance};

use super::{Event, agrees};
use crate::common::Random;

/// How long the gaps of a history's streams are.
#[derive(Clone, Copy, Debug)]
pub enum Gaps {
    /// All the same.
    Equal(u64),
    /// From half of it to twice.
    Mixed(u64),
    /// From nanoseconds to about two hours, each order of magnitude as often as the others; some
    /// streams have none.
    Wide,
    /// Hours for most, microseconds for some.
    Hours,
}

/// The parameters of a history.
#[derive(Clone, Copy, Debug)]
pub struct History {
    pub streams: usize,
    pub events: usize,
    pub gaps: Gaps,
    /// Time between decisions.
    pub step: u64,
    /// All streams get their first packets at once, before any decision.
    pub together: bool,
    /// One in so many events is a stream that leaves or changes.
    pub calm: u64,
}

impl History {
    pub fn events(&self, seed: u64) -> Vec<Event> {
        let mut random = Random(seed);
        let mut events = vec![];
        for i in 0..self.streams {
            events.push(Event::Join(self.attributes(&mut random)));
            if self.together {
                events.push(Event::Arrive(i, 100));
            }
        }
        for _ in 0..self.events {
            let stream = random.below(self.streams as u64) as usize;
            if random.below(self.calm) == 0 {
                let attributes = self.attributes(&mut random);
                match random.below(3) {
                    0 => events.push(Event::Change(stream, attributes)),
                    _ => events.extend([Event::Leave(stream), Event::Join(attributes)]),
                }
            }
            match random.below(20) {
                0..6 => events.push(Event::Arrive(stream, 1 + random.below(60) as u8)),
                // A pause.
                6 => events.push(Event::Next(self.step * random.below(500), 1)),
                _ => events.push(Event::Next(self.step, 1 + random.below(10) as u8)),
            }
        }
        events
    }

    fn attributes(&self, random: &mut Random) -> Attributes {
        let y = random.below(6);
        let tolerance = Tolerance::new(random.below(y + 1), y).expect("x is at most y");
        let gap = match self.gaps {
            Gaps::Equal(gap) => Some(gap),
            Gaps::Mixed(gap) => Some(gap / 2 + random.below(gap + gap / 2)),
            Gaps::Wide => (random.below(20) > 0).then(|| {
                let most = 2 << random.below(43);
                1 + random.below(most)
            }),
            Gaps::Hours if random.below(10) == 0 => Some(1000 + random.below(20_000)),
            Gaps::Hours => Some(3_600_000_000_000 + random.below(1_000_000_000_000)),
        };
        let late = if random.below(4) == 0 { Late::Send } else { Late::Drop };
        Attributes { tolerance, gap: gap.map(Span), late }
    }
}

/// Plays histories with these gaps, and each time between decisions, for several limits of service
/// ahead.
pub fn agrees_over_gaps<S: Structure>(options: &Options, gaps: Gaps, steps: [u64; 2]) {
    for step in steps {
        for (seed, ahead) in [Some(1), None, Some(3), Some(1000)].into_iter().enumerate() {
            for together in [false, true] {
                let ahead = ahead.and_then(NonZeroU32::new);
                let options = Options { ahead, ..*options };
                let calm = [2, 100][usize::from(together)];
                let history = History { streams: 1000, events: 1000, gaps, step, together, calm };
                agrees::<S>(&options, &history.events(seed as u64));
            }
        }
    }
}

/// Plays histories in which many streams are due at one instant, with packets that came at different
/// ones.
pub fn agrees_on_multiples_of_the_gap<S: Structure>(options: &Options) {
    let options = Options { align: true, ..*options };
    for (seed, step) in [(1, 500), (2, 1000), (3, 3000)] {
        let gaps = Gaps::Equal(1_000_000);
        let history =
            History { streams: 1000, events: 3000, gaps, step, together: false, calm: 100 };
        agrees::<S>(&options, &history.events(seed));
    }
}
