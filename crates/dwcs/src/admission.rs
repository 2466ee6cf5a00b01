//! Admission: does the load fit, and what does that promise for this set of streams?
//!
//! A stream that may lose `x` of `y` packets needs `(1 - x/y) C/T` of the server: `C` is the time
//! that a packet takes, `T` the gap. The paper (section 6) hopes that all tolerances are kept
//! whenever these shares sum up to at most 1. That holds for one gap and one service time, rolling
//! windows, and windows counted back to back; otherwise streams can fail far below 1, and
//! [`Obstacle`] says why, each with the smallest known failure.

mod obstacle;
mod share;

use alloc::vec::Vec;

use laxity_core::Span;

use crate::{Attributes, Check, Options, Order, RuleA};

pub use obstacle::Obstacle;
pub use share::Utilisation;

/// Streams that ask to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Attributes of each of them.
    pub attributes: Attributes,
    /// Longest service time of one of their packets.
    pub service: Span,
    /// How many streams there are of this kind.
    pub count: u32,
}

/// When the deadlines of different streams lie, relative to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phases {
    /// Anywhere: streams start when they like.
    #[default]
    Any,
    /// A whole number of gaps apart: streams start together, or a clock starts them.
    Aligned,
}

/// Guarantees that hold before any packet arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The sum of all shares.
    pub utilisation: Utilisation,
    /// Obstacles to the guarantee; empty when it applies: of every `y` consecutive packets
    /// of a stream, counted back to back from its first, at most `x` miss their deadlines, as long
    /// as the next packet is there when a deadline passes.
    ///
    /// Two things are never promised. Windows that begin anywhere ("sliding"): `2/3` and `4/5`
    /// with `T = C` fail at 0.53 of the server. And windows of streams that pause, because they
    /// resume where they were and two can then run out at once: `1/3` and `4/6` with `T = C` fail,
    /// rarely, at full load.
    ///
    /// That the promise holds with aligned deadlines is proved for one gap of whole services by
    /// the authors of DWCS (2000/2004). For tolerances first at any phase it rests on tests alone:
    /// `crates/dwcs/tests/guarantee.rs`, random sets and all small ones.
    pub obstacles: Vec<Obstacle>,
}

/// A demand that would fit in place of one that does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// So many streams of this kind fit beside the others.
    pub count: u32,
    /// So long a gap would make all of them fit: of all streams when they share one gap (which the
    /// promise needs), else of this kind alone. `None` when no gap would.
    pub gap: Option<Span>,
}

impl Admission {
    /// Whether every tolerance is guaranteed in back-to-back windows.
    pub fn promised(&self) -> bool {
        self.obstacles.is_empty()
    }
}

/// Whether `demands` fit on one server under `options`, and what that promises.
pub fn admit(options: &Options, phases: Phases, demands: &[Demand]) -> Admission {
    let utilisation = Utilisation::of(demands);
    let mut obstacles = Vec::new();
    let mut found = |is_one: bool, obstacle| {
        if is_one {
            obstacles.push(obstacle);
        }
    };
    let some = |d: &&Demand| d.count > 0;
    let timed = || demands.iter().filter(some).filter(|d| d.attributes.gap.is_some());
    let differs = |of: fn(&Demand) -> Span| {
        let (least, most) = (timed().map(of).min(), timed().map(of).max());
        least.zip(most).filter(|(least, most)| least < most)
    };
    let untimed = demands.iter().filter(some).any(|d| d.attributes.gap.is_none());
    let deadlines_first = options.order == Order::DeadlineFirst;

    found(!utilisation.fits(), Obstacle::Overload);
    if let Some((least, most)) = differs(|d| d.attributes.gap.unwrap_or(Span::ZERO)) {
        found(true, Obstacle::Gaps { least, most });
    }
    if let Some((least, most)) = differs(|d| d.service) {
        found(true, Obstacle::ServiceTimes { least, most });
    }
    found(untimed, Obstacle::NoDeadlines { first: !deadlines_first });
    let several = timed().map(|d| u64::from(d.count)).sum::<u64>() > 1;
    let phased = phases == Phases::Any && !options.align && several;
    found(deadlines_first && phased, Obstacle::Phases);
    found(options.rule_a == RuleA::Printed, Obstacle::PrintedWindows);
    let ahead = options.ahead.is_none_or(|ahead| ahead.get() > 1);
    found(!deadlines_first && ahead, Obstacle::WorkingAhead);
    found(options.check != Check::ALWAYS, Obstacle::InfrequentChecks);
    Admission { utilisation, obstacles }
}

/// A demand that would fit in place of `demands[which]`; `None` when there is none.
pub fn suggest(demands: &[Demand], which: usize) -> Option<Suggestion> {
    let chosen = *demands.get(which)?;
    let mut trial = demands.to_vec();
    let count = greatest(u64::from(chosen.count), |count| {
        trial[which].count = count as u32;
        Utilisation::of(&trial).fits()
    });
    trial[which] = chosen;
    let gap = chosen.attributes.gap.and_then(|own| {
        let one_gap = demands.iter().all(|d| d.attributes.gap.is_none_or(|gap| gap == own));
        let longest = u64::MAX - 1; // the greatest gap that is not "none"
        let too_short = greatest(longest, |gap| {
            for (i, demand) in trial.iter_mut().enumerate() {
                if i == which || one_gap && demand.attributes.gap.is_some() {
                    demand.attributes.gap = Some(Span(gap));
                }
            }
            gap == 0 || !Utilisation::of(&trial).fits()
        });
        (too_short < longest).then_some(Span(too_short + 1))
    });
    Some(Suggestion { count: count as u32, gap })
}

/// The greatest number up to `most` for which `holds`, which holds up to it and not beyond; 0 when
/// it never does.
fn greatest(most: u64, mut holds: impl FnMut(u64) -> bool) -> u64 {
    let (mut least, mut most) = (0, most);
    while least < most {
        let middle = most - (most - least) / 2;
        if holds(middle) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    least
}

#[cfg(test)]
mod tests;
