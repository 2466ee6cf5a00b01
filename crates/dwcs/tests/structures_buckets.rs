//! Buckets decide as the list does.

use crate::play::long::{self, Gaps};
use crate::play::{Event, agrees, events, options};
use laxity_core::Span;
use laxity_dwcs::structure::{Buckets, Structure};
use laxity_dwcs::{Attributes, Options, Order, Tolerance, ZeroTie};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Fails when a bucket's head is not its first, or what came late is lost: tried by key alone
    /// in `Bucket::insert`, with `>=` for `>` beside `greatest`, without the second condition
    /// there, without `join_late`, and with what is listed in `structures_wheel.rs`.
    #[test]
    fn buckets_decide_as_the_list(options in options(), events in events()) {
        let (order, zero_tie) = (Order::ToleranceFirst, ZeroTie::Deadline);
        agrees::<Buckets>(&Options { order, zero_tie, ..options }, &events);
    }
}

fn histories(gaps: Gaps, steps: [u64; 2]) {
    long::agrees_over_gaps::<Buckets>(&Options::tolerance_first(), gaps, steps);
}

#[test]
fn equal_gaps() {
    histories(Gaps::Equal(1_000_000), [1000, 2000]);
}

/// Fails when streams due at one instant are ordered otherwise than by the list.
#[test]
fn deadlines_on_multiples_of_the_gap() {
    long::agrees_on_multiples_of_the_gap::<Buckets>(&Options::tolerance_first());
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

#[test]
fn only_tolerances_first() {
    let refused = Buckets::new(Options::default().rank()).expect_err("not its order");
    assert!(refused.to_string().contains("tolerances first"), "{refused}");
    let refused = Buckets::new(Options::paper().rank()).expect_err("not its ties");
    assert!(refused.to_string().contains("by deadline"), "{refused}");
}

/// More tolerances than there are buckets.
#[test]
fn each_stream_has_its_own_tolerance() {
    let mut random = crate::common::Random(5);
    let mut events = vec![];
    for i in 0..1500 {
        let y = 2000 + 37 * i as u64;
        let tolerance = Tolerance::new(1 + random.below(y), y).expect("x is at most y");
        events.push(Event::Join(Attributes::new(tolerance, Span(1_000_000 + random.below(1000)))));
        events.push(Event::Arrive(i, 200));
    }
    for _ in 0..1500 {
        events.push(Event::Next(400 + random.below(400), 3));
    }
    agrees::<Buckets>(&Options::tolerance_first(), &events);
}
