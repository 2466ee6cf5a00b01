//! Long histories of many streams, the same each time.

use laxity_core::Span;
use laxity_dwcs::{Attributes, Late, Tolerance};

use super::Event;
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

/// What a history is like.
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
