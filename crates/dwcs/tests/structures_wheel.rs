//! The wheel decides as the list does.

use crate::play::long::{self, Gaps};
use crate::play::{Event, agrees, events, options};
use laxity_core::Span;
use laxity_dwcs::structure::{Structure, Wheel};
use laxity_dwcs::{Attributes, Options, Order};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Fails when the first of those in order is mistaken for the first of all, when ties are not
    /// settled, or when a list beyond the window is found too late: tried with `<=` for `<` before
    /// `calendar.bound()`, without `settle_ties`, without the records in `search` and `lesser`,
    /// without `is_past`, with `ordered.is_some()` alone in `look_beyond`; in `timed`, with
    /// `block - last` for `block ^ last`, without `hint`, the wrap of `first`, `listed` or
    /// `exact`, with `<=` for `<` in `drain_lists`, and with each way of `Run::insert` the other
    /// way round.
    #[test]
    fn the_wheel_decides_as_the_list(options in options(), events in events()) {
        let options = Options { order: Order::DeadlineFirst, ..options };
        agrees::<Wheel>(&options, &events);
    }
}

fn histories(gaps: Gaps, steps: [u64; 2]) {
    long::agrees_over_gaps::<Wheel>(&Options::default(), gaps, steps);
}

#[test]
fn equal_gaps() {
    histories(Gaps::Equal(1_000_000), [1000, 2000]);
}

/// Fails when
/// `settle_many` forgets arrivals.
#[test]
fn deadlines_on_multiples_of_the_gap() {
    long::agrees_on_multiples_of_the_gap::<Wheel>(&Options::default());
}

#[test]
fn mixed_gaps() {
    histories(Gaps::Mixed(1_000_000), [1000, 2000]);
}

#[test]
fn gaps_of_all_sizes() {
    histories(Gaps::Wide, [100, 1_000_000]);
}

#[test]
fn gaps_of_hours_and_short_gaps() {
    histories(Gaps::Hours, [50, 3_000_000_000]);
}

/// Streams that change again and again before their time leave entries behind. Fails when
/// `Timed::store` does not sweep them out: they then take all chunks.
#[test]
fn stale_entries_are_removed() {
    let gap = |i: u64| Attributes::new(crate::common::tolerance(1, 2), Span(3_600_000_000_000 + i));
    let mut events = vec![];
    for i in 0..50 {
        events.extend([Event::Join(gap(i)), Event::Arrive(i as usize, 9), Event::Next(1, 1)]);
    }
    for i in 0..20_000 {
        events.push(Event::Change(i as usize % 50, gap(i)));
    }
    events.push(Event::Next(100_000_000_000, 200));
    agrees::<Wheel>(&Options::default(), &events);
}

#[test]
fn only_deadlines_first() {
    let refused = Wheel::new(Options::tolerance_first().rank()).expect_err("not its order");
    assert!(refused.to_string().contains("deadlines first"), "{refused}");
}
