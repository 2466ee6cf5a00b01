//! The wheel decides as the list does.

mod common;
mod play;

use std::num::NonZeroU32;

use laxity_stream::structure::{Structure, Wheel};
use laxity_stream::{Options, Order};
use play::long::{Gaps, History};
use play::{agrees, events, options};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn the_wheel_decides_as_the_list(options in options(), events in events()) {
        let options = Options { order: Order::DeadlineFirst, ..options };
        agrees::<Wheel>(&options, &events);
    }
}

fn histories(gaps: Gaps, step: u64) {
    for (seed, ahead) in [Some(1), None, Some(3), Some(1000)].into_iter().enumerate() {
        for together in [false, true] {
            let ahead = ahead.and_then(NonZeroU32::new);
            let options = Options { ahead, ..Options::default() };
            let calm = [2, 100][usize::from(together)];
            let history = History { streams: 1000, events: 1000, gaps, step, together, calm };
            agrees::<Wheel>(&options, &history.events(seed as u64));
        }
    }
}

#[test]
fn equal_gaps() {
    histories(Gaps::Equal(1_000_000), 1000);
    histories(Gaps::Equal(1_000_000), 2000);
}

#[test]
fn mixed_gaps() {
    histories(Gaps::Mixed(1_000_000), 1000);
    histories(Gaps::Mixed(1_000_000), 2000);
}

#[test]
fn gaps_of_all_sizes() {
    histories(Gaps::Wide, 100);
    histories(Gaps::Wide, 1_000_000);
}

#[test]
fn gaps_of_hours_beside_short_ones() {
    histories(Gaps::Hours, 50);
    histories(Gaps::Hours, 3_000_000_000);
}

#[test]
fn only_deadlines_first() {
    let refused = Wheel::new(Options::tolerance_first().rank()).expect_err("not its order");
    assert!(refused.to_string().contains("deadlines first"), "{refused}");
}
